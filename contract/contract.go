package contract

import (
	"reflect"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Contract says how a server fails: which code stands for which record, whether
// the same call may be repeated, what to advise, and how all of it is written.
// Get one with [Builtin] or [Set.Load]. It is safe for concurrent use.
type Contract struct {
	Name  string
	Title string
	Doc   string
	// ReadOnly says that tools of a server with this contract only read, unless
	// the server's entry says otherwise.
	ReadOnly bool
	// UnknownTool tells where an unknown tool is reported: "rpc", the JSON-RPC
	// error of the protocol, or "result", a tool result.
	UnknownTool string
	// Retry is what the contract asks of a client that repeats calls.
	Retry RetryRule

	hintTools []string
	verify    map[string]verifyRule
	layout    layout
	shape     *shape // of the JSON object; nil: the record's own JSON form
	hints     []alternative
	codes     []*entry
	byCode    map[string]*entry // codes, and words that are read as one
	fallback  *entry
	members   []Member
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

// Member documents a member of the contract's JSON object.
type Member struct {
	Name    string
	Type    string
	Present string // when it is there
	Doc     string
}

// An entry is one code.
type entry struct {
	code      string
	kind      recourse.Kind
	group     string
	when      string      // a sentence: when the code is chosen
	selectors []selector  // empty: by name only
	reads     []string    // other codes that are read as this one
	set       []constant  // what the code says beyond its kind, when it is read
	retry     retryable   // the wire's boolean
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
)

// An alternative is a text that is used when its selector holds, its
// placeholders are filled, and the tools that it names exist.
type alternative struct {
	when  selector
	text  *template
	tools []string
}

type verifyRule struct {
	call   string
	args   []verifyArg
	lookAt string
}

type verifyArg struct {
	name    string
	pointer string     // into the failed call's arguments
	value   json.Value // a constant, where pointer is empty
}

// At says where a failed call stood. The zero value is the call itself.
type At string

// The places, in the order in which a call comes past them.
const (
	AtCredentialsMissing    At = "credentials_missing"
	AtCredentialsInvalid    At = "credentials_invalid"
	AtUserMissing           At = "user_missing"
	AtUserInvalid           At = "user_invalid"
	AtSession               At = "session" // before the call was taken up
	AtArguments             At = "arguments"
	AtTool                  At = "tool"
	AtUpstreamMisconfigured At = "upstream_misconfigured"
)

var places = []string{
	string(AtCredentialsMissing), string(AtCredentialsInvalid), string(AtUserMissing), string(AtUserInvalid),
	string(AtSession), string(AtArguments), string(AtTool), string(AtUpstreamMisconfigured),
}

// Call is what a contract has to know of the call that failed.
type Call struct {
	// Method is the JSON-RPC method; only a failed tools/call is written as a tool
	// result.
	Method string
	// Tool is the tool's name, URL the URL of the request.
	Tool, URL string
	// Arguments are the arguments of the call, raw.
	Arguments json.Value
	At        At
	// Status is the HTTP status that the transport demands for this failure; 0
	// means that the contract is free to choose.
	Status int
	// HTTP says that the whole HTTP answer is still to be written, so that a code's
	// own HTTP form can be used.
	HTTP bool
	// OutputSchema says that the tool declares one: our structuredContent is then
	// left out, since some clients throw away a result that does not fit.
	OutputSchema bool
	// FormatArgument says that the tool's inputSchema has the argument that the
	// contract's layout is gated by.
	FormatArgument bool
	// ResultType says that results carry resultType (2026-07-28 and later).
	ResultType bool
	// HasTool tells whether the server has a tool; nil: not known, so that every
	// tool counts as there.
	HasTool func(name string) bool
	// Original is the result that the failure was read from, or nil. What it holds
	// beyond the failure itself is kept.
	Original json.Value
	// Now is the present, for points in time; nil means time.Now.
	Now func() time.Time
}

func (c *Call) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *Call) hasTool(name string) bool { return c.HasTool == nil || c.HasTool(name) }

// A subject is a record as a contract sees it.
type subject struct {
	c     *Contract
	e     *recourse.Error
	entry *entry
	call  *Call
	bare  bool // {message} is the record's sentence, not the form that the code gives it
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

// message returns the sentence in the form that the code gives it.
func (s *subject) message() string {
	if s.bare || s.entry == nil {
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

// retryable decides the wire's boolean. An unknown effect is never overruled. A
// record that is already in this contract's words and whose advice departs from
// its kind's keeps that advice: somebody said so on the wire. Otherwise the code
// decides.
func (s *subject) retryable() bool {
	advice := s.e.RetryAdvice()
	same := advice == recourse.RetrySameCall
	if s.e.Effect == recourse.EffectUnknown {
		return false
	}
	if s.e.Contract == s.c.Name && same != (s.e.Kind.Retry() == recourse.RetrySameCall) {
		return same
	}
	switch s.entry.retry.mode {
	case always:
		return true
	case never:
		return false
	case byStatus:
		if status := s.e.Upstream.Status; status != 0 {
			return matchStatus(s.entry.retry.status, status)
		}
		return same
	case byRecord:
		return same
	default:
		return same
	}
}

// choose returns the entry of a record. Every record has one.
func (c *Contract) choose(s *subject) *entry {
	if s.e.Contract == c.Name && s.e.Code != "" {
		if en, ok := c.byCode[s.e.Code]; ok {
			return en
		}
		return c.fallback // a word of this contract that its file does not list
	}
	for _, en := range c.codes {
		for _, sel := range en.selectors {
			if sel.selects(s) {
				return en
			}
		}
	}
	return c.fallback
}

// bind puts e in the words of c: its code, the wait and the hints that come with
// the code, and the same for what it contains.
func (c *Contract) bind(e *recourse.Error, call *Call) *subject {
	s := &subject{c: c, e: e, call: call}
	s.entry = c.choose(s)
	if s.entry.otherwise != "" && !call.HTTP {
		s.entry = c.byCode[s.entry.otherwise]
		if e.Contract == c.Name {
			e = e.WithCode(c.Name, s.entry.code)
		}
	}
	bound := *e
	if bound.Contract != c.Name || bound.Code == "" {
		bound.Contract, bound.Code = c.Name, s.entry.code
	}
	bound.Message = bound.Sentence()
	if bound.After == 0 {
		bound.After = c.waitOf(s)
	}
	if bound.Verify == nil && bound.Effect == recourse.EffectUnknown {
		bound.Verify = c.verifyFor(call)
	}
	if len(bound.Failed) > 0 {
		bound.Failed = slices.Clone(bound.Failed)
		for i, item := range bound.Failed {
			if item.Error != nil {
				bound.Failed[i].Error = c.bind(item.Error, &Call{HasTool: call.HasTool, Now: call.Now}).e
			}
		}
	}
	s.e = &bound
	bound.Hints = c.hintsFor(s)
	return s
}

// waitOf returns the wait that the record implies without stating it.
func (c *Contract) waitOf(s *subject) time.Duration {
	if s.e.Kind.Class() == recourse.ClassAllowance && len(s.e.Quotas) > 0 && !s.e.Quotas[0].ResetAt.IsZero() {
		return min(max(s.e.Quotas[0].ResetAt.Sub(s.call.now()), 0), recourse.MaxWait)
	}
	return s.entry.wait
}

// hintsFor returns the hints to write: a warning of the contract about the
// record, then the author's own, else the code's.
func (c *Contract) hintsFor(s *subject) []string {
	own := s.e.Hints
	var hints []string
	if warning, ok := pick(c.hints, s); ok && !slices.Contains(own, warning) {
		hints = append(hints, warning)
	}
	if len(own) == 0 && len(hints) == 0 {
		if advice, ok := pick(s.entry.hints, s); ok {
			hints = append(hints, advice)
		}
	}
	return append(hints, own...)
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
