package redact

import (
	"slices"
	"strings"
)

// An outline looks for lines of private keys, which may have no end, and of stack traces.
type outline struct {
	s            string
	keys, frames bool         // there may be some
	zig          bool         // those of Zig, too
	groups       []*[256]bool // what a line of a trace may begin with
	escapes      bool         // there are backslashes
	inlines      []inlineForm // those of which there may be some
	inKey        bool
	below        int // how many lines of a trace are expected
}

// belowFrame is how many lines after one of a trace are expected to be of it, too, and not looked at here.
const belowFrame = 4

func (m *Masker) outline(s string) outline {
	o := outline{
		s: s, keys: containsBy(s, "PRIVATE KEY", 'K'), frames: m.mode == All && !m.inside, zig: containsBy(s, zigAddress, 'x'),
		groups: beginnings[:1],
	}
	if !o.frames {
		return o
	}
	if containsBy(s, groupTrace, 'G') {
		o.groups = beginnings[:]
	}
	o.escapes = strings.IndexByte(s, '\\') >= 0
	if o.inlines = inlines[:1]; containsBy(s, inlines[1].begin, '#') || containsBy(s, inlines[2].begin, 'F') {
		o.inlines = inlines[:]
	}
	return o
}

var beginnings = [...]*[256]bool{&blanks, &groupBlanks}

// containsBy reports whether s contains a text, by one of its bytes that is rare: it is faster to search for.
func containsBy(s, text string, rare byte) bool {
	before := strings.IndexByte(text, rare)
	for at := range places(s, text[before:before+1]) {
		if at >= before && strings.HasPrefix(s[at-before:], text) {
			return true
		}
	}
	return false
}

// line returns what the line from start to end may hold. It has yet to be looked at for everything else.
func (o *outline) line(start, end int) (holds holds, reach int) {
	holds = unread
	if o.keys {
		line := o.s[start:end]
		o.inKey = o.inKey || strings.Contains(line, "-----BEGIN ")
		if o.inKey || isOfKey(line) {
			holds |= aKey
		}
		_, end, ends := strings.Cut(line, "-----END ")
		o.inKey = o.inKey && (!ends || !strings.Contains(end, "-----"))
	}
	if o.frames && (o.below > 0 || o.isOfTrace(start, end)) {
		holds |= aFrame
		if o.below--; o.below < 0 {
			o.below = belowFrame
		}
	}
	return holds, end
}

// holdsNothing reports whether the text, which is one line, is not of a key, nor of a stack trace.
func (o *outline) holdsNothing() bool {
	holds, _ := o.line(0, len(o.s))
	return holds == unread
}

// ofFrames are bytes of which each line of a key or a stack trace has one.
var ofFrames = setOf(" \t@^~[\\")

// isOfKey reports whether a line may be one of a private key: its first or last one, or a long word of base64.
func isOfKey(line string) bool {
	const least = 40
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-----") || len(line) >= least && skip(line, 0, least, isBase64) == least
}

// isOfTrace reports whether a line may be one that makes others a stack trace.
func (o *outline) isOfTrace(start, end int) bool {
	escaped := o.escapes && strings.Contains(o.s[start:end], `\n`)
	indent := -1
	for _, group := range o.groups {
		l := lineOf(o.s, start, end, group)
		if !escaped && l.indent == indent { // it is the same line
			break
		}
		indent = l.indent
		if o.mayBeFrame(l) {
			return true
		}
		if escaped && slices.ContainsFunc(escapedLines(nil, o.s, start, end, group), o.mayBeFrame) {
			return true
		}
	}
	return hasInline(o.inlines, o.s, start, end)
}

func (o *outline) mayBeFrame(l textLine) bool {
	return frameRole(l) >= frame || o.zig && isZigFrame(l.text) || isMarker(l.text) || l.deep() && isGoFile(l.text)
}
