package redact

import (
	"regexp"
	"slices"
	"strings"
)

// privateKeys finds PEM blocks of private keys, even without an end.
func privateKeys(s string) []span {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	if !strings.Contains(s, dashes) {
		return nil
	}
	found, done := keyTails(s), 0
	for start := range places(s, begin) {
		at := start + len(begin)
		label, _, closed := strings.Cut(s[at:], dashes)
		if start < done || !closed || len(label) > 64 || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		stop := len(s)
		if j := strings.Index(s[at:], end); j >= 0 {
			stop = at + j + len(end)
			if k := strings.Index(s[stop:], dashes); k >= 0 {
				stop += k + len(dashes)
			}
		}
		found, done = append(found, span{start, stop}), stop
	}
	return found
}

// keyTails finds the remains of PEM blocks of private keys without a beginning.
func keyTails(s string) []span {
	const end, begin, dashes = "-----END ", "-----BEGIN ", "-----"
	first := strings.Index(s, end)
	if first < 0 || strings.Contains(s[:first], begin) {
		return nil
	}
	label, _, closed := strings.Cut(s[first+len(end):], dashes)
	if !closed || len(label) > 64 || !strings.Contains(label, "PRIVATE KEY") {
		return nil
	}
	start := first
	for start > 0 && (isBase64(s[start-1]) || strings.IndexByte("=\r\n\\ \t", s[start-1]) >= 0) {
		start--
	}
	for start < first && strings.IndexByte(" \r\n\t", s[start]) >= 0 {
		start++
	}
	if i := strings.LastIndexAny(s[start:first], " \t"); i >= 0 && !strings.ContainsAny(s[start:first], "\n\\") { // words of the sentence
		start += i + 1
	}
	return []span{{start, first + len(end) + len(label) + len(dashes)}}
}

// spokenWords announce credentials. These must look random, since the words occur in sentences, too.
var spokenWords = newWords(slices.Concat([]string{
	"bearer", "basic", "digest", "token", "secret", "cookie", "session", "credential", "signature",
	"zugriffstoken", "zugangstoken", "jeton", "ficha", "chave",
}, joined("key", "api", "access", "private"), joined("token", "access", "refresh", "auth", "id", "session", "bot", "csrf"))...)

// spokenPhrases are these words, and others after them.
var spokenPhrases = newWords(slices.Concat(spokenWords.list, []string{"basic auth", "credentials"}, joined("id", "session"))...)

// joined returns words with another behind them, as they are written as one.
func joined(behind string, words ...string) []string {
	var all []string
	for _, word := range words {
		for _, between := range []string{"", " ", "_", "-"} {
			all = append(all, word+between+behind)
		}
	}
	return all
}

// A telling is a word that announces a secret, with the pattern for the text after it. A group of the pattern is the
// secret, if it looks like one.
type telling struct {
	words *wordSet
	expr  func() *regexp.Regexp
	is    func(value string) bool
}

// tellings are tried in turn: a value directly after the word; one after a verb, in the languages that package secret
// knows ("the password is x1", "Passwort lautet x1"); and numbers ("PIN 4821"). A secret after a verb contains a digit
// or a sign.
var tellings = []telling{
	{
		passWords,
		lazily(`(?i)^(?:password|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|senha|community string)\s{1,3}["'` + "`" +
			`(]?([^\s"'` + "`" + `(){}\[\]]{6,})`), isTold,
	},
	{
		passWords, lazily(`(?i)^(?:password|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|clave|senha|` +
			`pwd|secret|pass)` +
			`(?: \w+){0,2}?\s{1,3}(?:(?:is now|is|was|to|lautet|ist|war|est|es|é|=|as)\s{1,3})` +
			`["'` + "`" + `(]?([^\s"'` + "`" + `(){}\[\]]{4,})`),
		isTold,
	},
	{newWords("pin"), lazily(`^(?i:PIN)(?: code)?(?: is| was)?:?\s{1,2}(\d{4,8})\b`), func(string) bool { return true }},
	{
		newWords("one-time", "one time", "verification", "security", "login", "confirmation"),
		lazily(`(?i)^(?:one[ -]time|verification|security|login|confirmation)` +
			`[ -](?:code|password|pin)(?: is| was)?:?\s{1,2}(\d{4,8})\b`),
		func(string) bool { return true },
	},
	{
		newWords("user ", "login ", "logging in "),
		lazily(`(?i)^(?:user|login|logging in)(?: failed)?(?: as| for)? [A-Za-z_][\w.@\-]{0,63}:` +
			`([^\s:/"'` + "`" + `(){}\[\]]{4,})`), isTold,
	},
	{ // with a sign between them that paths have, too
		newWords("user ", "login ", "logging in "),
		lazily(`(?i)^(?:user|login|logging in)(?: failed)?(?: as| for)? [A-Za-z_][\w.@\-]{0,63}/` +
			`([^\s:/"'` + "`" + `(){}\[\]]{8,})`), isStrong,
	},
	{
		newWords("snmp"),
		lazily(`(?i)^snmp(?:-server)? community(?: string)?\s{1,3}["'` + "`" + `(]?([^\s"'` + "`" + `(){}\[\]]{4,})`), isTold,
	},
	{
		newWords("card", "karte", "kreditkarte", "carte", "tarjeta"),
		lazily(`(?i)^(?:card|karte|kreditkarte|carte|tarjeta)(?: \w+){0,2}?:?\s{1,2}(\d[\d \-]{11,22}\d)\b`), isCard,
	},
}

var passWords = newWords("pass", "kennwort", "mot de passe", "contraseña", "clave", "senha", "pwd", "secret", "community string")

var toldWords = func() *wordSet {
	var all []string
	for _, t := range tellings {
		all = append(all, t.words.list...)
	}
	return newWords(all...)
}()

// quotedWords announce secrets in quotes. "Unexpected token '<'" has none.
var quotedWords = newWords(append(joined("key", "api"), "password", "passwd", "passphrase", "secret")...)

// tokens finds credentials that are not named.
func tokens(s string) []span {
	found := formed(s)
	var next [len(announcers)]int // where each of them goes on
	announcing.each(s, func(at int, _ string) int {
		for i, a := range announcers {
			if at < next[i] {
				continue
			}
			word := a.words.at(s, at)
			if word == "" {
				continue
			}
			value, end := a.value(s, at)
			next[i] = max(end, at+len(word))
			if value.end > value.start {
				found = append(found, value)
			}
		}
		return at + 1
	})
	return found
}

// An announcer finds a secret after a word that announces it: value returns the secret, and where to go on; 0 is after the word.
type announcer struct {
	words *wordSet
	value func(s string, at int) (value span, end int)
}

var announcers = [...]announcer{{spokenWords, spokenAt}, {toldWords, toldAt}, {quotedWords, quotedAfter}, {ibanWords, ibanAt}}

var announcing = func() *wordSet {
	var all []string
	for _, a := range announcers {
		all = append(all, a.words.list...)
	}
	return newWords(all...)
}()

func spokenAt(s string, at int) (value span, end int) {
	const least = 8
	for _, word := range spokenPhrases.groups[spokenPhrases.byHead[headOf2(s[at:])]] {
		if !hasPrefixFold(s[at:], word) {
			continue
		}
		start, ok := afterVerb(s, at+len(word), spokenVerbs)
		start = skip(s, start, 1, opensValue)
		end := start + indexOfSet(s[start:min(len(s), max(start, at+window))], &endsSpoken)
		if !ok || end-start < least {
			continue
		}
		end = follow(s, at, end, isToken)
		if text := strings.TrimRight(s[start:end], "."); random(text) {
			value = span{start, start + len(text)}
		}
		return value, end
	}
	return span{}, 0
}

// endsSpoken are the bytes that no such credential has.
var endsSpoken = setThat(func(c byte) bool { return c == '%' || !isToken(c) })

var spokenVerbs, quotedVerbs = newWords("is", "was", "of", "for"), newWords("is", "was")

// afterVerb returns the position after the white space behind a word, which is ok, and after a verb and a blank.
func afterVerb(s string, at int, verbs *wordSet) (next int, ok bool) {
	const blanks = 3
	next = skip(s, at, blanks, isSpace)
	if verb := verbs.at(s, next); verb != "" && next > at && next+len(verb) < len(s) && isSpace(s[next+len(verb)]) {
		return next + len(verb) + 1, true
	}
	return next, next > at
}

func opensValue(c byte) bool { return isQuote(c) || c == '`' || c == '(' }

func toldAt(s string, at int) (value span, end int) {
	const some = 64 // bytes of a value that go on behind the window
	behind := skip(s, at, window, isLetter)
	end = skip(s, min(len(s), at+window), some, func(c byte) bool { return !isSpace(c) })
	ends := end == len(s) || isSpace(s[end])
	if behind < end && s[behind] == '=' || ends && indexOfSet(s[at:end], &ofTold) == end-at {
		return span{}, 0
	}
	for _, t := range tellings {
		if value, ok := t.value(s, at); ok {
			return value, value.end
		}
	}
	return span{}, 0
}

// value returns the secret that follows the word at a position.
func (t telling) value(s string, at int) (value span, ok bool) {
	if t.words.at(s, at) == "" {
		return span{}, false
	}
	match := matchAt(t.expr(), s, at)
	if match == nil {
		return span{}, false
	}
	end := follow(s, at, match[3], outside(" \t\r\n\f\v\"'`(){}[]"))
	text := strings.TrimRight(s[match[2]:end], ".,:;!?")
	return span{match[2], match[2] + len(text)}, t.is(text) && !isMark(text) && !isPlaceholder(text)
}

// iban matches a word for an account, the words after it, and the number: "the IBAN of the payee is DE…".
var iban = lazily(`(?i)^IBAN(?:[ -]\p{L}+\.?){0,4}?[\s:="'(]{1,3}(` + accountForm + `)\b`)

var ibanWords = newWords("iban")

func ibanAt(s string, at int) (value span, end int) {
	match := matchAt(iban(), s, at)
	if match == nil {
		return span{}, 0
	}
	text := accountIn(s[match[2]:match[3]])
	value = span{match[2], match[2] + len(text)}
	return value, value.end
}

func quotedAfter(s string, at int) (value span, end int) {
	const longest = 256
	start, ok := afterVerb(s, at+len(quotedWords.at(s, at)), quotedVerbs)
	if !ok || start == len(s) || !isQuote(s[start]) && s[start] != '`' {
		return span{}, 0
	}
	start++
	inside := s[start:min(len(s), start+longest+1)]
	n := strings.IndexAny(inside, s[start-1:start]+"\n")
	if n <= 0 || inside[n] == '\n' {
		return span{}, start
	}
	if !isMark(inside) {
		value = span{start, start + n}
	}
	return value, start + n + 1
}

// isTold reports whether a word after "the password is" is the password: it contains a digit or a sign, and is not a
// measure.
func isTold(s string) bool {
	letters, others := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c):
			letters++
		case ofTold[c]:
			others++
		}
	}
	return letters > 0 && others > 0 && !strings.Contains(s, "://")
}

// ofTold are the digits and signs of which a told secret has one.
var ofTold = setOf("0123456789!@#$%^&*+=~?_")

// isStrong is isTold for a value that may be part of a path: it has small letters, capitals and digits.
func isStrong(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s && !strings.Contains(s, ".")
}

// isNoName is isTold for a value that may be the name of something, as in token[user_name].
func isNoName(s string) bool { return isTold(strings.ReplaceAll(s, "_", "")) }

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
