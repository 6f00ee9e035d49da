package redact

import (
	"path"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// home is a path in somebody's home directory.
var home = lazily(`^~[a-z0-9_\-]{0,32}/[^\s"'<>|,;()\[\]{}` + "`" + `]+`)

// roots are the directories that a file system begins with.
var roots = secret.WordsIn(`
	home Users root var etc usr opt srv tmp mnt media proc sys dev run lib lib64 bin sbin boot private Library Applications System
	Volumes nix snap node_modules rustc storage
`)

// routes are beginnings of paths of web sites that look like files.
var routes = secret.WordsIn("api static assets public docs doc js css dist _next wp-content blog download downloads")

// extensions are those of files of a program or its configuration. Files that a caller works with (.csv, .pdf, .json)
// are not among them.
var extensions = secret.WordsIn(`
	.go .py .pyc .rb .rs .java .kt .scala .cs .php .js .mjs .cjs .ts .mts .tsx .jsx .c .cc .cpp .h .hpp .swift .sh .pl .lua .ex .exs
	.so .dll .exe .jar .env .pem .key .crt .conf .cfg .ini .log .sock .pid .db .sqlite .sql .yaml .yml .toml .json .xml .md .txt
	.html .css .vue .lock .proto .csv .erl .dart .tf .hcl .tfvars .gradle .groovy .zig .nim .svelte .astro .scss .sass .less
	.graphql .prisma .sol .jl .ipynb .rst .adoc .tex .bat .ps1 .cmake .mk .lisp .clj .hs .ml .fs .vb .mm .m .asm .s .properties
	.yang .tpl .tmpl .ejs .hbs .erb .feature .bzl .nix .cue .rego .r
`)

// data are those extensions in which a route may end, too.
var data = secret.WordsIn(".json .xml .md .txt .html .css .csv .yaml .yml")

// paths finds absolute paths of files. A path with slashes counts if it begins where file systems do, or ends in a file
// of a program. A JSON Pointer (/order/items/0), a route (/api/v2/orders) and a media type do not count.
func paths(s string) []span {
	found := unix(s)
	for at := range places(s, "~") {
		if file, ok := homeAt(s, at); ok {
			found = append(found, file)
		}
	}
	found = append(found, windowsPaths(s)...)
	slices.SortFunc(found, bySpan)
	return found
}

// homeAt returns the path that begins with a tilde.
func homeAt(s string, at int) (file span, ok bool) {
	if at > 0 && strings.IndexByte(" \t\r\n\"'`(=:", s[at-1]) < 0 {
		return span{}, false
	}
	match := matchAt(home(), s, at)
	if match == nil {
		return span{}, false
	}
	end := follow(s, at, match[1], outside(unixEnds))
	return span{at, at + len(strings.TrimRight(s[at:end], ".!,;:)"))}, true
}

// unixEnds are bytes at which a path ends.
const unixEnds = " \t\r\n\f\v\"'<>|,;:()[]{}\\?*#&=+`"

var endsUnix, endsSentence = setOf(unixEnds), setOf(".!")

// unix finds paths that begin with a slash and have another.
func unix(s string) []span {
	var found []span
	done := 0
	for at := range places(s, "/") {
		if at < done {
			continue
		}
		file, end, ok := unixAt(s, at)
		done = end
		if ok {
			found = append(found, file)
			done = max(end, file.end)
		}
	}
	return found
}

// unixAt returns the path that begins with a slash, and where to go on.
func unixAt(s string, start int) (file span, end int, ok bool) {
	const lines = 2 // a line number and a column after it
	end = start + 1
	second := 0 // the last slash
	for ; end < len(s) && !endsUnix[s[end]]; end++ {
		if s[end] == '/' {
			second = end
		}
	}
	if second == end-1 { // a slash at the end does not count
		second = strings.LastIndexByte(s[start:end-1], '/') + start
	}
	if second-start < 2 {
		return span{}, end, false
	}
	stop := end
	for range lines {
		if digits := skip(s, stop+1, 6, isDigit); stop < len(s) && s[stop] == ':' && digits > stop+1 {
			stop = digits
		}
	}
	if strings.HasSuffix(s[:start], "file:") || strings.HasSuffix(s[:start], "unix:") {
		start -= len("file:")
	}
	if !mayBegin(s, start) {
		return span{}, end, false
	}
	text := trimEnd(s[start:stop], &endsSentence)
	if !isPath(text) {
		return span{}, end, false
	}
	file = quotedPath(s, start, start+len(text))
	return file, max(stop, file.end), true
}

// windowsPaths finds paths with a drive, and shares.
func windowsPaths(s string) []span {
	var found []span
	for at := 0; at < len(s); {
		i := strings.IndexAny(s[at:], `:\`)
		if i < 0 {
			break
		}
		file, end, ok := windowsAt(s, at+i)
		at = end
		if ok {
			found = append(found, file)
		}
	}
	return found
}

// windowsAt returns the path with that colon after its drive, or that begins with that backslash, and where to go on.
func windowsAt(s string, start int) (file span, next int, ok bool) {
	next = start + 1
	if s[start] == ':' {
		if next == len(s) || s[next] != '\\' && s[next] != '/' || start == 0 || !isLetter(s[start-1]) || start > 1 && isWord(s[start-2]) {
			return span{}, next, false
		}
		start--
	} else if next == len(s) || s[next] != '\\' {
		return span{}, next, false
	}
	end := windowsEnd(s[start:min(len(s), start+window)])
	if end == 0 {
		return span{}, skip(s, start, maxSlashes, isBackslash), false
	}
	next = follow(s, start, start+end, outside(" \t\r\n\"'<>|,;)}`*?"))
	text := strings.TrimRight(s[start:next], ".!")
	if !isWindows(s, start, text) {
		return span{}, next, false
	}
	file = quotedPath(s, start, start+len(text))
	return file, max(next, file.end), true
}

// maxSlashes is how many backslashes there may be for one: they may be escaped.
const maxSlashes = 4

func isSlash(c byte) bool { return c == '\\' || c == '/' }

func isBackslash(c byte) bool { return c == '\\' }

// windowsEnd returns the end of the path at the beginning of s, which has a drive, or is a share if it begins with backslashes; 0: it has
// no host.
func windowsEnd(s string) int {
	const longestHost, digits = 62, 6
	at := len("C:/")
	switch first := skip(s, 0, maxSlashes, isBackslash); {
	case first > 0:
		if first == len(s) || !isLetter(s[first]) && !isDigit(s[first]) {
			return 0
		}
		host := skip(s, first+1, longestHost, func(c byte) bool { return ofHosts[c] || c == '$' })
		if at = skip(s, host, 2, isBackslash); at == host {
			return 0
		}
	case s[at-1] == '\\':
		at = skip(s, at-1, maxSlashes, isBackslash)
	}
	for next := at; next > 0; next = nextFolder(s, at) {
		at = next
	}
	at += indexOfSet(s[at:], &endsFile)
	for range 2 { // a line and a column
		if number := skip(s, at+1, digits, isDigit); at < len(s) && s[at] == ':' && number > at+1 {
			at = number
		}
	}
	return at
}

// nextFolder returns where a path goes on after the name that begins at a position, which may have several words; 0: it does not.
func nextFolder(s string, at int) int {
	const words = 5
	end := at + indexOfSet(s[at:], &endsName)
	for n := 1; n < words && end > at && end+1 < len(s) && s[end] == ' ' && !endsName[s[end+1]]; n++ {
		end += 1 + indexOfSet(s[end+1:], &endsName)
	}
	if next := skip(s, end, 2, isSlash); end > at && next > end {
		return next
	}
	return 0
}

// What ends a name in a path of Windows, or a word of it, and what ends the last one.
var endsName, endsFile = setOf(" \t\n\f\r\\/:*?\"'<>|`"), setOf(" \t\n\f\r\\/:*?\"'<>|,;)]}`")

// mayBegin reports whether a path may begin at start: not in a URL, a word or another path.
func mayBegin(s string, start int) bool {
	if start == 0 {
		return true
	}
	c := s[start-1]
	inURL := c == ':' && strings.HasPrefix(s[start:], "//")
	return !isWord(c) && !beforeNone[c] && !inURL
}

// beforeNone are signs behind which no path begins.
var beforeNone = setOf("/.-~%@+$]}")

func isPath(text string) bool {
	if strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "unix://") {
		return true
	}
	first, rest, _ := strings.Cut(text[1:], "/")
	if first == "" || rest == "" {
		return false
	}
	if roots[first] {
		return true
	}
	file, _, _ := strings.Cut(text[strings.LastIndexByte(strings.TrimRight(text, "/"), '/'):], ":")
	ext := path.Ext(file)
	return extensions[ext] && !data[ext] && !routes[first]
}

// isWindows distinguishes a path from the escapes of a text and from a URL.
func isWindows(s string, start int, text string) bool {
	if text[0] == '\\' { // a share, and not the end of another path
		return (start == 0 || !isWord(s[start-1]) && s[start-1] != ':') && strings.Count(text, `\`) > 2
	}
	if strings.HasPrefix(text[1:], "://") || start > 0 && (s[start-1] == '\\' || s[start-1] == '-') {
		return false
	}
	rest := strings.TrimLeft(text[2:], `\/`)
	return len(rest) > 1 || strings.HasSuffix(text, `\`)
}

// quotedPath extends a path that contains spaces to the quote that ends it.
func quotedPath(s string, start, end int) span {
	const longest = 256
	if start == 0 || end == len(s) || s[end] != ' ' || strings.IndexByte("\"'`", s[start-1]) < 0 {
		return span{start, end}
	}
	rest := s[end:min(len(s), end+longest)]
	i := strings.IndexByte(rest, s[start-1])
	if i < 0 || strings.ContainsAny(rest[:i], "\r\n\"'`") || !strings.ContainsAny(rest[:i], `/\.`) {
		return span{start, end}
	}
	return span{start, end + i}
}
