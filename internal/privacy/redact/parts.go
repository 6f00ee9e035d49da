package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// Most lines of a long text hold nothing that a finder looks for. Only the others are examined, together with the lines around them: in
// the first round those that may be part of something, and then those with a mark, since only a mark can have revealed anything.
const (
	// long is the length of a text that is examined in parts.
	long = 16 << 10
	// around is how many lines around a line are examined with it. It is more than a trace or a value has in between.
	around = 12
)

// settled masks s until nothing changes.
func (m *Masker) settled(s string, layer int, b *budget) string {
	for round := range maxRounds {
		parts := []span{{0, len(s)}}
		switch {
		case len(s) < long:
		case round == 0:
			parts = partsOfText(s, m.suspects)
		default:
			parts = partsOfText(s, hasMark)
		}
		var out strings.Builder
		done := 0
		for _, p := range parts {
			part := s[p.start:p.end]
			if masked := m.once(part, layer, b); masked != part {
				out.WriteString(s[done:p.start])
				out.WriteString(masked)
				done = p.end
			}
		}
		if done == 0 {
			return s
		}
		out.WriteString(s[done:])
		s = out.String()
	}
	return s
}

// partsOfText returns the lines that are wanted, and those around them. If a line is wanted with all that follows it, up to an
// empty line, that is added, too.
func partsOfText(s string, wanted func(line string) (is, following bool)) []span {
	var found []span
	var before [around]int // where the last lines begin
	for n := range before {
		before[n] = -1
	}
	left, paragraph := 0, false // lines that are still examined
	for start, n := 0, 0; start < len(s); n++ {
		end := start + indexOr(s[start:], "\n")
		line := s[start:end]
		next := min(end+1, len(s))
		is, following := wanted(line)
		paragraph = following || paragraph && strings.TrimSpace(line) != ""
		if is || following {
			left = around + 1
		}
		if left > 0 || paragraph {
			first := start
			if is || following {
				first = max(0, before[n%around])
				if n < around {
					first = 0
				}
			}
			if last := len(found) - 1; last >= 0 && first <= found[last].end {
				found[last].end = next
			} else {
				found = append(found, span{first, next})
			}
			left--
		}
		before[n%around] = start
		start = next
	}
	return found
}

// nearNames returns the parts of a text that mention a secret: of a long one, the lines that do and those around them.
func nearNames(s string) []span {
	switch {
	case len(s) >= long:
		return partsOfText(s, mentions)
	case secret.Mentions(s):
		return []span{{0, len(s)}}
	default:
		return nil
	}
}

// mentions reports whether a line mentions a secret. The lines below may be a table of them.
func mentions(line string) (is, following bool) {
	is = secret.Mentions(line)
	return is, is
}

// suspects reports whether a line may hold a part of something that is masked, and whether it has a word for a secret: then the lines below
// may be a table.
func (m *Masker) suspects(line string) (is, following bool) {
	following = secret.Mentions(line)
	return following || strings.IndexByte(line, '\t') >= 0 || m.suspicious(line), following
}

// hasMark reports whether a line has a mark.
func hasMark(line string) (is, following bool) {
	for at := 0; ; at++ {
		i := strings.IndexByte(line[at:], '[')
		if i < 0 {
			return false, false
		}
		if at += i; isMark(line[at:]) {
			return true, false
		}
	}
}
