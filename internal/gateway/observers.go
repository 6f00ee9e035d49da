package gateway

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

// An Observer is told of each call once, when it has ended. It must not block: the answer may wait for it. It may keep what it is
// given, and does not change it.
type Observer interface {
	Ended(o *Outcome)
}

// An Outcome is how a request has ended, for observers outside the pipeline. Its methods mask what they return, which takes time:
// they may be called later, but the outcome holds on to the request's body until then.
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

	cause   error
	trace   string // the header traceparent
	meta    []byte // of the message
	held    int    // bytes of the request
	private private
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
	if o.cause == nil {
		return ""
	}
	return o.private.logged(o.cause).LogValue().String()
}

// TraceID returns the id of the trace that the request is a part of (W3C Trace Context): the gateway's own, else that of the header
// traceparent, else that of _meta (SEP-414). It is empty where there is none.
func (o *Outcome) TraceID() string {
	if !o.Span.Own.IsZero() {
		return o.Span.Own.Trace.String()
	}
	if of, ok := tracecontext.Parse(o.trace); ok {
		return of.Trace.String()
	}
	if o.meta == nil {
		return ""
	}
	var parent string
	_ = json.Unmarshal(json.Lookup(o.meta, "/traceparent"), &parent) // what is no string is no id
	if of, ok := tracecontext.Parse(parent); ok {
		return of.Trace.String()
	}
	return ""
}

// Held returns how many bytes of the request are held on to.
func (o *Outcome) Held() int { return o.held }

// ShowsArguments reports whether the contract may show what was given as an argument.
func (o *Outcome) ShowsArguments() bool {
	return o.private.on != nil && o.private.on.contract.ShowsArguments()
}

// Arguments returns the arguments of the call as they may be kept: JSON with secrets masked, or only their names and types, where
// values are not asked for or the contract may show none. It is nil where there are no arguments.
func (o *Outcome) Arguments(values bool) []byte {
	p := o.private
	if len(p.arguments) == 0 || p.on == nil {
		return nil
	}
	secrets := sync.OnceValue(p.secrets)
	mask := redact.New(redact.Secrets).Hiding(secrets).With(p.on.contract.Mask...).ForAnswer()
	if !values || !o.ShowsArguments() {
		return mask.JSON(argument.Names(p.arguments))
	}
	return mask.JSON(argument.Brief(p.arguments, secrets()))
}

// Observe has o told of every call. It comes before the first one.
func (g *Gateway) Observe(o Observer) { g.outside = append(g.outside, o) }

// outcomeOf returns how a call has ended.
func outcomeOf(c *call) *Outcome {
	o := &Outcome{
		ID: c.req.id, Caller: c.who.verified, User: c.req.user, Peer: c.req.http.RemoteAddr,
		Method: methodName(c.req.msg.Method), Nature: c.rule.nature, End: string(c.out.end), Record: c.out.record,
		Began: c.out.began, Took: c.out.took, Status: c.reply.status, Bytes: c.reply.bytes,
		Queued: c.out.queued, Limit: c.out.allowance.refused,
		Sent: c.out.sent, Attempts: slices.Clone(c.out.tries), Reason: c.out.reason,
		Form: c.out.form, Span: c.trace.Span,
		Name: c.req.msg.Name, meta: c.req.msg.Meta, held: cap(c.req.body), private: c.private(),
	}
	if c.on != nil {
		o.Server, o.Contract = c.on.Name, c.on.contract.Name
		_, o.Observed = c.on.manner.(observing)
	}
	if c.rule.listed.Tool != nil {
		o.Tool = c.req.msg.Name
	}
	if values := c.req.http.Header["Traceparent"]; len(values) == 1 {
		o.trace = values[0]
	}
	if n := len(c.out.told); n > 0 {
		if last := &c.out.told[n-1]; last.cause != nil {
			o.cause = last.cause
		} else {
			o.cause = last.before
		}
	}
	slices.SortStableFunc(o.Attempts, func(a, b Attempt) int { return a.Began.Compare(b.Began) }) // two may run at once
	return o
}

// methodName returns the method of a message, if MCP has it: a client may write anything.
func methodName(method string) string {
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
