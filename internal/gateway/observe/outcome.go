// Package observe is what observers are told of a call when it has ended, and the observer that writes the log.
package observe

import (
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/tracecontext"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// An Observer is told of each call once, when it has ended. It must not block: the answer may wait for it. It does not change what it
// is given, which is valid until Ended returns: see [Outcome.Keep].
type Observer interface {
	Ended(o *Outcome)
}

// An Outcome is how a request has ended. Its methods mask what they return, which takes time:
// they may be called later, of a copy that is kept, which holds on to the request's body until then.
type Outcome struct {
	ID       string          // of the request, which every log and answer on its way names
	Caller   authn.Identity  // zero: nobody was verified
	User     string          // that the path names
	Peer     string          // the address that the request came from; "": over stdio
	Server   string          // "": the request was for none
	Contract string          // in whose form failures are told
	Method   string          // of MCP, "other" if it has no such method; "": the request had none
	Tool     string          // that was called, if the server lists it
	Name     string          // of the tool, prompt or resource that was asked for, as the client wrote it
	Nature   retry.Nature    // what the tool, or the method, does to the world
	End      string          // success, failure, broken off, client gone
	Record   *recourse.Error // of a failure, as the client was told, with effect, retry, verify and origin; nil: there was none
	Observed bool            // the failure was passed on as it came
	Began    time.Time
	Took     time.Duration
	Status   int           // of HTTP, toward the client; 0: it got no answer
	Bytes    int64         // of the answer's content, toward the client
	Sent     int           // how often the request was sent to the server
	Attempts []Attempt     // at most 16 of them, in the order of their beginning
	Queued   time.Duration // in which it waited for its turn
	Limit    string        // the name of the limit that refused it; "": none did
	Reason   string        // why the request was not sent again; "": that did not come up
	Form     string        // of the failure toward the client: tool_error, the code of JSON-RPC or the status of HTTP; "": passed on
	Span     Span          // of a distributed trace; zero: the configuration does not ask for traces

	Request  Request   // what the client has sent
	Failures []Failure // all that there is to tell of them; more than one if an answer failed twice
	Private  Private   // what it takes to mask what is told
	Logged   bool      // the configuration asks for a line of every request
}

// Keep returns a copy that stays valid.
func (o *Outcome) Keep() *Outcome {
	kept := *o
	kept.Attempts = slices.Clone(o.Attempts)
	return &kept
}

// The ends of a call.
const (
	Succeeded = "success"
	Failed    = "failure"
	BrokenOff = "broken off" // in the middle of an answer
	Left      = "client gone"
)

// A Request is what a client has sent, as it was written.
type Request struct {
	HTTPMethod  string
	Path        string // if it was for no server
	Method      string // of MCP
	Endpoint    string // with several servers, of one of which the call is told; "": there is none
	TraceParent string // the header
	Meta        []byte // of the message
	Bytes       int    // of the body
	Held        int    // bytes of memory that the outcome holds on to
}

// A Failure is what there is to tell of one.
type Failure struct {
	Message  string
	Error    *recourse.Error
	Note     string // what is special about it
	Attempts int
	Reason   string // why the call was not sent again
	Cause    error  // what it comes of, private
	Before   error  // what the server said, where that was passed on
	After    error  // and what would have been said instead
}

// An Attempt is one request to the server.
type Attempt struct {
	Wait    time.Duration // that was decided on before it
	Began   time.Time
	Took    time.Duration       // until the answer began, or the attempt failed
	Status  int                 // of the server's answer; 0: there was none
	Failure recourse.Kind       // that it ended in; "": none
	Reason  string              // why the request was sent again after it, or why it was not; "": that did not come up
	Span    tracecontext.SpanID // that the server was told; zero: none
}

// A Span is where a request stands in a distributed trace.
type Span struct {
	Own    tracecontext.Context
	Parent tracecontext.Context // zero: the trace began at the gateway
	Link   tracecontext.Context // another one that the client has named; zero: there is none
	State  string               // tracestate
}

// Cause returns what the failure comes of, as it stands in the log; "" where that is not known.
func (o *Outcome) Cause() string {
	if len(o.Failures) == 0 {
		return ""
	}
	last := &o.Failures[len(o.Failures)-1]
	cause := last.Cause
	if cause == nil {
		cause = last.Before
	}
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
	if o.Request.Meta == nil {
		return ""
	}
	var parent string
	_ = json.Unmarshal(json.Lookup(o.Request.Meta, "/traceparent"), &parent) // what is no string is no id
	if of, ok := tracecontext.Parse(parent); ok {
		return of.Trace.String()
	}
	return ""
}

// ShowsArguments reports whether the contract may show what was given as an argument.
func (o *Outcome) ShowsArguments() bool {
	return o.Private.Contract != nil && o.Private.Contract.ShowsArguments()
}

// Arguments returns the arguments of the call as they may be kept: JSON with secrets masked, or only their names and types, where
// values are not asked for or the contract may show none. It is nil where there are no arguments.
func (o *Outcome) Arguments(values bool) []byte {
	p := o.Private
	if len(p.Arguments) == 0 || p.Contract == nil {
		return nil
	}
	secrets := sync.OnceValue(p.Secrets)
	mask := redact.New(redact.Secrets).Hiding(secrets).With(p.Contract.Mask...).ForAnswer()
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
