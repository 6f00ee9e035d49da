package redact

import (
	"slices"
	"strings"
)

// across masks secrets that are spread over several texts of one array, read as successive lines and as one word.
func (m *Masker) across(texts []string, group []int) {
	const most = 64
	if len(group) < 2 || m.literals == nil && !slices.ContainsFunc(group, func(i int) bool { return !isWordOf(texts[i]) }) {
		return
	}
	for _, between := range []string{"\n", " ", ""} {
		for first := 0; first+1 < len(group); first += most - 1 {
			m.join(texts, group[first:min(len(group), first+most)], between)
		}
	}
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

// join masks secrets that cross the end of a text.
func (m *Masker) join(texts []string, group []int, between string) {
	const near = 1 << 10 // bytes at each end that are examined
	b := m.budget
	if b == nil {
		b = &budget{}
	}
	began := b.begin()
	defer b.spend(began)
	for n := 0; n+1 < len(group); n++ {
		if b.isOver(began) { // then none of these texts is shown
			return
		}
		left, right := &texts[group[n]], &texts[group[n+1]]
		if *left == "" || *right == "" || m.literals == nil && isWordOf(*left) && isWordOf(*right) {
			continue
		}
		seam := seam{tail: (*left)[max(0, len(*left)-near):], between: between, head: (*right)[:min(len(*right), near)]}
		if between == "" { // as one word: only secrets that both are parts of
			seam.tail, seam.head = lastWord(seam.tail), firstWord(seam.head)
		}
		over, ok := m.over(seam)
		if !ok {
			continue
		}
		if over.start < len(seam.tail) {
			*left = (*left)[:len(*left)-len(seam.tail)+over.start] + markCredential
		}
		from, to := seam.inHead(over.start), seam.inHead(over.end)
		*right = (*right)[:from] + markCredential + (*right)[to:]
	}
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
func (m *Masker) over(s seam) (found span, ok bool) {
	// Here a value would end or begin.
	joined, begins := s.tail+s.between+s.head, len(s.tail)+len(s.between)
	if !m.hasLiteral(joined) && !suspicious(joined) {
		return span{}, false
	}
	m = m.within()
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
	end := 0
	for end < len(s) && isToken(s[end]) {
		end++
	}
	return s[:end]
}
