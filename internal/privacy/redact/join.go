package redact

import (
	"slices"
	"strings"
)

// How many bytes on each side of a seam are examined, and how many for a word that goes on behind it.
const (
	nearSeam = 1 << 10
	atSeam   = 1 << 7
)

// across masks secrets that are spread over several texts of one array, read as successive lines and as one word.
func (m *Masker) across(texts []string, group []int) {
	if len(group) < 2 || m.literals == nil && !slices.ContainsFunc(group, func(i int) bool { return !isWordOf(texts[i]) }) {
		return
	}
	b := m.budget
	if b == nil {
		b = &budget{}
	}
	began := b.begin()
	defer b.spend(began)
	m = &Masker{mode: Secrets, literals: m.literals, inside: true}
	tells := m.seams(texts, group, func() bool { return b.isOver(began) })
	for _, between := range []string{"\n", " ", ""} {
		for n := 1; n < len(group) && !b.isOver(began); n++ { // if it is over, none of these texts is shown
			left, right := &texts[group[n-1]], &texts[group[n]]
			if *left == "" || *right == "" || m.literals == nil && isWordOf(*left) && isWordOf(*right) {
				continue
			}
			if m.join(left, right, between, tells[n]) {
				tells[n-1], tells[min(n+1, len(group)-1)] = true, true
			}
		}
	}
}

// seams returns whether there may be a secret where each of the texts begins: there is something on either side, or across it.
func (m *Masker) seams(texts []string, group []int, isOver func() bool) []bool {
	tells, before := make([]bool, len(group)), false
	for n := 0; n < len(group) && !isOver(); n++ {
		text := texts[group[n]]
		told := m.tells(firstOf(text, nearSeam)) || len(text) > nearSeam && m.tells(lastOf(text, nearSeam))
		tells[n] = told || before || n > 0 && m.tells(lastOf(texts[group[n-1]], atSeam)+" "+firstOf(text, atSeam))
		before = told
	}
	return tells
}

// Joined returns successive texts, such as the blocks of an answer, without the credentials that are spread over
// several of them; those within one text stay.
func Joined(texts []string) []string {
	masked := slices.Clone(texts)
	group := make([]int, len(texts))
	for i := range group {
		group[i] = i
	}
	(&Masker{mode: Secrets}).across(masked, group)
	return masked
}

// join masks a secret that crosses the end of a text.
func (m *Masker) join(left, right *string, between string, tells bool) (masked bool) {
	seam := seam{tail: lastOf(*left, nearSeam), between: between, head: firstOf(*right, nearSeam)}
	if between == "" { // as one word: only secrets that both are parts of
		seam.tail, seam.head = lastWord(seam.tail), firstWord(seam.head)
	}
	over, ok := m.over(seam, tells || between == "")
	if !ok {
		return false
	}
	if over.start < len(seam.tail) {
		*left = (*left)[:len(*left)-len(seam.tail)+over.start] + markCredential
	}
	from, to := seam.inHead(over.start), seam.inHead(over.end)
	*right = (*right)[:from] + markCredential + (*right)[to:]
	return true
}

func firstOf(s string, n int) string { return s[:min(len(s), n)] }

func lastOf(s string, n int) string { return s[max(0, len(s)-n):] }

// tells reports whether there may be a part of a secret or of its name in a text.
func (m *Masker) tells(s string) bool {
	d := m.detail(s)
	for start := 0; start < len(s); {
		end := endOfLine(s, start)
		holds, _ := d.line(start, end)
		if holds&^(aSpelling|aFolding|aHint) != 0 || d.mention >= 0 || d.begun || d.spoken {
			return true
		}
		start = end + 1
	}
	return strings.Contains(s, "-----")
}

// A seam is where one text ends and the next begins.
type seam struct{ tail, between, head string }

// inHead converts a position in the joined text to one in the head.
func (s seam) inHead(at int) int { return min(max(0, at-len(s.tail)-len(s.between)), len(s.head)) }

// isWordOf reports whether a text is a short word, which no other makes part of a secret.
func isWordOf(text string) bool {
	const longest = 15
	for i := range len(text) {
		if c := text[i]; c < 'a' || c > 'z' {
			return false
		}
	}
	return len(text) <= longest && !strings.HasSuffix(text, "pin")
}

// over returns the position in the joined text of the first secret that crosses the seam, or whose name does.
func (m *Masker) over(s seam, tells bool) (found span, ok bool) {
	// Here a value would end or begin.
	joined, begins := s.tail+s.between+s.head, len(s.tail)+len(s.between)
	if !m.hasLiteral(joined) && (!tells || !suspicious(joined)) {
		return span{}, false
	}
	t := textOf(joined)
	m.each(t, func(f *finder) bool {
		if f.mark != markCredential && f.mark != markConnection {
			return true
		}
		for _, p := range f.find(m, t, nil) {
			// The name of a value that begins after the end of the first text is in that text.
			named := p.start >= len(s.tail) && p.start <= begins+4 && !m.alone(f, s.head, p.start-begins)
			from, to := s.inHead(p.start), s.inHead(p.end)
			if p.end > begins && (p.start < len(s.tail) || named) && to > from && !isMark(s.head[from:]) {
				found, ok = p, true
				return false
			}
		}
		return true
	})
	return found, ok
}

// alone reports whether a finder finds something at start in s alone.
func (m *Masker) alone(f *finder, s string, start int) (found bool) {
	t := textOf(s)
	m.each(t, func(other *finder) bool {
		if other == f {
			found = slices.ContainsFunc(f.find(m, t, nil), func(p span) bool { return p.start == start })
		}
		return other != f
	})
	return found
}

func lastWord(s string) string {
	start := len(s)
	for start > 0 && isToken(s[start-1]) {
		start--
	}
	return s[start:]
}

func firstWord(s string) string {
	return s[:skip(s, 0, len(s), isToken)]
}
