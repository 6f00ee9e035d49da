// Package visible deals with characters that nobody sees or that change how a text looks: terminals' escape sequences,
// controls, direction marks, and characters without a width. They can hide words from people and from programs that
// search for words.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// hidden are the invisible characters outside the category Cf (format): fillers and selectors, which Unicode lists as
// Default_Ignorable_Code_Point.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180b, 0x180f, 1},
		{0x2028, 0x2029, 1},
		{0x3164, 0x3164, 1},
		{0xfe00, 0xfe0f, 1},
		{0xffa0, 0xffa0, 1},
		{0xfff0, 0xfff8, 1},
	},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
}

// hides has a bit for each invisible character of the Basic Multilingual Plane: looking them up in tables of ranges takes longer than all
// else that is done with a character.
var hides = sync.OnceValue(func() *[1 << 16 / 64]uint64 {
	set := new([1 << 16 / 64]uint64)
	set[1], set[2] = 1<<63, 1<<32-1 // DEL and the controls after it
	for _, table := range []*unicode.RangeTable{unicode.Cf, hidden} {
		for _, r := range table.R16 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				set[c/64] |= 1 << (c % 64)
			}
		}
	}
	return set
})

// Hides reports whether r is invisible, or changes how other characters look. Tab, line feed and carriage return do not
// count.
func Hides(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return false
	case r < 0x20 || r == 0x7f:
		return true
	case r < 0x80:
		return false
	case r < 1<<16:
		return hides()[r/64]&(1<<(r%64)) != 0
	default:
		return unicode.Is(unicode.Cf, r) || unicode.Is(hidden, r)
	}
}

// isPlain reports whether s contains only visible ASCII and white space.
func isPlain(s string) bool { return plainEnd(s, 0) == len(s) }

// plainEnd returns where the visible ASCII and white space end that begin at a position. It looks at eight bytes at once.
func plainEnd(s string, at int) int {
	const size, each, high = 8, 0x0101010101010101, 0x8080808080808080
	for ; at < len(s); at++ {
		for at+size <= len(s) {
			b := s[at : at+size]
			word := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
				uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
			if (word|(word+each)|(word-' '*each))&high != 0 { // one may be less than a blank, or more than a tilde
				break
			}
			at += size
		}
		if at == len(s) {
			break
		}
		if c := s[at]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f {
			break
		}
	}
	return at
}

// hasHidden reports whether valid UTF-8 has an invisible character.
func hasHidden(s string) bool {
	sizes := shown()
	for at := plainEnd(s, 0); at < len(s); {
		switch size := int(sizes[s[at]]); {
		case size > 0:
			at += size
		case s[at] < utf8.RuneSelf:
			if at = plainEnd(s, at); at < len(s) && s[at] < utf8.RuneSelf {
				return true
			}
		default:
			r, size := utf8.DecodeRuneInString(s[at:])
			if Hides(r) {
				return true
			}
			at += size
		}
	}
	return false
}

// shown has the sizes of the characters that begin with a byte with which no invisible one begins.
var shown = sync.OnceValue(func() (sizes [256]uint8) {
	for r := rune(utf8.RuneSelf); r < 1<<16; r++ {
		if utf8.ValidRune(r) {
			sizes[string(r)[0]] = uint8(utf8.RuneLen(r))
		}
	}
	for r := rune(utf8.RuneSelf); r < 1<<16; r++ {
		if Hides(r) {
			sizes[string(r)[0]] = 0
		}
	}
	return sizes
})

// Strip returns s without terminals' escape sequences (ECMA-48), other controls and invisible characters. Separators of
// lines and paragraphs become line feeds. Joiners between two characters beyond ASCII stay, since emoji and some
// scripts need them. Bytes that are not UTF-8 become U+FFFD.
func Strip(s string) string {
	if isPlain(s) {
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if !hasHidden(s) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b || r == 0x9b:
			i += sequence(s[i:])
			continue
		case r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case !Hides(r) || joins(r) && before >= utf8.RuneSelf && nextIsWide(s[i+size:], r):
			b.WriteRune(r)
			before = r
		}
		i += size
	}
	return b.String()
}

// joins reports whether r is a joiner or a variation selector.
func joins(r rune) bool { return r == 0x200c || r == 0x200d || r == 0xfe0f || r == 0xfe0e }

// nextIsWide reports whether a joiner is followed by a visible character beyond ASCII. A selector needs none.
func nextIsWide(rest string, joiner rune) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return joiner == 0xfe0f || joiner == 0xfe0e || next >= utf8.RuneSelf && next != utf8.RuneError && !Hides(next) && !isFolded(next)
}

// isFolded reports whether r is the full-width form of an ASCII character.
func isFolded(r rune) bool { return r >= 0xff01 && r <= 0xff5e }

// sequence returns the length of the escape sequence at the beginning of s: CSI with its parameters, OSC and its like
// with their text, or two characters.
func sequence(s string) int {
	const longest = 4096
	s = s[:min(len(s), longest)]
	r, size := utf8.DecodeRuneInString(s)
	at := size
	if r == 0x1b {
		if at == len(s) {
			return at
		}
		kind := s[at]
		at++
		switch kind {
		case '[':
		case ']', 'P', '^', '_', 'X':
			for i := at; i < len(s); i++ {
				if s[i] == 0x07 {
					return i + 1
				}
				if s[i] == 0x1b {
					return min(i+2, len(s))
				}
				if s[i] == '\n' { // it has no end: its text is shown
					break
				}
			}
			return at
		default:
			if kind < 0x20 || kind >= 0x7f {
				return 1
			}
			return at
		}
	}
	for at < len(s) && s[at] >= 0x20 && s[at] <= 0x3f {
		at++
	}
	if at < len(s) && s[at] >= 0x40 && s[at] <= 0x7e {
		at++
	}
	return at
}

// Escape returns s with hidden characters as visible escapes, such as \u{202e}, so that a terminal or a log shows them
// and they have no effect. Carriage returns that do not end a line are escaped, too.
func Escape(s string) string {
	if isPlain(s) && !strings.Contains(s, "\r") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && !strings.HasPrefix(s[i+1:], "\n"):
			b.WriteString(`\r`)
		case Hides(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Hides(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// EscapeJSON returns JSON with hidden characters as escapes, such as \u009b. Its value is the same.
func EscapeJSON(raw []byte) []byte {
	if isPlain(string(raw)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if !Hides(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		units := []uint16{uint16(r)}
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			units = []uint16{uint16(high), uint16(low)}
		}
		for _, unit := range units {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// maxLine is how much of a line is held back until it is complete.
const maxLine = 64 << 10

// Lines returns a writer that passes whole lines on to w, as change returns them. A last line without a line feed is
// passed on by Close, and a line of more than 64 KiB in pieces. It is safe for concurrent use.
func Lines(w io.Writer, change func(line string) string) io.WriteCloser {
	return &lines{to: w, change: change}
}

type lines struct {
	to     io.Writer
	change func(string) string

	mu   sync.Mutex
	line []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = append(l.line, p...)
	for {
		end := bytes.IndexByte(l.line, '\n') + 1
		if end == 0 && len(l.line) < maxLine {
			return len(p), nil
		}
		if end == 0 {
			end = len(l.line)
		}
		line := string(l.line[:end])
		l.line = append(l.line[:0], l.line[end:]...)
		if err := l.put(line); err != nil {
			return len(p), err
		}
	}
}

func (l *lines) put(line string) error {
	text, feed := strings.CutSuffix(line, "\n")
	text = l.change(text)
	if feed {
		text += "\n"
	}
	_, err := io.WriteString(l.to, text)
	return err
}

// Close passes on what is left.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.line) == 0 {
		return nil
	}
	line := string(l.line)
	l.line = nil
	return l.put(line)
}
