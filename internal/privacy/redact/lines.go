package redact

import (
	"slices"
	"strings"
)

// holds says what a line may hold: a bit for each sort of thing that finders look for.
type holds uint32

const (
	unread      holds = 1 << iota // it has not been looked at
	aKey                          // a private key, or lines of one
	aFrame                        // of a stack trace
	aConnection                   // a connection string
	aName                         // a value with the name of a secret
	aMark                         // such a value in markup, or in a list
	aHead                         // the head of a table with secrets
	aCommand                      // a command with a secret
	aWriting                      // a secret that is written in another way
	anInsert                      // a statement of SQL
	aPerson                       // data about people
	aToken                        // a credential that is not named
	anAddress                     // of a machine
	aPath                         // of a file
	aSpelling                     // of characters
	anEncoding                    // of a text
	aHint                         // a name, or a word before something: it may go on in the next lines
	aFolding                      // a spelling that tells nothing, unless a hint is near
)

// A passage are lines in turn that may hold the same.
type passage struct {
	span

	holds holds
}

// A text knows of each of its lines what it may hold. Most hold nothing.
type text struct {
	s        string
	passages []passage
	all      holds       // of all passages
	nameless bool        // it is known that it does not mention a secret
	quiet    []quietPart // they need not be looked at
	isOver   func() bool // whether the time to look at it is over; nil: it is not limited
}

func textOf(s string) *text {
	t := &text{s: s}
	t.add(passage{span{0, len(s)}, unread})
	return t
}

// onlyNearMarks leaves out the lines that are not near a mark. In a text that has been masked, only a mark can have revealed anything.
func (t *text) onlyNearMarks() {
	t.passages, t.all, t.nameless, t.quiet = nil, 0, false, nil
	for at := range places(t.s, "[") {
		if reveals(t.s, at) {
			t.addLines(span{at, at + 1})
		}
	}
	t.widen(2*near + 1)
}

// widen adds so many lines around those that have not been looked at.
func (t *text) widen(around int) {
	parts := t.parts(unread, around)
	t.passages = nil
	for _, p := range parts {
		t.add(passage{p, unread})
	}
}

// addLines adds the lines of a part, which have not been looked at.
func (t *text) addLines(part span) {
	last := len(t.passages) - 1
	if last >= 0 && part.end < t.passages[last].end {
		return
	}
	start := strings.LastIndexByte(t.s[:part.start], '\n') + 1
	if last >= 0 {
		start = max(start, t.passages[last].start)
	}
	t.add(passage{span{start, min(endOfLine(t.s, part.end)+1, len(t.s))}, unread})
}

// reveals reports whether a mark at a position may have revealed something. One of an address or a path does not if it stands alone.
func reveals(s string, at int) bool {
	switch rest := s[at:]; {
	case strings.HasPrefix(rest, markAddress) && isApart(s, at, at+len(markAddress)),
		strings.HasPrefix(rest, markPath) && isApart(s, at, at+len(markPath)):
		return false
	default:
		return isMark(rest)
	}
}

// apart are what may stand beside a mark that stands alone.
var apart = setOf(" \t\r\n,;\"'()")

func isApart(line string, start, end int) bool {
	return (start == 0 || apart[line[start-1]]) && (end == len(line) || apart[line[end]])
}

// look asks of each line that has not been looked at what it may hold, and where that ends.
func (t *text) look(at func(start, end int) (holds holds, reach int)) {
	before := t.passages
	t.passages, t.all = nil, 0
	for _, p := range before {
		for start := p.start; p.holds&unread != 0 && start < p.end; {
			end := endOfLine(t.s, start)
			next := min(end+1, len(t.s))
			if holds, reach := at(start, end); holds != 0 {
				if reach > next { // it goes on below
					reach = min(endOfLine(t.s, reach)+1, len(t.s))
				}
				t.add(passage{span{start, max(next, reach)}, holds})
			}
			start = next
		}
	}
}

// add adds a passage after the others, or to the last one.
func (t *text) add(p passage) {
	t.all |= p.holds
	if last := len(t.passages) - 1; last >= 0 {
		if before := &t.passages[last]; p.start < before.end || p.start == before.end && p.holds == before.holds {
			before.end = max(before.end, p.end)
			before.holds |= p.holds
			return
		}
	}
	t.passages = append(t.passages, p)
}

// spellings returns the lines that may spell something, with those around them.
func (t *text) spellings() []span {
	if t.all&aFolding == 0 {
		return t.parts(aSpelling, near)
	}
	hints, before := t.parts(^aFolding, 2*near), t.passages
	t.passages = nil
	for _, p := range before {
		if p.holds&(aSpelling|aFolding) != aFolding {
			t.add(p)
			continue
		}
		for len(hints) > 0 && hints[0].end <= p.start {
			hints = hints[1:]
		}
		for i := 0; i < len(hints) && hints[i].start < p.end; i++ {
			t.add(passage{span{max(p.start, hints[i].start), min(p.end, hints[i].end)}, p.holds | aSpelling})
		}
	}
	return t.parts(aSpelling, near)
}

// parts returns the lines that may hold something of that sort, with so many around them.
func (t *text) parts(of holds, around int) []span {
	return t.partsUpTo(of, around, func(_ string, end int) int { return end })
}

// blocks returns these lines with all that follow and are indented, and those around.
func (t *text) blocks(of holds, around int) []span {
	return t.partsUpTo(of, around, func(s string, end int) int {
		for end < len(s) && isBlank(s[end]) {
			end = min(endOfLine(s, end)+1, len(s))
		}
		return end
	})
}

// paragraphs returns these lines with all that follow up to an empty line, and those around.
func (t *text) paragraphs(of holds, around int) []span {
	return t.partsUpTo(of, around, func(s string, end int) int {
		for end < len(s) {
			stop := endOfLine(s, end)
			if strings.TrimSpace(s[end:stop]) == "" {
				break
			}
			end = min(stop+1, len(s))
		}
		return end
	})
}

// partsUpTo returns these lines, with so many before them, what follows them, and so many after that.
func (t *text) partsUpTo(of holds, around int, follow func(s string, end int) int) []span {
	if t.all&of == 0 {
		return nil
	}
	var found []span
	end := 0 // of the last passage
	for _, p := range t.passages {
		if p.holds&of == 0 {
			continue
		}
		last, least := len(found)-1, 0
		switch {
		case last < 0:
		case p.start > end:
			up := t.s[:p.start]
			least = after(up, follow(up, end), around)
			found[last].end = least
		default:
			end = p.end
			continue
		}
		if start := before(t.s, p.start, around, least); last < 0 || start > least {
			found = append(found, span{start, p.end})
		}
		end = p.end
	}
	if last := len(found) - 1; last >= 0 {
		found[last].end = after(t.s, follow(t.s, end), around)
	}
	return found
}

// before returns where the line begins that is n lines before the one that begins at start, or about least if that is after it.
func before(s string, start, n, least int) int {
	for ; n > 0 && start > least; n-- {
		start = strings.LastIndexByte(s[least:start-1], '\n') + 1 + least
	}
	return start
}

// after returns where the line ends that is n lines after the one that ends at a position.
func after(s string, end, n int) int {
	for ; n > 0 && end < len(s); n-- {
		end = min(endOfLine(s, end)+1, len(s))
	}
	return end
}

// A masked part of a text is replaced by a mark.
type masked struct {
	span

	mark string
}

// mask replaces parts of the text by a mark.
func (t *text) mask(mark string, parts []span) {
	if len(parts) == 0 {
		return
	}
	found := make([]masked, len(parts))
	for i, p := range parts {
		found[i] = masked{p, mark}
	}
	t.replace(found)
}

// replace replaces parts of the text by their marks. Parts that overlap become one.
func (t *text) replace(parts []masked) {
	parts = disjoint(parts)
	if len(parts) == 0 {
		return
	}
	passages, places := t.passages, placer{parts: parts}
	t.passages, t.quiet = nil, nil
	for _, p := range passages {
		t.add(passage{span{places.of(p.start, false), places.of(p.end, true)}, p.holds})
	}
	var b strings.Builder
	b.Grow(len(t.s))
	done := 0
	for _, p := range parts {
		b.WriteString(t.s[done:p.start])
		b.WriteString(p.mark)
		done = p.end
	}
	b.WriteString(t.s[done:])
	t.s = b.String()
}

// disjoint returns the parts in order, without those that are empty. Of parts that overlap, the mark of the first counts.
func disjoint(parts []masked) []masked {
	inOrder := func(x, y masked) int { return x.start - y.start }
	if !slices.IsSortedFunc(parts, inOrder) {
		slices.SortStableFunc(parts, inOrder)
	}
	found := parts[:0]
	for _, p := range parts {
		last := len(found) - 1
		switch {
		case p.end <= p.start:
		case last >= 0 && p.start < found[last].end:
			found[last].end = max(found[last].end, p.end)
		default:
			found = append(found, p)
		}
	}
	return found
}

// A placer tells where places are once parts have been replaced. It is asked for one after the other.
type placer struct {
	parts []masked
	shift int
}

// of returns the place of a beginning, or of an end. Those within a part move to its mark's.
func (p *placer) of(at int, end bool) int {
	for len(p.parts) > 0 && p.parts[0].end <= at {
		p.shift += len(p.parts[0].mark) - (p.parts[0].end - p.parts[0].start)
		p.parts = p.parts[1:]
	}
	switch {
	case len(p.parts) == 0 || at <= p.parts[0].start:
		return at + p.shift
	case end:
		return p.parts[0].start + p.shift + len(p.parts[0].mark)
	default:
		return p.parts[0].start + p.shift
	}
}

// endOfLine returns where the line ends that has a position, without the line feed.
func endOfLine(s string, at int) int {
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(s)
}
