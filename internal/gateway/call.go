package gateway

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/deadline"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// A call is one client request on its way through the stages. It holds the values that the stages share, each
// with the files that set it, to which a test holds them. Anything else that a stage remembers is private to the stage.
type call struct {
	g     *Gateway
	table *table // the configuration when the request arrived

	req     request          // the client's message: gateway, admit, authenticate, receive, deliver; many and oncesettle for nested calls
	on      *endpoint        // the endpoint, and the server behind it, held open: admit
	who     caller           // authenticate, also for many; route adds the outer request
	session *session.Session // for legacy clients: session
	rule    rule             // route, patience; validate brings lists, modes notes the server's own progress
	trace   spanContext      // send, many
	reply   answer.Reply     // the only way back to the client: any stage
	out     outcome          // how the call is going, and how it ended: any stage
	sent    attempt          // the last attempt: repeat, until finish passes on a stream

	ctx      context.Context
	cancel   context.CancelCauseFunc
	deadline *deadline.Deadline
	recheck  *access.Recheck // of a caller who was verified

	in     *answer.Inbound // what the server sends: send, with modes and deliver
	of     *outer          // for a nested call, what it is a part of: many
	once   *keyed          // it is made once, and this is the first: once
	member *memberConn     // and its server: many

	start  *startup         // what it asks if its client starts: route
	alone  bool             // the server says nothing on the stream, which stays open for what the gateway says: pins
	later  next             // passes on a stream without an end of its own, once the stages are left: modes, deliver
	beside *upstream.Beside // what the server's program writes meanwhile: route

	mask    *redact.Masker // created for the first failure: translate; connect changes it, deliver drops it
	shown   string         // what it lets a person see: translate
	held    bool           // the backend is held
	tainted bool           // the memory is not used again: finish after a panic, hedge, whose other attempt may still be under way
}

// A request is what a client sent. It does not change after receive.
type request struct {
	ctx    context.Context
	method string      // of HTTP: POST, GET or DELETE
	header http.Header // over stdio and for a nested call, only what MCP defines
	// from says who sends it, and where to: its URL, Host, address and TLS; over HTTP it has the body as well.
	from *http.Request
	id   string // every log entry and answer carries it
	user string // from the path, as it was sent

	public string // the gateway's URL, if the configuration says it

	stdio     bool          // it comes from a host on stdio
	intake    intake.Intake // reads it
	overLimit bool          // its host has too many calls under way
	nested    bool          // it is made for another one, at an endpoint with several servers
	inquires  bool          // it is made by the gateway, to find out what became of another one
	parsed    *wire.Message // the message, if it has been parsed already: until receive

	era  wire.Era
	msg  *wire.Message
	body []byte // a connection may read it even after the call
}

// come says where and how the request has come.
func (r *request) come(ctx context.Context, method string, header http.Header, from *http.Request) {
	r.ctx, r.method, r.header, r.from = ctx, method, header, from
}

// only returns the value of a header, or "" if the client has sent it more than once.
func (r *request) only(header string) string {
	if values := r.header[header]; len(values) == 1 {
		return values[0]
	}
	return ""
}

func (r *request) isCall() bool { return r.msg.Method == wire.MethodToolsCall }

// parse reads the message in body, unless that has been done.
func (r *request) parse() error {
	if r.parsed == nil {
		return wire.Parse(r.body, r.msg)
	}
	*r.msg, r.parsed = *r.parsed, nil
	return nil
}

// change replaces the request's params.
func (r *request) change(params json.Value) *recourse.Error {
	r.body = wire.Splice(nil, r.body, wire.Edit{At: r.msg.ParamsAt, With: params})
	if err := wire.Parse(r.body, r.msg); err != nil {
		return internal(err)
	}
	return nil
}

// asks reports whether the client expects an answer, that is, whether its message is a JSON-RPC request.
func (r *request) asks() bool { return r.method == http.MethodPost && r.msg.Kind == wire.Request }

// A rule is what applies to the call of a tool, or to another request.
type rule struct {
	config.Tool

	nature   retry.Nature
	assumed  bool            // nobody says what the tool does: that it writes is an assumption
	profiled bool            // only the server's profile does
	list     *toollist.List  // nil: not known
	again    string          // the value of the argument by which the call is meant again
	listed   toolcall.Listed // what the list says about the tool

	wait        time.Duration // for which the tool itself waits for work that takes long
	patient     bool          // the client is told of progress meanwhile: patience
	reports     bool          // the server reports the progress of that
	told        int           // how often the gateway has done so instead
	unconfirmed bool          // the list is not the server's present one, which it does not give
}

type (
	// A stage passes a call on to the next one, or ends it. It returns nil when the client has its answer.
	stage = func(c *call, next next) *failure
	next  = func(c *call) *failure // the rest of the stages

	// A step is a stage of a single attempt.
	step = func(a *attempt, try try) end
	try  = func(a *attempt) end // the rest of the steps

	failure = answer.Failure
	end     = answer.End
)

// The stages of a call: those around it, those that let it in, and those of its endpoint, which carry it out. The
// last one is repeat, which takes each attempt through the steps.
var (
	around   = []stage{finish, translate}
	entrance = []stage{admit, authenticate, receive, trace, findSession}
	stages   = slices.Concat(around, entrance, []stage{carryOut})
	nested   = slices.Concat(around, []stage{carryOut}) // for a call that another endpoint has let in

	enforced = []stage{connect, status, lastKnown, route, patience, authorize, validate, connected, enter, throttle, once, holdOpen}
	steps    = []step{hedge, queue, holdBack, prepare, spread, send}

	// What an observing endpoint does not do is not among these.
	observed      = []stage{connect, route, authorize, validate, connected, throttle}
	observedSteps = []step{holdBack, prepare, send}
)

// carryOut takes a call through the stages of its endpoint.
func carryOut(c *call, _ next) *failure { return c.on.work(c) }

// pipeline returns those stages, with repeat and those steps at the end.
func pipeline(stages []stage, steps []step) next {
	try := chain(steps)
	return chain(append(slices.Clip(stages), func(c *call, _ next) *failure { return repeat(c, try) }))
}

func chain[C, R any](stages []func(C, func(C) R) R) func(C) R {
	var rest func(C) R
	for _, this := range slices.Backward(stages) {
		following := rest
		rest = func(c C) R { return this(c, following) }
	}
	return rest
}

// calls keeps the memory of past calls: windows, parsers and timers. Each gateway has its own, since timers
// belong to the clock in use.
type calls struct{ sync.Pool }

// maxKept limits the memory that an idle call keeps.
const maxKept = 512 << 10

func (g *Gateway) newCall() *call {
	c, ok := g.calls.Get().(*call)
	if !ok {
		c = emptyCall()
	}
	c.g, c.reply.Call = g, c
	c.take(g.table.Load())
	c.out.Began, c.out.Lot = time.Now(), rand.Float64()
	return c
}

// take makes a configuration the call's.
func (c *call) take(t *table) { c.table, c.req.public = t, t.config.PublicURL }

// serve answers the call.
func (c *call) serve() {
	c.req.id = wire.RequestID(c.req.header.Get(wire.HeaderRequestID))
	c.reply.Header()[wire.HeaderRequestID] = []string{c.req.id}
	_ = c.table.serve(c) // the client has its answer
}

// emptyCall returns a call with the memory that every call needs.
func emptyCall() *call {
	c := &call{deadline: new(deadline.Deadline), recheck: new(access.Recheck), req: request{msg: new(wire.Message)}}
	unmet := func(result []byte) *recourse.Error { return c.rule.unmet(c.on, c.req.msg, result) }
	c.in = answer.NewInbound(c.masker, c.spareLinks, c.notice, unmet, c.edit)
	return c
}

// within limits the time of the call: it ends after quiet without a sign of life, and after most in any case.
func (c *call) within(quiet, most time.Duration) {
	c.ctx, c.cancel = context.WithCancelCause(c.req.ctx)
	c.deadline.Start(quiet, most, c.cancel, c.on.timedOut)
	c.recheck.Ends(c.cancel)
}

// detach lets the call go on until its client, its caller's access or the gateway ends it: it loses its deadline, and its
// backend may be replaced.
func (c *call) detach() {
	c.deadline.Stop()
	c.cancel(nil)
	ctx, cancel := context.WithCancelCause(c.req.ctx)
	release := context.AfterFunc(c.on.backend.Streams, func() { cancel(nil) })
	c.ctx, c.cancel = ctx, func(cause error) { release(); cancel(cause) }
	c.recheck.Ends(c.cancel)
	c.leave()
}

// pauseDeadline is called before the call waits for a place, and its result after that. The wait has a limit of its
// own: the full timeout is for the server.
func (c *call) pauseDeadline() (waited func()) {
	began := time.Now()
	c.deadline.Suspend()
	return func() {
		c.deadline.Alive()
		c.out.Queued += time.Since(began)
	}
}

// base returns the URL under which the client knows the gateway.
func (r *request) base() string { return door.Base(r.from, r.public) }

// url returns the URL of the request as its client knows it.
func (r *request) url() string { return door.URL(r.from, r.public) }

// left reports whether the client has gone.
func (r *request) left() bool { return r.ctx.Err() != nil }

// release ends the call, and keeps its memory for another one.
func (c *call) release() {
	if c.in.HasQuestion {
		c.session.Questions.Drop(c.deadline)
	}
	c.deadline.Stop()
	c.recheck.Stop()
	if c.cancel != nil {
		c.cancel(context.Canceled)
	}
	c.leave()
	c.req.intake.Release()
	if c.tainted || cap(c.req.body) > maxKept {
		return
	}
	g := c.g
	c.forget()
	g.calls.Put(c)
}

// forget resets c for another request: only its memory is kept.
func (c *call) forget() {
	clear(c.out.Attempts)
	c.out.allowance.Clear()
	c.req.msg.Reset()
	c.in.Forget()
	timer, recheck, msg, in, attempts, allowance := c.deadline, c.recheck, c.req.msg, c.in, c.out.Attempts, c.out.allowance
	*c = call{}
	c.deadline, c.recheck, c.req.msg, c.in, c.out.Attempts, c.out.allowance = timer, recheck, msg, in, attempts[:0], allowance
}

// enter finds the endpoint that the request is for, and holds its backend open until the call has ended. It
// reports false if there is none.
func (c *call) enter() bool {
	for {
		on, user, ok := c.table.find(c.req.from.URL)
		if !ok {
			return false
		}
		if c.hold(on) {
			c.req.user = user
			return true
		}
		c.take(c.g.table.Load()) // the backend was closed because its table was replaced
	}
}

// hold gives the call that endpoint and holds its backend open. It reports false if the target is already
// closed.
func (c *call) hold(on *endpoint) bool {
	if !on.backend.Hold() {
		return false
	}
	c.on, c.held = on, true
	c.reply.Passes = on.passes
	return true
}

// leave releases the backend, once: when the call ends, or when it becomes a stream without an end of its own.
func (c *call) leave() {
	if c.held {
		c.held = false
		c.on.backend.Leave()
	}
}
