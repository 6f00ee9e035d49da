// Package redact masks in the texts of failures what is nobody's business:
// credentials and connection strings, and in the strictest mode also stack
// traces, addresses of machines and paths of files.
//
// A mark says what stood there: [credential], [connection string],
// [stack trace], [address], [path]. The sentence around it stays, since it is
// what a model or a person acts on. What a caller wrote, or the operator said of
// the server, is no news to them: addresses and paths that occur there stay.
//
// Masking takes time in proportion to the text, of which at most 64 KiB are
// looked at and kept; and masking twice is masking once.
package redact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// Mode says what is masked toward clients.
type Mode string

// The modes.
const (
	Off     Mode = "off"     // nothing
	Secrets Mode = "secrets" // credentials and connection strings
	All     Mode = "all"     // those, and stack traces, addresses and paths
)

// ParseMode returns the mode of that name.
func ParseMode(name string) (Mode, error) {
	mode := Mode(name)
	if !slices.Contains([]Mode{Off, Secrets, All}, mode) {
		return "", fmt.Errorf("redact is %q: want off, secrets or all", name)
	}
	return mode, nil
}

// The marks.
const (
	markAddress    = "[address]"
	markConnection = "[connection string]"
	markCredential = "[credential]" //nolint:gosec // this is what stands in place of one
	markPath       = "[path]"
	markTrace      = "[stack trace]"
)

const (
	maxText = 64 << 10 // bytes of a text
	maxKept = 1 << 20  // bytes of what is kept, in total
	// maxAsked is for how many addresses and paths of one text it is looked up
	// whether they are kept; all others are masked.
	maxAsked = 200
	// maxRounds bounds how often a text is gone over: a mark may bring to light
	// what stood behind something that looked like one thing with it.
	maxRounds = 4
)

// Masker masks texts. It is immutable and safe for concurrent use.
type Masker struct {
	mode     Mode
	kept     []string
	literals func() []string // secrets that are known as they are spelled; nil: none
}

// New returns a Masker. In mode all, addresses and paths that occur in keep stay:
// pass the arguments of the call and what the configuration says of the server.
// Of a text that is a JSON object or array, its strings count.
func New(mode Mode, keep ...string) *Masker {
	m := &Masker{mode: mode}
	if mode != All {
		return m
	}
	left := maxKept
	for _, text := range keep {
		for _, s := range stringsIn(text) {
			if left -= len(s); left < 0 {
				return m
			}
			m.kept = append(m.kept, s)
		}
	}
	return m
}

// stringsIn returns the strings of a JSON object or array, or the text itself.
func stringsIn(text string) []string {
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || len(text) > maxKept {
		return []string{text}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var found []string
	for {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == '"' {
			found = append(found, token.String())
		}
	}
	return append(found, text)
}

// String returns s with what the mode hides replaced by marks. A text of more
// than 64 KiB is cut.
func (m *Masker) String(s string) string {
	if m.mode == Off {
		return s
	}
	s = m.hide(bound(s))
	if !suspicious(s) {
		return s
	}
	for range maxRounds {
		masked := m.once(s)
		if masked == s {
			break
		}
		s = masked
	}
	return s
}

// once masks in an order in which the greater thing goes before its parts.
func (m *Masker) once(s string) string {
	s = mask(s, markCredential, privateKeys(s))
	if m.mode == All {
		s = mask(s, markTrace, traces(s))
	}
	s = mask(s, markConnection, connections(s))
	s = mask(s, markCredential, named(s))
	s = mask(s, markCredential, tokens(s))
	if m.mode == All {
		asked := 0
		s = mask(s, markAddress, m.unknown(s, addresses(s), &asked))
		s = mask(s, markPath, m.unknown(s, paths(s), &asked))
	}
	return s
}

// Log returns s as it may stand in the log: credentials and connection strings
// are masked, all else stays.
func Log(s string) string { return (&Masker{mode: Secrets}).String(s) }

// span is a part of a text, from start up to end.
type span struct{ start, end int }

// mask replaces parts of s, which are in order, by mark. Parts that overlap
// become one.
func mask(s, mark string, parts []span) string {
	if len(parts) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for _, p := range parts {
		if p.start < done {
			done = max(done, p.end)
			continue
		}
		b.WriteString(s[done:p.start])
		b.WriteString(mark)
		done = p.end
	}
	b.WriteString(s[done:])
	return b.String()
}

// unknown returns the parts that do not occur in what is kept.
func (m *Masker) unknown(s string, parts []span, asked *int) []span {
	return slices.DeleteFunc(parts, func(p span) bool {
		if *asked >= maxAsked {
			return false
		}
		*asked++
		return slices.ContainsFunc(m.kept, func(k string) bool { return strings.Contains(k, s[p.start:p.end]) })
	})
}

// bound cuts a text that is too long, between two words where there are words, so
// that no half of a credential is left that looks like none.
func bound(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	if i := strings.LastIndexAny(s, " \t\r\n"); i >= 0 {
		s = s[:i]
	}
	return strings.ToValidUTF8(s, "") + " …"
}

// suspicious reports whether s holds anything that could be part of what is
// masked. Most sentences do not.
func suspicious(s string) bool {
	word, upper, digit := 0, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte(":=/\\@\"'`", c) >= 0:
			return true
		case c == '.' && i+1 < len(s) && isWord(s[i+1]):
			return true
		case !isWord(c) && c != '-':
			word, upper, digit = 0, false, false
			continue
		default:
			upper = upper || word > 0 && 'A' <= c && c <= 'Z'
			digit = digit || isDigit(c)
			word++
			if word >= 8 && (upper || digit) || word >= 32 {
				return true
			}
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' }
