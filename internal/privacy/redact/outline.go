package redact

import (
	"slices"
	"strings"
)

// An outline looks for lines of private keys, which may have no end, and of stack traces.
type outline struct {
	s            string
	keys, frames bool         // there may be some
	groups       []*[256]bool // what a line of a trace may begin with
	inKey        bool
}

func (m *Masker) outline(s string) outline {
	o := outline{s: s, keys: strings.Contains(s, "-----"), frames: m.mode == All && !m.inside, groups: []*[256]bool{&blanks}}
	if strings.Contains(s, groupTrace) {
		o.groups = append(o.groups, &groupBlanks)
	}
	return o
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
	if o.frames && o.isOfTrace(start, end) {
		holds |= aFrame
	}
	return holds, end
}

// isOfKey reports whether a line may be one of a private key: its first or last one, or a long word of base64.
func isOfKey(line string) bool {
	const least = 40
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-----") || len(line) >= least && skip(line, 0, least, isBase64) == least
}

// isOfTrace reports whether a line may be one that makes others a stack trace.
func (o *outline) isOfTrace(start, end int) bool {
	escaped := strings.Contains(o.s[start:end], `\n`)
	for _, group := range o.groups {
		if mayBeFrame(lineOf(o.s, start, end, group)) {
			return true
		}
		if escaped && slices.ContainsFunc(escapedLines(nil, o.s, start, end, group), mayBeFrame) {
			return true
		}
	}
	return hasInline(o.s, start, end)
}

func mayBeFrame(l textLine) bool {
	return frameRole(l) >= frame || isMarker(l.text) || l.deep() && isGoFile(l.text)
}
