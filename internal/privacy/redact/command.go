package redact

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// A program is a command that takes a secret with its own short options.
type program struct {
	next     []string // options whose value is the next word
	attached []string // options whose value follows without a space
}

// programs has them by the beginning of their names.
var programs = map[string]program{
	"mysql": {attached: []string{"-p", "-P"}}, "mariadb": {attached: []string{"-p", "-P"}}, "7z": {attached: []string{"-p"}},
	"zip": {next: []string{"-P"}, attached: []string{"-P"}}, "unzip": {next: []string{"-P"}, attached: []string{"-P"}},
	"rar":     {attached: []string{"-p", "-hp"}},
	"sshpass": {next: []string{"-p"}, attached: []string{"-p"}}, "docker login": {next: []string{"-p"}},
	"podman login": {next: []string{"-p"}},
	"redis-cli":    {next: []string{"-a"}}, "sqlcmd": {next: []string{"-P"}, attached: []string{"-P"}},
	"bcp":  {next: []string{"-P"}, attached: []string{"-P"}},
	"ldap": {next: []string{"-w"}}, "mongo": {next: []string{"-p"}}, "ssh-keygen": {next: []string{"-N", "-P"}},
	"openssl":  {next: []string{"-k", "-K"}},
	"az login": {next: []string{"-p"}}, "curl": {next: []string{"-b"}}, "ipmitool": {next: []string{"-P"}},
	"snmp":     {next: []string{"-c", "-A", "-X"}},
	"htpasswd": {},
}

var programWords = newWords(slices.DeleteFunc(programNames(), func(name string) bool { return !isLetter(name[0]) })...)

func programNames() []string {
	var names []string
	for name := range programs {
		names = append(names, name)
	}
	return names
}

// commanded finds credentials in commands.
func commanded(s string) []span {
	found := slashed(s)
	if !strings.Contains(s, "-") {
		return found
	}
	found = append(found, options(s)...)
	programWords.each(s, func(at int, word string) int {
		values, end := optionsOf(s, at+len(word), word)
		found = append(found, values...)
		return end
	})
	done := 0
	for at := range places(s, "7z ") { // a program's name may begin with a digit
		if at >= done {
			values, end := optionsOf(s, at, "7z")
			found, done = append(found, values...), end
		}
	}
	return found
}

// optionsOf finds the values of a program's options, up to the end of the command.
func optionsOf(s string, at int, name string) (found []span, end int) {
	const most = 4 << 10
	end = at + indexOr(s[at:min(len(s), at+most)], "\n|;&")
	if strings.IndexByte(s[at:end], '-') < 0 && name != "htpasswd" { // without options
		return nil, end
	}
	p := programs[name]
	var words []span
	wanted := false
	for at < end {
		at = skip(s[:end], at, end, isSpace)
		stop := wordEnd(s[:end], at)
		if stop == at {
			break
		}
		word := s[at:stop]
		if value := (span{at, stop}); wanted && !strings.HasPrefix(word, "-") {
			found = appendValue(found, s, value)
		}
		for _, option := range p.attached {
			if len(word) > len(option) && strings.HasPrefix(word, option) && word[len(option)] != '-' {
				found = appendValue(found, s, span{at + len(option), stop})
			}
		}
		wanted = slices.Contains(p.next, word)
		words = append(words, span{at, stop})
		at = stop
	}
	if name == "htpasswd" && len(words) > 3 && strings.Contains(s[words[0].end:words[1].end], "b") { // -b file user password
		found = appendValue(found, s, words[len(words)-1])
	}
	return found, end
}

// wordEnd returns the end of the word of a command, perhaps in quotes, that begins at a position.
func wordEnd(s string, at int) int {
	end := at
	for end < len(s) && !isSpace(s[end]) {
		if isQuote(s[end]) {
			if i := strings.IndexByte(s[end+1:], s[end]); i >= 0 {
				end += i + 1
			}
		}
		end++
	}
	return end
}

// appendValue adds a value without its quotes, unless it cannot be a secret.
func appendValue(found []span, s string, value span) []span {
	text := s[value.start:value.end]
	inside := strings.Trim(text, "\"'`,)")
	value.start += strings.Index(text, inside)
	value.end = value.start + len(inside)
	if inside == "" || isMark(inside) || isPlaceholder(inside) {
		return found
	}
	return append(found, value)
}

// options finds the values of options that are named like a secret, and passwords after a user.
func options(s string) []span {
	var found []span
	done := 0
	for start := range places(s, "-") {
		if start < done || start > 0 && isWord(s[start-1]) {
			continue
		}
		value, ok := optionAt(s, start)
		if !ok && (start == 0 || isSpace(s[start-1]) || isQuote(s[start-1])) {
			value, ok = loginAt(s, start)
		}
		if ok {
			found, done = append(found, value), value.end
		}
	}
	return found
}

// slashed finds the passwords in options of Windows: /p:x.
func slashed(s string) []span {
	var found []span
	for at := range places(s, "/p:") {
		if value, ok := slashedAt(s, at+len("/p")); ok {
			found = append(found, value)
		}
	}
	return found
}

// slashedAt returns the password after the colon of such an option. /p:Name=x is a property of MSBuild.
func slashedAt(s string, colon int) (value span, ok bool) {
	start := colon - len("/p")
	if start < 0 || s[start:colon] != "/p" || start > 0 && !isSpace(s[start-1]) && !isQuote(s[start-1]) {
		return span{}, false
	}
	value = span{colon + 1, colon + 1 + indexOr(s[colon+1:], " \t\r\n\"'`,;")}
	text := s[value.start:value.end]
	return value, isTold(text) && !strings.Contains(text, "=") && !isMark(text) && !isPlaceholder(text)
}

// optionAt returns the value of an option that begins at start: --password x.
func optionAt(s string, start int) (value span, ok bool) {
	const longest, blanks = 41, 3
	at := skip(s, start, 2, func(c byte) bool { return c == '-' })
	end := skip(s, at, longest, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' })
	next := skip(s, end, blanks, isBlank)
	if end < at+2 || next == end || next == len(s) || !secret.Name(s[at:end]) {
		return span{}, false
	}
	value = span{next, next + indexOr(s[next:], " \t\r\n\"'")}
	if quote := s[next]; isQuote(quote) {
		value.start++
		value.end = value.start + indexOr(s[value.start:], "\n"+s[next:next+1])
	}
	text := s[value.start:value.end]
	if slices.Contains(optionNouns, strings.TrimRight(text, ".,;:)")) { // a sentence is about the option
		return span{}, false
	}
	if text == "" || text[0] == '-' || isMark(text) || isPlaceholder(text) || at-start < 2 && !random(text) {
		return span{}, false
	}
	if next > end+1 && prose(text, s[value.end:]) { // it is explained in a list of options
		return span{}, false
	}
	return value, true
}

// optionNouns are what may follow an option's name in a sentence.
var optionNouns = []string{
	"flag", "flags", "option", "options", "argument", "arguments", "parameter", "parameters", "switch", "setting",
	"or", "|", "and", "is", "was", "must", "in", "when", "if", "requires", "cannot", "has", "environment", "variable",
}

// userOptions take a user and a password, as curl does.
var userOptions = []string{"--proxy-user", "--user", "--auth", "-u", "-U"}

// loginAt returns the value of an option for a user and a password: -u bob:x.
func loginAt(s string, start int) (value span, ok bool) {
	const longestName = 64
	if start+1 == len(s) || strings.IndexByte("-uU", s[start+1]) < 0 {
		return span{}, false
	}
	for _, option := range userOptions {
		if !strings.HasPrefix(s[start:], option) {
			continue
		}
		at := skip(s, start+len(option), 1, func(c byte) bool { return c == ' ' || c == '=' })
		at = skip(s, at, 1, isQuote)
		sign := skip(s, at, longestName, outside(" \t\r\n\"':=/"))
		if sign == at || sign == len(s) || s[sign] != ':' {
			return span{}, false
		}
		end := skip(s, sign+1, len(s), outside(" \t\r\n\"':/"))
		text := s[at:end]
		return span{at, end}, end > sign+1 && !isMark(text) && !isPlaceholder(text)
	}
	return span{}, false
}
