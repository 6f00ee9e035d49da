package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// named finds values that are named like a secret.
func named(s string) []span { return values(s, secret.Of, isNamed) }

// isNamed returns the value that is a secret because of its name. If the name only may be that of one, the value must look like it.
func isNamed(s, name string, kind secret.Kind, p span) (value span, ok bool) {
	switch kind {
	case secret.Maybe:
		return p, isWeak(s, name, p)
	case secret.Digits:
		p = number(s, p)
		value := s[p.start:p.end]
		return p, strings.Trim(value, "0123456789 -") == "" && isNumber(name, digitsOf(value))
	default:
		return p, true
	}
}

// number extends a value to the groups of digits after it.
func number(s string, p span) span {
	for p.end+1 < len(s) && (isDigit(s[p.end]) || (s[p.end] == ' ' || s[p.end] == '-') && isDigit(s[p.end+1])) {
		p.end++
	}
	if p.end+1 == len(s) && isDigit(s[p.end]) {
		p.end++
	}
	return p
}

// isNumber reports whether digits may be a card number, or another secret number.
func isNumber(name, digits string) bool {
	const few, card = 3, 12
	if strings.Contains(strings.ToLower(name), "card") {
		return len(digits) >= card
	}
	return len(digits) >= few
}

// isWeak reports whether a value looks like a secret, if its name only may be that of one. In the query of a URL, every
// value that looks random does.
func isWeak(s, name string, p span) bool {
	const short, long, longestName = 6, 16, 128
	value := s[p.start:p.end]
	if len(value) < short || !random(value) {
		return false
	}
	before := s[max(0, p.start-longestName):p.start]
	sign := strings.LastIndexAny(before, "?&")
	inQuery := sign >= 0 && !strings.ContainsAny(before[sign+1:], " \t\n\"'/")
	inEnviron := strings.HasSuffix(before, "=") && strings.HasSuffix(name, "_KEY") && strings.ToUpper(name) == name
	return inQuery || inEnviron || len(value) >= long && !isID(value)
}

// isID reports whether a value is an identifier: a UUID, or words joined by signs.
func isID(value string) bool {
	const uuid = 36
	if len(value) == uuid && strings.Count(value, "-") == 4 {
		return true
	}
	digits := len(digitsOf(value))
	return digits == 0 && isCamel(value) || digits < 4 && strings.ContainsAny(value, "_-.:/") ||
		strings.ToUpper(value) == value && strings.Contains(value, "_") || strings.ContainsAny(value, " @")
}

// isCamel reports whether a value is made of words, as names of types are: TeamFieldArgumentNullException.
func isCamel(value string) bool {
	const least = 3
	start := 0
	for i := 1; i <= len(value); i++ {
		if i < len(value) && 'a' <= value[i] && value[i] <= 'z' {
			continue
		}
		if i-start < least || i < len(value) && (value[i] < 'A' || value[i] > 'Z') {
			return false
		}
		start = i
	}
	return value != "" && isLetter(value[0])
}

// valuesOf finds the values that have such a name.
func valuesOf(s string, isName func(name string) bool) []span {
	kindOf := func(name string) secret.Kind {
		switch {
		case !isName(name):
			return secret.Harmless
		case secret.Name(name):
			return secret.Secret
		default:
			return secret.Maybe
		}
	}
	return values(s, kindOf, func(_, _ string, _ secret.Kind, p span) (span, bool) { return p, true })
}

// longestWeak limits the value of a name that only may be that of a secret.
const longestWeak = 1 << 10

// values finds the values that wanted chooses, of all names that are not harmless.
func values(s string, kindOf func(name string) secret.Kind, wanted func(s, name string, kind secret.Kind, value span) (span, bool)) []span {
	var found []span
	for at := 0; at < len(s); at++ {
		if s[at] != '=' && s[at] != ':' {
			continue
		}
		if value, ok := valueOf(s, at, kindOf, wanted); ok {
			found = append(found, value)
			at = max(at, value.end-1)
		}
	}
	return found
}

// valueOf returns the value after a sign.
func valueOf(
	s string, sign int, kindOf func(name string) secret.Kind, wanted func(s, name string, kind secret.Kind, value span) (span, bool),
) (value span, ok bool) {
	name := nameBefore(s, sign)
	if name == "" {
		return span{}, false
	}
	kind := kindOf(name)
	if kind == secret.Harmless {
		return span{}, false
	}
	after := sign + 1
	after = skip(s, after, 2, func(c byte) bool { return c == '=' || c == '>' }) // :=, => and ===
	reach := s
	if kind != secret.Secret { // it may not be one: not followed through the whole text
		reach = s[:min(len(s), after+longestWeak)]
	}
	if value, ok = valueAt(reach, after, name, s[sign]); !ok {
		return span{}, false
	}
	if value, ok = wanted(s, name, kind, value); !ok {
		return span{}, false
	}
	for value.end >= after+longestWeak && value.end < len(s) && !isSpace(s[value.end]) && !isQuote(s[value.end]) {
		value.end++
	}
	return value, true
}

// ofNames are the bytes of names.
var ofNames = setThat(func(c byte) bool { return ofHosts[c] || c >= utf8.RuneSelf })

// nameBefore returns the name before a sign: "api_key" in quotes, which may be escaped, or without; or the two words of
// "api key".
func nameBefore(s string, sign int) string {
	const longest = 80
	end := nameEnd(s, sign)
	start := back(s, end, max(0, end-longest), &ofNames)
	if start > 1 && s[start-1] == '\'' && s[start-2] == 'd' && start < end { // d'accès
		start -= 2
	}
	if start == end || start < 2 || s[start-1] != ' ' {
		return s[start:end]
	}
	for before := start - 1; ; before-- {
		if before == 0 || !isLetter(s[before-1]) && s[before-1] < utf8.RuneSelf || start-before > 20 {
			return s[before:end]
		}
	}
}

// nameEnd returns where the name before a sign ends; 0 if a mark is there.
func nameEnd(s string, sign int) int {
	end := sign
	for end > 0 && sign-end < 3 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	if endsInMark(s[:end]) {
		return 0
	}
	if end > 0 && s[end-1] == ']' { // user[password], [password] =>
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'' || s[end-1] == '`') {
		end--
		for end > 0 && sign-end < 12 && s[end-1] == '\\' {
			end--
		}
	}
	return end
}

// valueAt finds the value after a name and its sign.
func valueAt(s string, start int, name string, sign byte) (value span, ok bool) {
	const blanks = 4
	at := skip(s, start, blanks, isBlank)
	at = behindPrefix(s, behindDump(s, at))
	if inside, quoted := inQuotes(s, at); quoted {
		return inside, inside.end > inside.start && !isMark(s[inside.start:]) && !saysNothing(s[inside.start:inside.end])
	}
	if rest := s[at:]; isMark(rest) || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") {
		return span{}, false
	}
	end := at + indexOfSet(s[at:], &endsValue)
	text := s[at:end]
	switch {
	case text == "" || saysNothing(text) || isPlaceholder(text):
		return span{}, false
	case isScheme(text):
		return afterScheme(s, at, end)
	case strings.HasSuffix(text, "(") && end < len(s) && isCall(text):
		inside, quoted := inQuotes(s, end)
		return inside, quoted && wrappers[text]
	case sign == ':' && at > start && !takesLine(name, text) && prose(text, s[end:]), isCount(name, text):
		return span{}, false
	case takesLine(name, text):
		return span{at, lineEnd(s, at)}, true
	}
	return span{at, end}, true
}

var endsValue = setOf(" \t\r\n,;&)}]>\"'`|\\")

// behindPrefix returns the position of the quote after a prefix of a string in Python, b'...', or in SQL, N'...'.
func behindPrefix(s string, at int) int {
	const longest = 2
	end := skip(s, at, longest, func(c byte) bool { return ofPrefix[c] })
	if end < len(s) && isQuote(s[end]) {
		return end
	}
	return at
}

var ofPrefix = setOf("bruBRUNEX")

// behindDump returns the position of the value after what PHP's var_dump and print_r write before it: its visibility, and
// its type on the next line, ["password":protected]=> string(8) "...".
func behindDump(s string, at int) int {
	const longest, longestClass, longestGap = 300, 110, 40
	class := skip(s, at, longestClass, func(c byte) bool { return isWord(c) || c == '\\' || c == '"' })
	if !strings.HasPrefix(s[skip(s, at, longestGap, isSpace):], "string(") && !strings.HasPrefix(s[class:], ":private]") &&
		!strings.HasPrefix(s[at:], "protected]") {
		return at
	}
	if match := dumped().FindStringIndex(s[at:min(len(s), at+longest)]); match != nil {
		return at + match[1]
	}
	return at
}

var dumped = lazily(`^(?:(?:protected|\\{0,4}"?[\w\\]{1,100}"?:private)\]\s?=>)?\s{0,40}string\(\d{1,9}\) ?|` +
	`^(?:protected|\\{0,4}"?[\w\\]{1,100}"?:private)\]\s?=> ?`)

// takesLine reports whether a credential is all that follows a name on its line.
func takesLine(name, text string) bool {
	return strings.HasSuffix(strings.ToLower(name), "cookie") || strings.HasPrefix(text, "AWS4-") || strings.EqualFold(text, "digest")
}

// lineEnd returns the end of a credential that may have several words.
func lineEnd(s string, at int) int {
	if match := digest().FindStringIndex(s[at:]); match != nil {
		return at + match[1]
	}
	return at + indexOr(s[at:], "\r\n\"'`")
}

// digest are credentials as in RFC 7616.
var digest = lazily(`^(?i:digest)\s+(?:[\w\-]{1,20}=\\?(?:"[^"\n]*"|[^\s,"]+),?\s{0,2})+`)

// wrappers are calls around a value, as languages print it.
var wrappers = secret.WordsIn("Some( Just( Ok( String( Secret( str(")

// isCall reports whether text is a function call up to its bracket.
func isCall(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.") == "("
}

// isCount reports whether a value is a number of things, as in "tokens: 12".
func isCount(name, value string) bool {
	const longest, few = 9, 3
	if name == "pass" && len(value) <= few && strings.Trim(value, "0123456789") == "" { // and how many fail
		return true
	}
	return len(value) <= longest && strings.Trim(value, "0123456789.,%k") == "" && strings.HasSuffix(strings.ToLower(name), "tokens")
}

// afterScheme finds the credentials after an authentication scheme.
func afterScheme(s string, at, end int) (value span, ok bool) {
	next := skip(s, end, len(s), func(c byte) bool { return c == ' ' })
	end = next + indexOr(s[next:], " \t\r\n,;\"'`)")
	text := s[next:end]
	if isMark(s[next:]) || saysNothing(text) || isPlaceholder(text) || prose(text, s[end:]) {
		return span{}, false
	}
	return span{at, end}, true
}

func isScheme(text string) bool {
	return len(text) <= len("negotiate") && schemes[strings.ToLower(text)]
}

var schemes = secret.WordsIn("bearer basic token apikey negotiate")

// inQuotes finds the text between quotes, which may be escaped.
func inQuotes(s string, at int) (inside span, ok bool) {
	const longest = 8
	quote := skip(s, at, longest, func(c byte) bool { return c == '\\' })
	if quote >= len(s) || strings.IndexByte("\"'`", s[quote]) < 0 {
		return span{}, false
	}
	// In a text that was escaped n times, 2^n-1 backslashes precede a quote that begins or ends a string, and more
	// precede one inside it.
	level, escapes := quote-at, 0
	start := quote + 1
	for end := start; end < len(s); end++ {
		switch s[end] {
		case '\\':
			escapes++
			continue
		case '\n':
			return span{start, end}, true
		case s[quote]:
			if escapes%(2*level+2) == level {
				return span{start, end - level}, true
			}
		}
		escapes = 0
	}
	return span{start, len(s)}, true
}

// placeholder matches a placeholder for a value in instructions.
var placeholder = lazily(`^(?:<.*|\$\{?[A-Z][A-Z0-9_]*\}?|\*+|x{3,}|\.{3}|%[a-z])$`)

func isPlaceholder(value string) bool {
	return value != "" && len(value) < 80 && strings.IndexByte("<$*x.%", value[0]) >= 0 && placeholder().MatchString(value)
}

// saysNothing reports whether a value only says that a value is missing or wrong.
func saysNothing(value string) bool {
	const longest = 16
	if len(value) > longest || value != "" && isDigit(value[0]) {
		return false
	}
	switch strings.ToLower(strings.Trim(value, ".!")) {
	case "", "null", "nil", "none", "undefined", "true", "false", "required", "missing", "invalid", "expired", "empty", "string", "absent",
		"redacted", "hidden", "unauthorized", "denied", "failed", "unknown", "optional", "malformed", "revoked", "rejected", "present",
		"yes", "no":
		return true
	default:
		return false
	}
}

// prose reports whether the text after a colon begins a sentence.
func prose(value, rest string) bool {
	for i := range len(value) {
		if c := value[i]; c < 'a' || c > 'z' {
			if i > 0 || c < 'A' || c > 'Z' {
				return false
			}
		}
	}
	return len(rest) > 1 && rest[0] == ' ' && (isLetter(rest[1]) || strings.IndexByte("\"'`([", rest[1]) >= 0)
}

// marks are all marks.
var marks = []string{markCredential, markConnection, markTrace, markPersonal, markAddress, markPath}

func isMark(s string) bool {
	if s == "" || s[0] != '[' {
		return false
	}
	return strings.HasPrefix(s, markCredential) || strings.HasPrefix(s, markConnection) || strings.HasPrefix(s, markTrace) ||
		strings.HasPrefix(s, markPersonal) || strings.HasPrefix(s, markAddress) || strings.HasPrefix(s, markPath)
}

func endsInMark(s string) bool {
	return strings.HasSuffix(s, "]") && slices.ContainsFunc(marks, func(mark string) bool { return strings.HasSuffix(s, mark) })
}

// indexOr returns the position of the first of chars in s, or the length of s.
func indexOr(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
