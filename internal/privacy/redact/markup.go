package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// marked finds values that are named like a secret in markup and lists.
func marked(s string) []span {
	var found []span
	add := func(name string, value span) {
		if p, ok := hiddenBy(s, strings.TrimLeft(name, "-"), value); ok {
			found = append(found, p)
		}
	}
	if strings.Contains(s, "</") {
		elements(s, add)
	}
	if strings.ContainsAny(s, "\"'=:") {
		if hasMember(s, valueWords) {
			members(s, nameWords, valueWords, func(name, value span) { add(s[name.start:name.end], value) })
			members(s, valueWords, nameWords, func(value, name span) { add(s[name.start:name.end], value) })
		}
		found = append(found, tuples(s)...)
	}
	below(s, add)
	return found
}

// mayBeMarked reports whether there may be such a value in a line that mentions a secret, or beside it; told is false if it does so only
// in names of members of JSON, which are not the values or elements that give a name.
func mayBeMarked(line string, told bool) bool {
	if strings.IndexByte(line, '<') >= 0 || told && namesMember(line) || (told || strings.Contains(line, "-p")) && len(tuples(line)) > 0 {
		return true
	}
	found := false
	below(line, func(name string, value span) {
		_, ok := hiddenBy(line, name, value)
		found = found || ok
	})
	if name, _, ok := headOf(line); found || ok && secret.Name(name) {
		return true
	}
	line = trimEnd(line, &lineBlanks)
	return strings.HasSuffix(line, ",") && strings.ContainsAny(line, "\"'") // a tuple may go on
}

// mayGoOn reports whether a line may be marked, or hold an option, although a secret is mentioned only in names of members of JSON.
func mayGoOn(line string) bool {
	return strings.IndexByte(line, '<') >= 0 || strings.Contains(line, "-p") || strings.HasSuffix(trimEnd(line, &lineBlanks), ",")
}

// namesMember reports whether a member has the name of a secret as its value.
func namesMember(s string) (found bool) {
	nameWords.each(s, func(at int, word string) int {
		value, ok := member(s, at+len(word))
		found = found || ok && secret.Name(strings.TrimSpace(s[value.start:value.end]))
		return at + len(word)
	})
	return found
}

// hiddenBy returns the part of a value that is a secret because of its name.
func hiddenBy(s, name string, value span) (hidden span, ok bool) {
	text := s[value.start:value.end]
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !secret.Name(name) || isMark(trimmed) || saysNothing(trimmed) || isPlaceholder(trimmed) {
		return span{}, false
	}
	start := value.start + len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	return span{start, start + len(trimmed)}, true
}

func isElementName(c byte) bool { return isWord(c) || c == ':' || c == '.' || c == '-' }

// elements finds XML elements with a text, <name ...>text</.
func elements(s string, add func(name string, value span)) {
	const longestName, longestRest = 80, 257
	var before element
	for at := range places(s, "<") {
		start := at + 1
		if start == len(s) || !isLetter(s[start]) {
			continue
		}
		end := skip(s, start, longestName+1, isElementName)
		open := end
		if end < len(s) && isSpace(s[end]) {
			open = skip(s, end, longestRest, outside("<>"))
		}
		if open >= len(s) || s[open] != '>' {
			continue
		}
		size := strings.IndexByte(s[open+1:], '<')
		if at = open + 1; size > 0 && strings.HasPrefix(s[at+size:], "</") {
			text := span{at, at + size}
			add(s[start:end], text)
			for _, attribute := range []string{"name=", "key="} {
				if i := strings.Index(s[end:open], attribute); i >= 0 {
					if name, ok := quotedAt(s, end+i+len(attribute)); ok {
						add(s[name.start:name.end], text)
					}
				}
			}
			if before.names(s, start-1, s[start:end], text) {
				add(strings.TrimSpace(s[before.text.start:before.text.end]), text)
			}
			before = element{s[start:end], text, text.end + indexOr(s[text.end:], ">") + 1}
		}
	}
}

// An element is one with a text, which may name that of the next one: <key>password</key><string>x</string>.
type element struct {
	name string
	text span
	end  int
}

// names reports whether the text of e may be the name of that of the element that begins at start.
func (e element) names(s string, start int, name string, text span) bool {
	const longest = 60
	if e.end == 0 || e.end > start || e.text.end-e.text.start > longest || strings.TrimSpace(s[e.end:start]) != "" {
		return false
	}
	value := strings.TrimSpace(s[text.start:text.end])
	pair := e.name == "key" || e.name == "name"
	return !strings.ContainsAny(value, " \t\n") && !secret.Name(value) && (pair && name != e.name || isTold(value))
}

// A name and its value in two members or attributes: name="password" value="x", "key": "token", "value": "x".
var (
	nameWords  = newWords("name", "key", "id", "field", "header", "param", "parameter", "property", "variable", "k")
	valueWords = newWords("value", "val", "v", "content", "default")
)

// members finds two adjacent members of which the first has a name in first and the second one in second.
func members(s string, first, second *wordSet, add func(first, second span)) {
	const between = 80
	first.each(s, func(at int, word string) int {
		one, ok := member(s, at+len(word))
		if !ok || one.end-one.start > longestMember(first) {
			return at + len(word)
		}
		gap := skip(s, one.end, 2, func(c byte) bool { return c == '\\' || isQuote(c) })
		limit := skip(s, gap, between, outside("<>{}\n"))
		if limit < len(s) && s[limit] == '\n' { // on the next line
			limit = skip(s, limit+1, between, outside("<>{}\n"))
		}
		for ; gap < limit; gap++ {
			if isWord(s[gap-1]) {
				continue
			}
			word := second.at(s, gap)
			if word == "" {
				continue
			}
			two, ok := member(s, gap+len(word))
			if ok && first == nameWords && !strings.ContainsAny(s[gap:two.start], "=:") { // value 'next' may be a word
				ok = isTold(s[two.start:two.end])
			}
			if ok && two.end-two.start <= longestMember(second) {
				add(one, two)
				return two.end + 1
			}
		}
		return one.end
	})
}

// hasMember reports whether there is a member with such a name.
func hasMember(s string, names *wordSet) (has bool) {
	names.each(s, func(at int, word string) int {
		if _, ok := member(s, at+len(word)); ok {
			has = true
			return len(s)
		}
		return at + len(word)
	})
	return has
}

// longestMember returns how long the value of a member may be; names are short.
func longestMember(w *wordSet) int {
	const name = 80
	if w == nameWords {
		return name
	}
	return MaxText
}

// member returns the value of a member or attribute whose name ends at a position: ="x", ": "x", \": \"x\".
func member(s string, at int) (value span, ok bool) {
	const blanks = 3
	first := at
	at = skip(s, at, 1, func(c byte) bool { return c == '\\' })
	at = skip(s, at, 1, isQuote)
	at = skip(s, at, blanks, isSpace)
	if at == len(s) || s[at] != '=' && s[at] != ':' {
		if at > first && isBlank(s[at-1]) { // the parameter 'password'
			return quotedAt(s, at)
		}
		return span{}, false
	}
	at = skip(s, at+1, blanks, isBlank)
	if value, ok = quotedAt(s, at); ok {
		return value, true
	}
	value = span{at, at + indexOfSet(s[at:], &endsMember)}
	ends := value.end == len(s) || s[value.end] == '\n' || s[value.end] == '\r'
	return value, value.end > value.start && (ends || s[value.end] == ',' || s[value.end] == ';' || isTold(s[value.start:value.end]))
}

var endsMember, endsQuoted = setOf(" \t\r\n\"'`,;(){}[]<>"), setOf("\"'\n")

// quotedAt returns the text in quotes, which may be escaped once, on one line.
func quotedAt(s string, at int) (value span, ok bool) {
	at = skip(s, at, 1, func(c byte) bool { return c == '\\' })
	if at == len(s) || !isQuote(s[at]) {
		return span{}, false
	}
	start := at + 1
	end := start + indexOfSet(s[start:], &endsQuoted)
	if end == len(s) || s[end] == '\n' || end == start {
		return span{}, false
	}
	if end-1 > start && s[end-1] == '\\' {
		end--
	}
	return span{start, end}, true
}

// below finds a name and its value on the next line, as after "password:" or "password = |".
func below(s string, add func(name string, value span)) {
	const longest = 200 // bytes of a line that ends in a name and a sign
	start := 0
	for {
		end := start + indexOr(s[start:], "\n")
		line := s[start:end]
		start = end + 1
		if len(line) > longest {
			line = line[len(line)-longest:]
		}
		if value, ok := directive(s, end-len(line), end); ok {
			add(strings.TrimSpace(line[:value.start-(end-len(line))]), value)
		}
		if end == len(s) {
			return
		}
		name, block, ok := headOf(line)
		if !ok || !secret.Name(name) {
			continue
		}
		if value, ok := lineBelow(s, start, block); ok {
			add(name, value)
		}
	}
}

// directive returns the second word of a line of two, such as requirepass x1.
func directive(s string, start, end int) (value span, ok bool) {
	at := skip(s, start, end-start, isBlank)
	at = skip(s, at, end-at, func(c byte) bool { return isWord(c) || c == '-' || c == '.' })
	next := skip(s, at, end-at, isBlank)
	if at == next {
		return span{}, false
	}
	text := strings.TrimRight(s[next:end], " \t\r;")
	return span{next, next + len(text)}, isTold(text) && !strings.ContainsAny(text, " \t()")
}

// lineBlanks are blanks at the end of a line; ofBlock may mark a YAML block there.
var lineBlanks, ofBlock = setOf(" \t\r"), setOf("|>+-0123456789")

// headOf returns the name at the end of a line, before a sign, and whether a YAML block follows it.
func headOf(line string) (name string, block, ok bool) {
	line = trimEnd(line, &lineBlanks)
	if head := trimEnd(line, &ofBlock); len(line)-len(head) <= 3 && strings.ContainsAny(line[len(head):], "|>") {
		line, block = trimEnd(head, &blanks), true
	}
	if line == "" || line[len(line)-1] != ':' && line[len(line)-1] != '=' {
		return "", false, false
	}
	line = strings.TrimRight(line[:len(line)-1], " \t]")
	name = line[strings.LastIndexAny(line, ":=,;(){}[]<>|/")+1:]
	return strings.Trim(name, " \t-\"'`"), block, true
}

// lineBelow returns the value on the line below a name. Unless it is in a block, the line must be indented and a single
// word.
func lineBelow(s string, start int, block bool) (value span, ok bool) {
	at := skip(s, start, len(s), isBlank)
	if strings.HasPrefix(s[at:], "- ") { // a list
		at += len("- ")
	}
	end := at + indexOr(s[at:], "\n")
	text := strings.TrimSpace(s[at:end])
	if text == "" || !block && (strings.ContainsAny(text, " \t") || strings.HasSuffix(text, ":") || at == start && !random(text)) {
		return span{}, false
	}
	return span{at, end}, true
}

// tuples finds values that follow names in lists, such as ('password', 'x') and ["--token", "x"], also in the lines of
// a diff. A name next to another name, or next to a plain word, is part of a list of names.
func tuples(s string) []span {
	var found []span
	done := 0
	for sign := range places(s, ",") {
		name := quotedBefore(s, sign)
		if sign < done || name == "" {
			continue
		}
		value, ok := nextQuoted(s, sign+1)
		if ok && isTuple(name, s[value.start:value.end]) {
			found, done = append(found, value), value.end
		}
	}
	return found
}

// ofQuoted are the bytes of such a name.
var ofQuoted = setThat(func(c byte) bool { return ofHosts[c] || c == ' ' })

// quotedBefore returns the name in quotes, which may be escaped, that ends at a position.
func quotedBefore(s string, at int) string {
	const longest = 64
	if at == 0 || !isQuote(s[at-1]) {
		return ""
	}
	end := at - 1
	if end > 0 && s[end-1] == '\\' {
		end--
	}
	start := back(s, end, max(0, end-longest), &ofQuoted)
	name := s[start:end]
	bare := strings.TrimLeft(name, "-")
	if start == 0 || !isQuote(s[start-1]) || bare == "" || !isLetter(bare[0]) {
		return ""
	}
	return name
}

// nextQuoted returns the text in quotes that follows white space, signs of a diff and prefixes of Python's strings.
func nextQuoted(s string, at int) (value span, ok bool) {
	const blanks, prefix = 60, 2
	at = skip(s, at, blanks, func(c byte) bool { return isSpace(c) || c == '+' || c == '-' })
	at = skip(s, at, prefix, func(c byte) bool { return strings.IndexByte("bruBRU", c) >= 0 })
	return quotedAt(s, at)
}

func isTuple(name, value string) bool {
	option := strings.HasPrefix(name, "-")
	bare := strings.TrimLeft(name, "-")
	return (secret.Name(bare) || option && bare == "p") && !secret.Name(strings.TrimLeft(value, "-")) && !isMark(value) &&
		!saysNothing(value) && !isPlaceholder(value) && !strings.HasPrefix(value, "--") && (option || !isIdentifier(value))
}

// isIdentifier reports whether s could be the name of a member or parameter.
func isIdentifier(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_ ") == ""
}
