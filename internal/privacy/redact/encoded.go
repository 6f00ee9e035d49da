package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const (
	// minEncoded is the length of the shortest word that is decoded as base64 or hexadecimal: shorter ones cannot
	// contain a secret and its name.
	minEncoded = 12
	// maxLayers is how many nested encodings are undone.
	maxLayers = 3
)

// encoded finds words in base64 (RFC 4648, also over several lines) and in hexadecimal that encode texts with secrets.
func (m *Masker) encoded(s string, layer int) []span {
	if layer >= maxLayers {
		return nil
	}
	var found []span
	for i := 0; i < len(s); {
		if !isBase64(s[i]) {
			i++
			continue
		}
		end := padded(s, skip(s, i, len(s), isBase64))
		start := i
		end, i = m.wrapped(s, start, end), end
		if end > i {
			i = end
		}
		if end-start >= minEncoded && m.hidesSecret(s[start:end], layer) {
			found = append(found, span{start, end})
		}
	}
	return found
}

// padded returns the end of a word of base64 with the padding after it.
func padded(s string, end int) int {
	const most = 2
	return skip(s, end, most, func(c byte) bool { return c == '=' })
}

// wrapped extends a long word to the following lines that continue it.
func (m *Masker) wrapped(s string, start, end int) int {
	const line = 60 // the shortest lines that encoders write
	for end-start >= line {
		next := skip(s, end, len(s), isSpace)
		if next == end || !strings.Contains(s[end:next], "\n") {
			return end
		}
		stop := skip(s, next, len(s), func(c byte) bool { return isBase64(c) || c == '=' })
		if stop < len(s) && s[stop] != '\n' && s[stop] != '\r' || stop-next < 4 {
			return end
		}
		start, end = next, stop
	}
	return end
}

// hidesSecret reports whether a word encodes a text in which something is masked.
func (m *Masker) hidesSecret(word string, layer int) bool {
	if strings.ContainsAny(word, "\r\n") {
		word = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
				return -1
			}
			return r
		}, word)
	}
	for _, text := range decodings(word) {
		if isText(text) && m.secretIn(text, layer+1) {
			return true
		}
	}
	return false
}

// decodings returns a word decoded as hexadecimal and as base64.
func decodings(word string) []string {
	var texts []string
	if isHexByte(word[0]) && isHexByte(word[len(word)-1]) {
		if raw, err := hex.DecodeString(word); err == nil {
			texts = append(texts, string(raw))
		}
	}
	plain := strings.TrimRight(word, "=")
	if len(plain)%4 == 1 {
		plain = plain[:len(plain)-1]
	}
	if !beginsText(plain) {
		return texts
	}
	if raw, err := base64Of(plain).DecodeString(plain); err == nil {
		texts = append(texts, string(raw))
	}
	return texts
}

func isHexByte(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// mayEncode is a fast test of whether a word encodes a text: that it begins with hexadecimal digits, or with a text in base64.
func mayEncode(word string) bool {
	const digits = 12
	return skip(word, 0, digits, isHexByte) == digits || beginsText(word)
}

// beginsText reports whether the first bytes of a word in base64 are none that texts do not have.
func beginsText(word string) bool {
	const encoded, decoded = 8, 6
	if len(word) < encoded {
		return false
	}
	var to [decoded]byte
	for i := range to {
		at := i * 4 / 3 // where its bits begin
		first, second := bits64[word[at]], bits64[word[at+1]]
		to[i] = first<<(2+2*(i%3)) | second>>(4-2*(i%3))
		if first|second > 1<<6 {
			return false
		}
	}
	for raw := to[:]; utf8.FullRune(raw); {
		r, size := utf8.DecodeRune(raw)
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r == utf8.RuneError && size == 1 {
			return false
		}
		raw = raw[size:]
	}
	return true
}

// bits64 are the six bits that a character of base64 stands for, in either alphabet; 255 for all others.
var bits64 = func() (set [256]byte) {
	for c := range set {
		set[c] = 255
	}
	for i := range len(digits64) {
		set[digits64[i]] = byte(i)
	}
	set['-'], set['_'] = set['+'], set['/']
	return set
}()

const digits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64Of returns the alphabet of a word.
func base64Of(word string) *base64.Encoding {
	if strings.IndexByte(word, '-') >= 0 || strings.IndexByte(word, '_') >= 0 {
		return base64.RawURLEncoding
	}
	return base64.RawStdEncoding
}

// isText reports whether raw is a text as people or programs write it.
func isText(raw string) bool {
	if len(raw) < minEncoded/2 || !utf8.ValidString(raw) {
		return false
	}
	for i := range len(raw) {
		if c := raw[i]; c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func isBase64(c byte) bool {
	return isDigit(c) || isLetter(c) || c == '+' || c == '/' || c == '-' || c == '_'
}
