package contract

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
)

// Contract says how a server fails: which code stands for which record, whether
// the same call may be repeated, what to advise, and how all of it is written.
// Get one with [Builtin] or [Set.Load]. It is safe for concurrent use.
type Contract struct {
	Name  string
	Title string
	Doc   string
	// UnknownTool tells where an unknown tool is reported: "rpc", the JSON-RPC
	// error of the protocol, or "result", a tool result.
	UnknownTool string
	// Mask are the classes of what no failure shows: [MaskPersonal], [MaskAddresses].
	// Whoever sends a failure masks it.
	Mask []string
	// Session is what a request has to bring before a call is taken up.
	Session SessionRule
	// Retry is what the contract asks of a client that repeats calls.
	Retry RetryRule

	// Poll is how calls wait for work that takes long.
	Poll PollRule

	source     [sha256.Size]byte // of the text that it was loaded from, and of the one that it extends
	readOnly   bool              // every tool only reads, unless the server's entry says otherwise
	readers    map[string]bool   // tools that do so in any case: some by name, and those of verify calls
	hintTools  []string
	literals   string // how values are spelled in calls
	verify     map[string]verifyRule
	layout     layout
	ownResults []ownResult // the layouts of tools that return their failures
	upstream   *shape      // of the body of an HTTP error of what the server itself calls, or nil
	question   *shape      // of the JSON object of a question, or nil
	reads      []reads
	ranges     []codeRange
	hints      []alternative
	codes      []*entry
	byCode     map[string]*entry // codes, and words that are read as one
	fallback   *entry

	silence     *bool  // what it means that nothing is said about repeating the call; nil: nothing
	showsValues bool   // it has a place for what was given as an argument
	open        *entry // of words that are not listed, or nil
	members     []contractform.Member
}

// Same reports whether both contracts were loaded from the same text.
func (c *Contract) Same(other *Contract) bool { return c.source == other.source }

// Writes reports whether the contract says of a tool that it writes: by naming the call
// that settles whether it took effect.
func (c *Contract) Writes(tool string) bool {
	_, writes := c.verify[tool]
	return writes
}

// Reads reports whether the contract says of a tool that it only reads: by name, of
// every tool, or because it is the call that settles whether another one took effect.
// A tool that has such a call writes.
func (c *Contract) Reads(tool string) bool {
	return !c.Writes(tool) && (c.readOnly || c.readers[tool])
}

// RetryRule says how a client repeats calls under a contract: at most Retries
// more calls, the first after Start or after the wait that the failure states,
// each later one Factor times as long, from the repetition JitterFrom on with a
// random addition of up to JitterMax.
type RetryRule struct {
	Retries    int
	Start      time.Duration
	Factor     float64
	JitterMax  time.Duration
	JitterFrom int
}

// PollRule says how a call waits for work that takes long: where the argument Wait
// is true, until the work has ended or as many seconds have passed as the argument
// Timeout says. Meanwhile a failure that [Contract.Retryable] holds for does not end
// the wait; any other does. A call that does not wait names in the member Next of
// its answer the call that asks again. The zero value: nothing takes that long.
type PollRule struct{ Wait, Timeout, Next string }

// An entry is one code.
type entry struct {
	code      string
	name      string    // what a number is called
	open      *template // the code is another's word, which this template gives
	kind      recourse.Kind
	group     string
	when      string     // a sentence: when the code is chosen
	selectors []selector // empty: by name only
	reads     []string   // other codes that are read as this one
	set       []constant // what the code says beyond its kind, when it is read
	retry     retryable  // the wire's boolean
	wait      time.Duration
	message   []*template // the first that can be filled in
	hints     []alternative
	http      *httpForm
	rpc       *rpcForm
	otherwise string // the code in place of this one where no HTTP answer can be given
}

// constant is a member of the record with a fixed value.
type constant struct {
	path  *path
	value json.Value
}

// retryable is how an entry decides the wire's boolean.
type retryable struct {
	mode   retryMode
	status []string // of byStatus
}

type retryMode int

const (
	byRecord retryMode = iota
	always
	never
	byStatus
	stated
)

// An alternative is a text that is used when its selector holds, its
// placeholders are filled, and the tools that it names exist.
type alternative struct {
	when  selector
	text  *template
	tools []string
}

// A subject is a record as a contract sees it.
type subject struct {
	c     *Contract
	e     *recourse.Error
	entry *entry
	call  *Call
	bare  bool // {message} is the record's sentence, not the form that the code gives it
	json  []byte
}

// record returns the record's own JSON form, whole: a place of the contract has no bound.
func (s *subject) record() []byte {
	if s.json == nil {
		s.json = s.encoded(s.e.WholeJSON())
	}
	return s.json
}

// bounded returns the record as it travels beside the answer, in _meta.
func (s *subject) bounded() []byte {
	const escaped = len(`\u003c`) // the most that a byte takes up
	if whole := s.record(); len(whole)*escaped <= recourse.MaxJSON {
		return whole
	}
	return s.encoded(s.e.MarshalJSON())
}

func (s *subject) encoded(raw []byte, err error) []byte {
	if err != nil { // of a member that has no JSON form
		return fmt.Appendf(nil, `{"v":%d,"kind":%q}`, recourse.Version, s.e.Kind)
	}
	return raw
}

// base is what paths start from.
func (s *subject) base() reflect.Value { return reflect.ValueOf(s.e).Elem() }

// on returns the subject for e, which is s's own record or one inside it.
func (s *subject) on(e *recourse.Error) *subject {
	if e == s.e {
		return s
	}
	inner := &subject{c: s.c, e: e, call: s.call}
	inner.entry = s.c.choose(inner)
	return inner
}

// message returns the sentence in the form that the code gives it. What is about the
// protocol and has no code of its own is no tool's failure, and keeps its sentence.
func (s *subject) message() string {
	if s.bare || s.entry == nil || s.unlisted() || s.entry == s.c.fallback && s.e.Kind.Class() == recourse.ClassProtocol {
		return s.e.Sentence()
	}
	bare := *s
	bare.bare = true
	for _, t := range s.entry.message {
		if text, ok := t.render(&bare); ok {
			return text
		}
	}
	return s.e.Sentence()
}

// unlisted reports whether the code is a word that the contract does not list, for
// which the fallback stands in.
func (s *subject) unlisted() bool {
	return s.entry.open == nil && s.e.Code != "" && s.e.Code != s.entry.code
}

// retryable decides the wire's boolean. A code that the table calls never retryable stays
// so, where the table leaves it to the other side that one decides, and so does the record
// of a code that the table does not list. That a call may have taken effect is not
// overruled otherwise, nor is an advice that departs from the kind's: somebody gave it
// on purpose. Else the code decides.
func (s *subject) retryable() bool {
	if s.entry.retry.mode == stated && s.e.Effect == recourse.EffectUnknown {
		return s.e.Retry == recourse.RetrySameCall
	}
	same := s.e.RetryAdvice() == recourse.RetrySameCall
	switch mode := s.entry.retry.mode; {
	case mode == stated:
		return same && s.e.Retry == recourse.RetrySameCall
	case s.unlisted(): // the table says nothing of it
		return same
	case mode == never: // whatever anybody says
		return false
	}
	if s.e.Effect == recourse.EffectUnknown || same != (s.e.Kind.Retry() == recourse.RetrySameCall) {
		return same
	}
	switch s.entry.retry.mode {
	case always:
		return true
	case byStatus:
		if status := s.e.Upstream.Status; status != 0 {
			return matchStatus(s.entry.retry.status, status)
		}
	case byRecord, never, stated:
	}
	return same
}

// Retryable reports whether the same call may succeed after e, as the contract says
// of the code that it has for e.
func (c *Contract) Retryable(e *recourse.Error, call *Call) bool { return c.bind(e, call).retryable() }

// choose returns the entry of a record. Every record has one.
func (c *Contract) choose(s *subject) *entry {
	if s.e.Contract == c.Name && s.e.Code != "" {
		if en, ok := c.byCode[s.e.Code]; ok {
			return en
		}
		if c.open != nil {
			return c.open
		}
		return c.fallback
	}
	for _, en := range c.codes {
		for _, sel := range en.selectors {
			word := ""
			if sel.selects(s) {
				word = en.codeOf(s)
			}
			if listed, ok := c.byCode[word]; ok { // another's word may be one of the contract's own
				return listed
			}
			if word != "" {
				return en
			}
		}
	}
	return c.fallback
}

// codeOf returns the code of a record that en was chosen for; "" when en takes
// another's word and there is none.
func (en *entry) codeOf(s *subject) string {
	if en.open == nil {
		return en.code
	}
	if word, ok := en.open.render(s); ok && isCodeWord(word) {
		return word
	}
	return ""
}

// inResult returns s with the code that it has in a tool result, where its own
// stands for another answer.
func (s *subject) inResult() *subject {
	if s.entry.inResult() {
		return s
	}
	inner := *s
	inner.entry, inner.json = s.c.fallback, nil
	for _, en := range s.c.codes {
		if en.inResult() && slices.ContainsFunc(en.selectors, func(sel selector) bool { return sel.selects(s) }) {
			inner.entry = en
			break
		}
	}
	inner.e = s.e.WithCode(s.c.Name, inner.entry.code)
	inner.e.Hints = s.c.hintsFor(&inner, false)
	return &inner
}

// bind puts e in the words of c: its code, the wait and the hints that come with
// the code, and the same for what it contains.
func (c *Contract) bind(e *recourse.Error, call *Call) *subject {
	bound := *e
	s := &subject{c: c, e: &bound, call: call}
	s.entry = c.choose(s)
	fresh := e.Contract != c.Name
	if fresh || e.Code == "" {
		bound.Contract, bound.Code = c.Name, s.entry.codeOf(s)
	}
	if en := c.inPlaceOf(s.entry, call); en != nil {
		s.entry, bound.Code = en, en.code
	}
	bound.Message = bound.Sentence()
	clean(&bound)
	if !c.showsValues {
		for i := range bound.Violations {
			bound.Violations[i].Got = nil
		}
	}
	if bound.RetryAfter == 0 {
		bound.RetryAfter = c.waitOf(s)
	}
	mode := s.entry.retry.mode
	if bound.Retry == "" && (mode == stated || mode == never) && !s.unlisted() && bound.Kind.Retry() == recourse.RetrySameCall {
		bound.Retry = recourse.RetryNever // so that the record says what the contract does
	}
	if bound.Verify == nil && bound.Effect == recourse.EffectUnknown {
		bound.Verify = c.VerifyFor(call)
	}
	if len(bound.Failed) > 0 {
		bound.Failed = slices.Clone(bound.Failed)
		for i, item := range bound.Failed {
			if item.Error != nil {
				bound.Failed[i].Error = c.bind(item.Error, &Call{HasTool: call.HasTool, Now: call.Now}).e
			}
		}
	}
	bound.Hints = c.hintsFor(s, fresh)
	return s
}

// inPlaceOf returns the entry that stands for en because of where the answer is to be
// written: another code where no HTTP answer can be given, and the HTTP answer where
// one can and en is what stands for it elsewhere. nil: en itself.
func (c *Contract) inPlaceOf(en *entry, call *Call) *entry {
	if !call.HTTP {
		return c.byCode[en.otherwise]
	}
	if i := slices.IndexFunc(c.codes, func(other *entry) bool { return other.otherwise == en.code }); i >= 0 {
		return c.codes[i]
	}
	return nil
}

// waitOf returns the wait that the record implies without stating it.
func (c *Contract) waitOf(s *subject) time.Duration {
	if s.e.Kind.Class() == recourse.ClassAllowance && len(s.e.Quotas) > 0 && !s.e.Quotas[0].ResetAt.IsZero() {
		return min(max(s.e.Quotas[0].ResetAt.Sub(s.call.now()), 0), recourse.MaxWait)
	}
	return s.entry.wait
}

// hintsFor returns the hints to write: a warning of the contract about the record,
// the author's own, and the code's advice, which a record that already is in the
// contract's words has among its own.
func (c *Contract) hintsFor(s *subject, fresh bool) []string {
	var hints []string
	add := func(hint string, ok bool) {
		if ok && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	warned := !fresh && slices.ContainsFunc(s.e.Hints, c.warns)
	if !warned {
		var warning string
		warning, warned = pick(c.hints, s)
		add(warning, warned)
	}
	advice, advises := pick(s.entry.hints, s)
	for _, own := range s.e.Hints {
		said, led := strings.CutPrefix(own, ServerSays)
		switch {
		case led && !warned && advises && said == advice:
			own = advice // it is what the contract says, too
		case led && (warned && c.isAdvice(said) || c.warns(said)):
			continue // what the contract says of calls that are safe to repeat, or are not
		}
		add(own, own != "")
	}
	if !warned && (fresh && !s.entry.leavesAdvice(s.e) || len(hints) == 0) {
		add(advice, advises)
	}
	return hints
}

// isAdvice reports whether a text is one of the hints that c gives, of whatever code.
func (c *Contract) isAdvice(text string) bool {
	gives := func(list []alternative) bool {
		return slices.ContainsFunc(list, func(a alternative) bool {
			return a.text.says() && a.text.match(text, func(*path, string) {})
		})
	}
	return gives(c.hints) || slices.ContainsFunc(c.codes, func(en *entry) bool { return gives(en.hints) })
}

// leavesAdvice reports whether what the other side advised stands alone: its word is
// its own, and so is the structure that its suggestions stand in.
func (en *entry) leavesAdvice(e *recourse.Error) bool {
	return en.open != nil && len(e.Hints) > 0 && e.Origin == recourse.OriginProvider
}

// warns reports whether a hint is one of those that c gives whatever the code.
func (c *Contract) warns(hint string) bool {
	return slices.ContainsFunc(c.hints, func(a alternative) bool { return a.text.match(hint, func(*path, string) {}) })
}

func pick(from []alternative, s *subject) (string, bool) {
	for _, a := range from {
		if !a.when.selects(s) || slices.ContainsFunc(a.tools, func(t string) bool { return !s.call.hasTool(t) }) {
			continue
		}
		if text, ok := a.text.render(s); ok {
			return text, true
		}
	}
	return "", false
}
