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
		end := i
		for end < len(s) && isBase64(s[end]) {
			end++
		}
		for pad := 0; end < len(s) && s[end] == '=' && pad < 2; pad++ {
			end++
		}
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

// wrapped extends a long word to the following lines that continue it.
func (m *Masker) wrapped(s string, start, end int) int {
	const line = 60 // the shortest lines that encoders write
	for end-start >= line {
		next := end
		for next < len(s) && (s[next] == '\r' || s[next] == '\n' || s[next] == ' ' || s[next] == '\t') {
			next++
		}
		if next == end || !strings.Contains(s[end:next], "\n") {
			return end
		}
		stop := next
		for stop < len(s) && (isBase64(s[stop]) || s[stop] == '=') {
			stop++
		}
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
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(plain, "-_") {
		encoding = base64.RawURLEncoding
	}
	if !beginsText(encoding, plain) {
		return texts
	}
	if raw, err := encoding.DecodeString(plain); err == nil {
		texts = append(texts, string(raw))
	}
	return texts
}

func isHexByte(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// beginsText is a fast test of whether a word in base64 may encode a text: that its first bytes are none that texts do not have.
func beginsText(encoding *base64.Encoding, word string) bool {
	const encoded, decoded = 8, 6
	if len(word) < encoded {
		return false
	}
	var from [encoded]byte
	var to [decoded]byte
	copy(from[:], word)
	if n, err := encoding.Decode(to[:], from[:]); err != nil || n < decoded {
		return false
	}
	for _, c := range to {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return to[0] < utf8.RuneSelf || utf8.RuneStart(to[0])
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
