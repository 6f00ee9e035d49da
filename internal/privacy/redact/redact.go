// Package redact masks what is nobody's business in the texts of failures: credentials and connection strings and, in
// the strictest mode, also stack traces, addresses of machines and paths of files.
//
// A mark says what was there: [credential], [connection string], [stack trace], [address], [path], [personal data]. The
// sentence around it stays, since a model or a person acts on it. Addresses and paths that the caller wrote, or that
// the operator configured for the server, are known to them and stay.
//
// Secrets are recognised by their names and by their forms, which forms.txt lists. Those of the configuration and of
// the call are also searched for literally, plain or in the encodings that programs use. Invisible characters are
// removed first, so that nothing can hide behind them; where nothing did, those that the caller wrote come back.
//
//	a text
//	  |  visible.Strip     invisible characters go
//	  |  suspicious        is there anything in it that a finder could look for? Usually not, and it is unchanged
//	  |  outline, detail   look at each line: what may it hold? Most hold nothing
//	  |  each finder       looks in the lines that may hold something for it; also in what the text spells (view.go),
//	  |                    and, if it is JSON, in each of its strings
//	  v
//	the text with marks, searched near them until nothing changes
//
// Masking takes time in proportion to the text. The amount of one answer that is examined is limited, and so is the time; what is not
// examined is not shown. Masking twice is the same as masking once.
package redact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
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
	markPersonal   = "[personal data]"
	markAddress    = "[address]"
	markConnection = "[connection string]"
	markCredential = "[credential]"
	markPath       = "[path]"
	markTrace      = "[stack trace]"
)

const (
	maxKept = 1 << 20 // bytes of all kept texts
	// maxRounds limits how often a text is masked: a mark may reveal the beginning of something that looked like a part
	// of what it replaces.
	maxRounds = 4
)

// Masker masks texts. It is safe for concurrent use.
type Masker struct {
	mode     Mode
	kept     []string         // what the caller wrote, and the operator
	literals func() *literals // known secrets; nil: none
	budget   *budget          // of an answer; nil: each text has its own

	personal  bool     // personal data is masked, too
	people    []string // what the call's arguments say about people
	addresses bool     // every address is masked, whoever wrote it
	spoken    bool     // it masks a message of the protocol
	inside    bool     // it masks what a text spells, or what is spread over texts: no stack traces

	spared string // what a person needs to see: its addresses and numbers are not masked
}

// New returns a Masker. Invisible characters that occur in keep stay, in mode [All] also addresses and paths: pass the arguments of
// the call and the server's configuration. Of a text that is a JSON object or array, its strings count.
func New(mode Mode, keep ...string) *Masker {
	m := &Masker{mode: mode}
	if mode == Off {
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

// As returns a Masker of another mode that is otherwise the same and shares the budget. A Masker that masks nothing is
// returned unchanged.
func (m *Masker) As(mode Mode) *Masker {
	if m.mode == Off || m.mode == mode {
		return m
	}
	as := *m
	as.mode = mode
	return &as
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

// String returns s with marks for what the mode hides, and without invisible characters. Text beyond the budget is cut
// off.
func (m *Masker) String(s string) string {
	if m.mode == Off {
		return s
	}
	return m.text(s, 0)
}

// text masks a text that was found inside others; layer is the number of encodings around it.
func (m *Masker) text(s string, layer int) string {
	if len(s) > MaxText {
		s = strings.ToValidUTF8(s[:MaxText], "") + " …"
	}
	shown := visible.Strip(s)
	if masked := m.plain(shown, layer); masked != shown || shown == s || !m.wrote(s) {
		return masked
	}
	return s
}

// plain masks a text without invisible characters.
func (m *Masker) plain(s string, layer int) string {
	literal := m.hasLiteral(s)
	if !literal && !m.suspicious(s) {
		return s
	}
	b := m.budget
	if b == nil {
		b = newBudget()
	}
	if b.knows(s) {
		return s
	}
	if b.isOver(b.begin()) {
		return notShown
	}
	if layer < maxLayers && isDocument(s) {
		inside := *m
		inside.spoken = false
		if masked, err := inside.reader(b).rewrite(s, layer+1); err == nil {
			return b.remember(masked)
		}
	}
	t := m.embedded(b.cut(s), layer, b)
	if len(t.quiet) == 0 && !literal && m.holdsNothing(t.s) {
		return b.remember(t.s)
	}
	return b.remember(m.settled(t, layer, b))
}

// holdsNothing is a fast test of whether a finder need not look at a short text.
func (m *Masker) holdsNothing(s string) bool {
	holds, _ := m.glance(s)
	return holds&^aFolding == 0
}

// glance returns what a short text may hold, and how it was looked at in detail.
func (m *Masker) glance(s string) (holds, detail) {
	const short = 256
	if len(s) > short || len(m.people) > 0 || strings.IndexByte(s, '\n') >= 0 {
		return unread, detail{}
	}
	if indexOfSet(s, &ofFrames) < len(s) {
		if outline := m.outline(s); !outline.holdsNothing() {
			return unread, detail{}
		}
	}
	d := m.detail(s)
	holds, _ := d.line(0, len(s))
	return holds &^ aHint, d
}

// isPlain reports whether nothing can be masked in a text.
func (m *Masker) isPlain(s string) bool {
	return !m.suspicious(s) && !m.hasLiteral(s) && visible.Strip(s) == s
}

// isDocument reports whether s may be a JSON object or array as a whole.
func isDocument(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']')
}

// Sparing returns a Masker that leaves the addresses and numbers in a text alone, whatever classes it masks: the text
// was written for a person to read.
func (m *Masker) Sparing(text string) *Masker {
	spares := *m
	spares.spared = text
	return &spares
}

// secretIn reports whether a decoded text contains a secret.
func (m *Masker) secretIn(text string, layer int) bool {
	if m.hasLiteral(text) {
		return true
	}
	inner, shown := m.As(Secrets), visible.Strip(text)
	return inner.suspicious(text) && inner.plain(shown, layer) != shown
}

// Log returns s for the log: credentials and connection strings are masked, everything else stays.
func Log(s string) string { return (&Masker{mode: Secrets}).String(s) }

// span is a part of a text, from start up to end.
type span struct{ start, end int }

// mask replaces parts of s by mark. Parts that overlap become one.
func mask(s, mark string, parts []span) string {
	t := text{s: s}
	t.mask(mark, parts)
	return t.s
}

// bySpan orders parts by where they begin.
func bySpan(x, y span) int { return x.start - y.start }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return ofWords[c] }

// ofWords are the bytes that words consist of: a table is faster than comparisons.
var ofWords = setThat(func(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' })
