// Package observe has what observers learn about a call that has ended, and the observer that writes the log.
//
//	stage finish
//	  |  Outcome
//	  v
//	each Observer: Log here; elsewhere the metrics, the journal, the exporter of spans, and the console's tally
package observe

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/privacy/argument"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/retry"
)

// An Observer is given each call once, when it has ended. It must not block: the answer may wait for it. It
// must not change the outcome, which is valid until Ended returns: see [Outcome.Keep].
type Observer interface {
	Ended(o *Outcome)
}

// A LateObserver is also told what came of a call that is made once, after its client had been answered without it.
type LateObserver interface {
	Observer
	Late(l *Late)
}

// A Late is what came of a call after its end. Observers know its outcome already.
type Late struct {
	ID, Server, Tool, Name string // as in the [Outcome]
	Answer                 string // success, failure, too long, none, not sent
}

// An AnsweringObserver is also told of a call whose client is about to get its answer, although the call takes some more time to end.
// It reports whether it needs to be told of the end. Of the outcome it is told what is known: failures are, but one that says success.
type AnsweringObserver interface {
	Observer
	Answering(o *Outcome) bool
}

// An Outcome is how a request ended. Its methods mask what they return, which takes time: they may be called
// later, on a kept copy, which holds on to the request's body until then.
type Outcome struct {
	ID       string          // of the request; every log entry and answer carries it
	Caller   authn.Identity  // zero: not verified
	User     string          // that the path names
	Peer     string          // the address that the request came from; "": over stdio
	Server   string          // "": the request was for no server
	Contract string          // whose form failures have
	Method   string          // of MCP, "other" if it has no such method; "": the request had none
	Tool     string          // the tool that was called, if the server lists it
	Name     string          // the tool, prompt or resource that was requested, as the client wrote it
	Nature   retry.Nature    // the nature of the tool or method
	Assumed  bool            // nobody says what the tool does: that it writes is an assumption
	End      string          // success, failure, broken off, client gone
	Record   *recourse.Error // the failure as the client got it, with effect, retry, verify and origin; nil: there was none
	Observed bool            // the failure was passed on unchanged
	Seeming  *Seeming        // that the success looks like a failure; nil: it does not
	Began    time.Time
	Took     time.Duration
	Status   int           // the HTTP status for the client; 0: it got no answer
	Bytes    int64         // of the answer's content, toward the client
	Sent     int           // how often the request was sent to the server
	Attempts []Attempt     // at most 16 of them, in the order of their beginning
	Queued   time.Duration // the time that it waited for its turn
	Limit    string        // the name of the limit that refused it; "": none did
	Reason   string        // why the request was not repeated; "": the question did not arise
	Once     string        // what became of a call that is made once: first, replayed, waited, conflict ...; "": it is not
	First    string        // the id of the request that has sent it before; "": none has
	Form     string        // of the failure toward the client: tool_error, the code of JSON-RPC or the status of HTTP; "": passed on
	Early    bool          // an AnsweringObserver needs to be told of its end
	Lot      float64       // drawn from [0, 1): an observer that keeps a share of the calls keeps those with a lower one
	Span     Span          // of a distributed trace; zero: the configuration does not ask for traces

	Request  Sent      // what the client has sent
	Failures []Failure // everything known about them; more than one if an answer failed twice
	Private  Private   // masks what is reported
	Logged   bool      // the configuration asks for a line of every request
}

// A Seeming is a failure that says success: the client has got the server's answer, unchanged.
type Seeming struct {
	Error *recourse.Error
	Sign  string // by which it was recognised
	Line  string // of the server's entry in the configuration, with which the client is told of it
}

// Keep returns a copy that stays valid.
func (o *Outcome) Keep() *Outcome {
	kept := *o
	kept.Attempts = slices.Clone(o.Attempts)
	return &kept
}

// How calls can end.
const (
	Succeeded = "success"
	Failed    = "failure"
	BrokenOff = "broken off" // in the middle of an answer
	Left      = "client gone"
	Seems     = "said success, looks failed"
)

// Sent is what a client has sent, as it was written.
type Sent struct {
	HTTPMethod  string
	Path        string // if it was for no server
	Method      string // of MCP
	Endpoint    string // the endpoint with several servers that the call came through; "": none
	TraceParent string // the header
	Meta        []byte // of the message
	Bytes       int    // of the body
	Held        int    // bytes of memory that the outcome holds on to
}

// A Failure is everything known about one failure.
type Failure struct {
	Message  string
	Error    *recourse.Error
	Note     string // what is special about it
	Attempts int
	Reason   string // why the call was not repeated
	Cause    error  // its cause, private
	Before   error  // what the server said, if that was passed on
	After    error  // and what would have been said instead
}

// An Attempt is one request to the server.
type Attempt struct {
	Wait    time.Duration // that was decided on before it
	Began   time.Time
	Took    time.Duration       // until the answer began, or the attempt failed
	Status  int                 // of the server's answer; 0: there was none
	Failure recourse.Kind       // that it ended in; "": none
	Reason  string              // why the request was repeated after it, or why not; "": the question did not arise
	Span    tracecontext.SpanID // that the server was told; zero: none
}

// A Span is where a request is in a distributed trace.
type Span struct {
	Own    tracecontext.Context
	Parent tracecontext.Context // zero: the trace began at the gateway
	Link   tracecontext.Context // another one that the client has named; zero: there is none
	State  string               // tracestate
}

// Cause returns the cause of the failure, as in the log; "" if it is not known.
func (o *Outcome) Cause() string {
	if len(o.Failures) == 0 {
		return ""
	}
	last := &o.Failures[len(o.Failures)-1]
	cause := cmp.Or(last.Cause, last.Before)
	if cause == nil {
		return ""
	}
	return o.Private.Mask(cause).LogValue().String()
}

// TraceID returns the id of the trace that the request is a part of (W3C Trace Context): the gateway's own, else that of the header
// traceparent, else that of _meta (SEP-414). It is empty where there is none.
func (o *Outcome) TraceID() string {
	if !o.Span.Own.IsZero() {
		return o.Span.Own.Trace.String()
	}
	if of, ok := tracecontext.Parse(o.Request.TraceParent); ok {
		return of.Trace.String()
	}
	if o.Request.Meta == nil { // the usual case
		return ""
	}
	if of, ok := tracecontext.Parse(json.Text(o.Request.Meta, "/traceparent")); ok {
		return of.Trace.String()
	}
	return ""
}

// ShowsArguments reports whether the contract may show the value of an argument.
func (o *Outcome) ShowsArguments() bool {
	return o.Private.Contract != nil && o.Private.Contract.ShowsArguments()
}

// Arguments returns the arguments of the call in the form in which they may be kept: JSON with secrets
// masked, or only names and types, if values are not wanted or the contract may show none. It is nil if there
// are no arguments.
func (o *Outcome) Arguments(values bool) []byte {
	p := o.Private
	if len(p.Arguments) == 0 || p.Contract == nil {
		return nil
	}
	const within = 10 * time.Second // nobody waits for it
	secrets := sync.OnceValue(p.Secrets)
	mask := redact.New(redact.Secrets).Hiding(secrets).With(p.Contract.Mask...).ForAnswer(within)
	if !values || !o.ShowsArguments() {
		return mask.JSON(argument.Names(p.Arguments))
	}
	return mask.JSON(argument.Brief(p.Arguments, secrets()))
}

// MethodName returns the method of a message, if MCP has it: a client may write anything.
func MethodName(method string) string {
	switch method {
	case "", wire.MethodInitialize, wire.MethodPing, wire.MethodDiscover, wire.MethodToolsList, wire.MethodToolsCall,
		"prompts/list", wire.MethodPromptsGet, "resources/list", "resources/templates/list", wire.MethodResourcesRead,
		wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodListen, wire.MethodSetLevel, "completion/complete",
		"tasks/get", "tasks/list", "tasks/result", "tasks/cancel",
		wire.MethodInitialized, wire.MethodCancelled, wire.MethodProgress, wire.MethodRootsChanged:
		return method
	default:
		return "other"
	}
}

// Assumed is what [Outcome.NatureText] says of a tool that is only assumed to write.
const Assumed = "assumed"

// NatureText returns the word for the nature of the tool or method.
func (o *Outcome) NatureText() string {
	if o.Assumed {
		return Assumed
	}
	return o.Nature.String()
}
