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
//	  |  partsOfText       of a long text, the lines that may hold something, with those around them
//	  |  each finder       looks for known secrets, names and forms; also in what the text spells (view.go),
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
	"time"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
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

// Mode returns what is masked.
func (m *Masker) Mode() Mode { return m.mode }

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
	if !m.hasLiteral(s) && !m.suspicious(s) {
		return s
	}
	b := m.budget
	if b == nil {
		b = newBudget()
	}
	if b.knows(s) {
		return s
	}
	if b.isOver(time.Now()) {
		return notShown
	}
	if layer < maxLayers && isDocument(s) {
		inside := *m
		inside.spoken = false
		if raw, err := inside.rewrite([]byte(s), layer+1, b); err == nil {
			return b.remember(string(raw))
		}
	}
	return b.remember(m.settled(m.embedded(b.cut(s), layer, b), layer, b))
}

// isDocument reports whether s may be a JSON object or array as a whole.
func isDocument(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']')
}

// A finder finds one sort of text that is masked.
type finder struct {
	mark string
	find func(m *Masker, s string, b *budget) []span
	on   func(m *Masker) bool // nil: in every mode
	near bool                 // only where a text mentions secrets
}

// within finds what is in parts of a text.
func (f finder) within(m *Masker, s string, parts []span, b *budget) []span {
	var found []span
	for _, p := range parts {
		for _, q := range f.find(m, s[p.start:p.end], b) {
			found = append(found, span{p.start + q.start, p.start + q.end})
		}
	}
	return found
}

func plainly(find func(string) []span) func(*Masker, string, *budget) []span {
	return func(_ *Masker, s string, _ *budget) []span { return find(s) }
}

// foreign leaves out the parts that occur in the spared text.
func foreign(find func(string) []span) func(*Masker, string, *budget) []span {
	return func(m *Masker, s string, _ *budget) []span {
		return slices.DeleteFunc(find(s), func(p span) bool { return strings.Contains(m.spared, s[p.start:p.end]) })
	}
}

// Sparing returns a Masker that leaves the addresses and numbers in a text alone, whatever classes it masks: the text
// was written for a person to read.
func (m *Masker) Sparing(text string) *Masker {
	spares := *m
	spares.spared = text
	return &spares
}

func inAll(m *Masker) bool { return m.mode == All }

// finders are tried in this order: larger things before their parts.
var finders = []finder{
	{mark: markCredential, find: func(m *Masker, s string, _ *budget) []span { return m.spelledOut(s) }},
	{mark: markCredential, find: plainly(privateKeys)},
	{mark: markTrace, find: plainly(traces), on: inAll},
	{mark: markConnection, find: plainly(connections)},
	{mark: markCredential, find: plainly(named), near: true},
	{mark: markCredential, find: plainly(marked), near: true},
	{mark: markCredential, find: plainly(commanded)},
	{mark: markCredential, find: plainly(written)},
	{mark: markCredential, find: plainly(writtenNear), near: true},
	{mark: markCredential, find: plainly(inserted), near: true},
	{mark: markPersonal, find: foreign(people), on: func(m *Masker) bool { return m.personal }},
	{mark: markPersonal, find: func(m *Masker, s string, _ *budget) []span { return m.peopleIn(s) }},
	{mark: markCredential, find: plainly(tokens)},
	{mark: markAddress, find: foreign(addresses), on: func(m *Masker) bool { return m.addresses }},
	{mark: markAddress, find: func(m *Masker, s string, b *budget) []span { return m.unknown(s, addresses(s), b) }, on: inAll},
	{mark: markPath, find: func(m *Masker, s string, b *budget) []span { return m.unknown(s, paths(s), b) }, on: inAll},
}

// once masks s once, as it is written and as it is read.
func (m *Masker) once(s string, layer int, b *budget) string {
	began := time.Now()
	defer b.spend(began)
	near, nearIn := nearNames(s), s // where secrets are mentioned
	for _, f := range finders {
		switch {
		case b.isOver(began):
			return notShown
		case f.on != nil && !f.on(m):
		case f.near:
			if nearIn != s {
				near, nearIn = nearNames(s), s
			}
			s = mask(s, f.mark, f.within(m, s, near, b))
		default:
			s = mask(s, f.mark, f.find(m, s, b))
		}
	}
	s = m.spelled(s, b)
	return mask(s, markCredential, m.encoded(s, layer))
}

// spelled masks what is found in the views of s: of a long text, in those of the lines that spell something and those around them.
func (m *Masker) spelled(s string, b *budget) string {
	parts := []span{{0, len(s)}}
	if len(s) >= long {
		parts = partsOfText(s, func(line string) (is, following bool) { return spelledAt(line) >= 0, false })
	}
	var out strings.Builder
	done := 0
	for _, p := range parts {
		if v, ok := viewOf(s[p.start:p.end]); ok {
			out.WriteString(s[done:p.start])
			out.WriteString(m.behind(s[p.start:p.end], v, b))
			done = p.end
		}
	}
	if done == 0 {
		return s
	}
	return out.String() + s[done:]
}

// behind masks what is found in a view of s.
func (m *Masker) behind(s string, v view, b *budget) string {
	type part struct {
		span

		mark string
	}
	var found []part
	add := func(v view) {
		near := nearNames(v.text)
		for _, f := range finders {
			if f.mark == markTrace || f.on != nil && !f.on(m) {
				continue
			}
			parts := []span{{0, len(v.text)}}
			if f.near {
				parts = near
			}
			for _, p := range f.within(m, v.text, parts, b) {
				if p.end > p.start {
					found = append(found, part{v.original(p), f.mark})
				}
			}
		}
	}
	add(v)
	if deeper, ok := viewOf(v.text); ok { // encoded twice
		for i, at := range deeper.at {
			deeper.at[i] = v.at[at]
		}
		add(deeper)
	}
	slices.SortStableFunc(found, func(x, y part) int { return x.start - y.start })
	var out strings.Builder
	done := 0
	for _, p := range found {
		if p.start >= done {
			out.WriteString(s[done:p.start])
			out.WriteString(p.mark)
		}
		done = max(done, p.end)
	}
	out.WriteString(s[done:])
	return out.String()
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
	if len(parts) == 0 {
		return s
	}
	slices.SortFunc(parts, bySpan)
	var b strings.Builder
	done := 0
	for _, p := range parts {
		if p.end <= p.start {
			continue
		}
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

// suspicious reports whether s contains anything that could be part of something that is masked. Most sentences do not.
func (m *Masker) suspicious(s string) bool {
	return suspicious(s) || m.personal && (mayBePersonal(s) || m.mentionsPeople(s)) || mayBeTable(s)
}

// mayBeTable reports whether s may be a table with a column of secrets.
func mayBeTable(s string) bool {
	return strings.Contains(s, "\n") && strings.ContainsAny(s, ",;\t") && secret.Mentions(s)
}

// signs are bytes that may be part of something that is masked, wherever they stand.
var signs = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= utf8.RuneSelf || strings.IndexByte(":=/\\@\"'`$|<&%{", byte(c)) >= 0
	}
	return set
}()

func suspicious(s string) bool {
	var w wordSigns
	for i := range len(s) {
		switch c := s[i]; {
		case signs[c]:
			return true
		case c == '.' && i+1 < len(s) && isWord(s[i+1]):
			return true
		case (c == ' ' || c == '-') && i+1 < len(s) && s[i+1] == c: // a table
			return true
		case !isWord(c) && c != '-':
			w = wordSigns{digits: w.digits}
		default:
			if w.add(c); w.odd() {
				return true
			}
		}
	}
	return strings.Contains(s, "PIN ") || strings.Contains(s, "pin ")
}

// wordSigns is what a word consists of.
type wordSigns struct {
	length, digits      int // digits: of all words so far
	upper, digit, lower bool
}

func (w *wordSigns) add(c byte) {
	w.upper = w.upper || w.length > 0 && 'A' <= c && c <= 'Z'
	w.lower = w.lower || 'a' <= c && c <= 'z'
	if isDigit(c) {
		w.digit = true
		w.digits++
	}
	w.length++
}

// odd reports whether the word may be something other than a word of a sentence.
func (w *wordSigns) odd() bool {
	const account = 10 // the least digits of a number in groups
	return w.length >= 8 && w.upper || w.length >= 6 && w.digit || w.length >= 32 || w.length >= 5 && w.digit && w.lower ||
		w.digits >= account
}

// bySpan orders parts by where they begin.
func bySpan(x, y span) int { return x.start - y.start }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return ofWords[c] }

// ofWords are the bytes that words consist of: a table is faster than comparisons.
var ofWords = func() (set [256]bool) {
	for c := range set {
		set[c] = isDigit(byte(c)) || isLetter(byte(c)) || c == '_'
	}
	return set
}()

// nameOf reports whether a name is that of a secret.
func nameOf(name string) bool { return secret.Name(name) }
