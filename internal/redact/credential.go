package redact

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/secret"
)

// privateKeys finds PEM blocks of private keys, also those that do not end.
func privateKeys(s string) []span {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	var found []span
	for at := 0; ; {
		i := strings.Index(s[at:], begin)
		if i < 0 {
			return found
		}
		start := at + i
		at = start + len(begin)
		label, _, closed := strings.Cut(s[at:], dashes)
		if !closed || len(label) > 64 || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		stop := len(s)
		if j := strings.Index(s[at:], end); j >= 0 {
			stop = at + j + len(end)
			if k := strings.Index(s[stop:], dashes); k >= 0 {
				stop += k + len(dashes)
			}
		}
		found = append(found, span{start, stop})
		at = stop
	}
}

// forms are credentials that are known by how they look.
var forms = lazily(`\b(?:` + strings.Join([]string{
	`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}`,                                 // AWS
	`gh[pousr]_[A-Za-z0-9]{16,}`,                                          // GitHub
	`github_pat_[A-Za-z0-9_]{16,}`,                                        // GitHub, fine-grained
	`glpat-[A-Za-z0-9_\-]{16,}`,                                           // GitLab
	`sk-[A-Za-z0-9_\-]{16,}`,                                              // OpenAI, Anthropic
	`[a-z]{2,20}_(?:live|test)_[A-Za-z0-9]{10,}`,                          // Stripe and those who write keys like it
	`whsec_[A-Za-z0-9+/=]{16,}`,                                           // Stripe's webhooks
	`xox[abeoprs]-[A-Za-z0-9\-]{10,}`,                                     // Slack
	`xapp-[A-Za-z0-9\-]{10,}`,                                             // Slack apps
	`AIza[A-Za-z0-9_\-]{30,}`,                                             // Google API keys
	`ya29\.[A-Za-z0-9_\-]{16,}`,                                           // Google access tokens
	`npm_[A-Za-z0-9]{30,}`,                                                // npm
	`pypi-[A-Za-z0-9_\-]{30,}`,                                            // PyPI
	`hf_[A-Za-z0-9]{30,}`,                                                 // Hugging Face
	`do[opr]_v1_[a-f0-9]{32,}`,                                            // DigitalOcean
	`SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`,                        // SendGrid
	`eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*){0,3}`, // JWT, JWE
}, "|") + `)`)

// spoken are credentials after a word that announces one. What follows has to
// look random, since the words occur in sentences too.
var spoken = lazily(`(?i)\b(?:bearer|basic|digest|token|secret|password|passphrase|cookie|session(?:[ _-]?id)?|` +
	`api[ _-]?key|access[ _-]?key|private[ _-]?key|credentials?|signature)\s{1,3}(?:(?:is|was|of|for)\s)?["'` + "`" + `(]?` +
	`([A-Za-z0-9+/_=.~\-]{8,})`)

// quoted are secrets in quotes after a word for them. "Unexpected token '<'" is
// none.
var quoted = lazily(`(?i)\b(?:password|passwd|passphrase|secret|api[ _-]?key)\s{1,3}(?:(?:is|was)\s)?` +
	`(?:"([^"\n]{1,256})"|'([^'\n]{1,256})'|` + "`([^`\n]{1,256})`)")

// tokens finds credentials that have no name beside them.
func tokens(s string) []span {
	var found []span
	if hasRandomWord(s) {
		for _, at := range forms().FindAllStringIndex(s, -1) {
			found = append(found, span{at[0], at[1]})
		}
		for _, at := range spoken().FindAllStringSubmatchIndex(s, -1) {
			value := strings.TrimRight(s[at[2]:at[3]], ".")
			if random(value) {
				found = append(found, span{at[2], at[2] + len(value)})
			}
		}
	}
	if containsAny(s, "ass", "ASS", "ecret", "ECRET", "ey ", "EY ") {
		for _, at := range quoted().FindAllStringSubmatchIndex(s, -1) {
			for group := 2; group < len(at); group += 2 {
				if at[group] >= 0 && !isMark(s[at[group]:]) {
					found = append(found, span{at[group], at[group+1]})
				}
			}
		}
	}
	slices.SortFunc(found, func(x, y span) int { return x.start - y.start })
	return found
}

// hasRandomWord reports whether any word of s could be a credential without a
// name: much cheaper than to look for the forms.
func hasRandomWord(s string) bool {
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (isWord(s[i]) || strings.IndexByte("-.+/=~", s[i]) >= 0) {
			continue
		}
		if i-start >= 15 || i-start >= 8 && random(s[start:i]) {
			return true
		}
		start = i + 1
	}
	return false
}

// random reports whether s looks like a credential, not like a word.
func random(s string) bool {
	var digits, inner, letters int
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case 'A' <= c && c <= 'Z' && i > 0 && 'a' <= s[i-1] && s[i-1] <= 'z':
			inner++
			letters++
		case isLetter(c):
			letters++
		}
	}
	switch {
	case strings.ContainsAny(s, "/") && digits+inner < 4: // a path or a list of words
		return false
	case digits > 0 && letters > 0, inner > 1, strings.HasSuffix(s, "="):
		return true
	default:
		return len(s) >= 40 || digits >= 16
	}
}

// flag is a command's option and its value.
var flag = lazily(`--([a-z][a-z0-9\-]{1,40})[ \t]{1,3}([^\s\-"'][^\s"']*)`)

// named finds the values of what is named like a secret.
func named(s string) []span {
	var found []span
	done := 0
	for sign := range len(s) {
		if sign < done || s[sign] != '=' && s[sign] != ':' {
			continue
		}
		name := nameBefore(s, sign)
		if name == "" || !secret.Name(name) {
			continue
		}
		after := sign + 1
		if after < len(s) && (s[after] == '=' || s[after] == '>') { // := and =>
			after++
		}
		if value, ok := valueAt(s, after, name, s[sign]); ok {
			found = append(found, value)
			done = value.end
		}
	}
	if strings.Contains(s, "--") {
		for _, at := range flag().FindAllStringSubmatchIndex(s, -1) {
			value := s[at[4]:at[5]]
			if secret.Name(s[at[2]:at[3]]) && !isMark(value) && !isPlaceholder(value) {
				found = append(found, span{at[4], at[5]})
			}
		}
	}
	slices.SortFunc(found, func(x, y span) int { return x.start - y.start })
	return found
}

// nameBefore returns the name before a sign: "api_key" in quotes, which may be
// escaped, or without; or the two words of "api key".
func nameBefore(s string, sign int) string {
	const longest = 80
	end := sign
	for end > 0 && sign-end < 3 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
		for end > 0 && sign-end < 12 && s[end-1] == '\\' {
			end--
		}
	}
	start := end
	for start > 0 && end-start < longest && (isWord(s[start-1]) || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	if start == end || start < 2 || s[start-1] != ' ' {
		return s[start:end]
	}
	for before := start - 1; ; before-- {
		if before == 0 || !isLetter(s[before-1]) || start-before > 20 {
			return s[before:end]
		}
	}
}

// valueAt finds the value that begins behind a name and its sign.
func valueAt(s string, start int, name string, sign byte) (value span, ok bool) {
	at := start
	for at < len(s) && at < start+4 && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	if inside, quoted := inQuotes(s, at); quoted {
		return inside, inside.end > inside.start && !isMark(s[inside.start:]) && !literal(s[inside.start:inside.end])
	}
	if rest := s[at:]; isMark(rest) || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") {
		return span{}, false
	}
	end := at + indexOr(s[at:], " \t\r\n,;&)}]>\"'`|\\")
	text := s[at:end]
	switch {
	case text == "" || literal(text) || isPlaceholder(text):
		return span{}, false
	case schemes[strings.ToLower(text)]:
		return afterScheme(s, at, end)
	case strings.HasSuffix(strings.ToLower(name), "cookie"), strings.HasPrefix(text, "AWS4-"), strings.EqualFold(text, "digest"):
		return span{at, at + indexOr(s[at:], "\r\n\"'`")}, true
	case sign == ':' && at > start && prose(text, s[end:]):
		return span{}, false
	}
	return span{at, end}, true
}

// afterScheme finds the credentials behind an authentication scheme.
func afterScheme(s string, at, end int) (value span, ok bool) {
	next := end
	for next < len(s) && s[next] == ' ' {
		next++
	}
	end = next + indexOr(s[next:], " \t\r\n,;\"'`)")
	text := s[next:end]
	if isMark(s[next:]) || literal(text) || isPlaceholder(text) || prose(text, s[end:]) {
		return span{}, false
	}
	return span{at, end}, true
}

var schemes = map[string]bool{"bearer": true, "basic": true, "token": true, "apikey": true, "negotiate": true}

// inQuotes finds what stands between quotes, which may be escaped, at a place.
func inQuotes(s string, at int) (inside span, ok bool) {
	quote := at
	for quote < len(s) && quote < at+8 && s[quote] == '\\' {
		quote++
	}
	if quote >= len(s) || strings.IndexByte("\"'`", s[quote]) < 0 {
		return span{}, false
	}
	// In a text that was escaped n times, 2^n-1 backslashes stand before a quote
	// that begins or ends a string, and more before one inside it.
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

// placeholder is what stands in instructions in place of a value.
var placeholder = lazily(`^(?:<.*|\$\{?[A-Z][A-Z0-9_]*\}?|\*+|x{3,}|\.{3}|%[a-z])$`)

func isPlaceholder(value string) bool { return len(value) < 80 && placeholder().MatchString(value) }

// literal reports whether a value says that there is none, or what is wrong
// with it.
func literal(value string) bool {
	const longest = 16
	if len(value) > longest {
		return false
	}
	switch strings.ToLower(strings.Trim(value, ".!")) {
	case "", "null", "nil", "none", "undefined", "true", "false", "required", "missing", "invalid", "expired", "empty", "string", "absent",
		"redacted", "hidden", "unauthorized", "denied", "failed", "unknown", "optional", "malformed", "revoked", "rejected", "present":
		return true
	default:
		return false
	}
}

// prose reports whether a value behind a colon begins a sentence.
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

func isMark(s string) bool {
	return strings.HasPrefix(s, markCredential) || strings.HasPrefix(s, markConnection) || strings.HasPrefix(s, markTrace)
}

// indexOr returns where one of chars first stands in s, or the length of s.
func indexOr(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
