package gateway

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/deadline"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// A call is one request of a client on its way through the stages. It holds what they tell
// each other, each part with the stage that fills it in; what else a stage has to remember
// is its own.
type call struct {
	g     *Gateway
	table *table // the configuration, as it was when the request came

	req     request          // what the client has sent: admit and receive
	on      *endpoint        // where: admit
	to      *target          // the server behind that, which is held: admit
	who     caller           // authenticate
	session *session.Session // of a legacy client: session
	account account.Account  // connect
	rule    rule             // route
	trace   spanContext      // trace
	reply   reply            // the only way to the client
	out     outcome          // how the call goes, and how it has ended

	ctx      context.Context //nolint:containedctx // of the work for the client: route
	cancel   context.CancelCauseFunc
	deadline *deadline.Deadline
	recheck  *access.Recheck // of a caller who was verified

	in     inbound // what the server sends: send
	outer  *outer  // at an endpoint with several servers, the request that nested calls are made for
	member *member // in a nested call, which server it is for

	told observe.Outcome // that observers are given
	mask *redact.Masker  // made for the first failure, see [call.masker]
	held bool            // the target is
}

// A request is what a client has sent. It does not change after receive.
type request struct {
	http *http.Request
	id   string // which every log and answer on its way names
	user string // that the path names, as it was sent
	// stdio says that it came over stdio, without headers of its own.
	stdio bool

	era   wire.Era
	msg   wire.Message
	body  []byte // a connection may read it even after the call
	bytes int64  // of it that are counted as in flight
}

// isCall reports whether the request calls a tool.
func (r *request) isCall() bool { return r.msg.Method == wire.MethodToolsCall }

// change gives the request other params.
func (r *request) change(params json.Value) *recourse.Error {
	r.body = wire.Splice(nil, r.body, wire.Edit{At: r.msg.ParamsAt, With: params})
	if err := wire.Parse(r.body, &r.msg); err != nil {
		return recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	return nil
}

// asks reports whether the client waits for an answer: whether its message is a JSON-RPC request.
func (r *request) asks() bool { return r.http.Method == http.MethodPost && r.msg.Kind == wire.Request }

// sentID returns the id of the request as the server knows it.
func (c *call) sentID() wire.ID {
	if c.in.id != nil {
		return c.in.id
	}
	return c.req.msg.ID
}

// A rule is what holds for the call of a tool, or for another request.
type rule struct {
	config.Tool

	nature retry.Nature
	list   *toolList       // nil: it is not known
	listed toolcall.Listed // what it says of the tool
}

// A stage passes a call on to the next one, or ends it. It returns nil when the client has its
// answer, a [*recourse.Error] when the call may be sent again, and a [*failure] when it is
// settled.
type stage func(c *call, next next) error

// next is the rest of the way.
type next func(c *call) error

// The way of a call: what surrounds it, what lets it in, and what carries it out. once belongs behind
// throttle.
var (
	around   = []stage{finish, translate}
	entrance = []stage{admit, authenticate, receive, trace, inSession}
	work     = []stage{connect, route, authorize, validate, connected, throttle, repeat, inBulkhead, holdBack, send}
	stages   = slices.Concat(around, entrance, work)
	nested   = slices.Concat(around, work) // of a call that another endpoint has let in
)

// chain joins stages.
func chain(stages []stage) next {
	var rest next
	for _, this := range slices.Backward(stages) {
		following := rest
		rest = func(c *call) error { return this(c, following) }
	}
	return rest
}

// calls keeps the memory of past calls: windows, parsers and timers. It is a gateway's own,
// since timers belong to where time passes.
type calls struct{ sync.Pool }

// maxKept bounds the memory that an idle call keeps.
const maxKept = 512 << 10

func (g *Gateway) newCall(w http.ResponseWriter, r *http.Request, id string, stdio bool) *call {
	c, ok := g.calls.Get().(*call)
	if !ok {
		c = &call{deadline: new(deadline.Deadline), recheck: new(access.Recheck)}
	}
	c.g, c.table = g, g.table.Load()
	c.req.http, c.req.id, c.req.stdio = r, id, stdio
	c.reply.w, c.reply.manner = w, enforcing{}
	c.out.began = time.Now()
	return c
}

// within bounds the time of the call: it ends when it has shown no sign of life for quiet,
// and at the latest after most.
func (c *call) within(quiet, most time.Duration) {
	c.ctx, c.cancel = context.WithCancelCause(c.req.http.Context())
	c.deadline.Start(quiet, most, c.cancel, c.to.timedOut)
	c.recheck.Ends(c.cancel)
}

// release ends the call, and keeps its memory.
func (c *call) release() {
	if c.in.asks {
		c.session.Questions.Drop(c.deadline)
	}
	c.deadline.Stop()
	c.recheck.Stop()
	if c.cancel != nil {
		c.cancel(context.Canceled)
	}
	c.leave()
	c.g.inFlight.bytes.Add(-c.req.bytes)
	if cap(c.req.body) > maxKept {
		return
	}
	g := c.g
	c.forget()
	g.calls.Put(c)
}

// forget makes c ready for another request: it keeps its memory, and nothing else.
func (c *call) forget() {
	clear(c.out.tries)
	clear(c.told.Attempts)
	c.out.allowance.clear()
	*c = call{
		deadline: c.deadline, recheck: c.recheck,
		req:  request{msg: c.req.msg},
		out:  outcome{tries: c.out.tries[:0], allowance: c.out.allowance},
		in:   inbound{messages: c.in.messages, scan: c.in.scan},
		told: observe.Outcome{Attempts: c.told.Attempts[:0]},
	}
	c.req.msg.Reset()
	c.in.scan.Reset()
	c.in.messages.Reset(nil, false, 0, 0)
}

// enter finds the endpoint that the request is for, and holds its target until the call is
// over. It reports false when there is none.
func (c *call) enter() bool {
	for {
		on, user, ok := c.table.find(c.req.http.URL)
		if !ok {
			return false
		}
		if c.hold(on) {
			c.req.user = user
			return true
		}
		c.table = c.g.table.Load() // the target was closed after its table had been replaced
	}
}

// hold makes the call one at that endpoint, whose target it holds. It reports false when that is closed already.
func (c *call) hold(on *endpoint) bool {
	if !on.target.hold() {
		return false
	}
	c.on, c.to, c.held = on, on.target, true
	c.reply.manner = on.manner
	return true
}

// leave ends the hold of the target, once: with the call, or when it becomes a stream
// without an end of its own.
func (c *call) leave() {
	if c.held {
		c.held = false
		c.to.leave()
	}
}
