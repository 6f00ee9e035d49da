package many

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/work"
)

// Names maps a server's own names to the names that clients see.
type Names interface {
	// Offered returns the name that clients see; it reports false if the item is not offered.
	Offered(local string) (name string, ok bool)
	// Local is the reverse of Offered.
	Local(offered string) (name string, ok bool)
	// Allows reports whether a name or URI, in the server's own spelling, is offered.
	Allows(local string) bool
}

// Source is one of the servers of a [Conn]. It is immutable.
type Source struct {
	Name  string // unique among the servers
	Title string // for people
	Names Names
	// Place tells the server from another one that has the same name later: lists are kept per place.
	Place string

	// Relay carries a client's request to the server, whose answer goes to the client. Ask carries a
	// request whose answer is read here. Answers state their Failure.
	Relay, Ask upstream.Connection
	// InOrder says that the server takes requests in their order, and loses none.
	InOrder bool
	// Always says that the server is asked for each list: what is shown of it may change at any time.
	Always bool
	// Of returns whose lists the sender of a request sees: the zero Caller if everybody sees the same
	// ones.
	Of func(r *upstream.Request) upstream.Caller
	// Note logs something about the server that the operator must know.
	Note func(text string)
}

// Options are the settings of a [Conn].
type Options struct {
	Title    string // of the whole, for people
	Servers  []*Source
	Deadline time.Duration // for one server to list
	Time     time.Duration // for the same in the background
}

// Conn makes several servers look like one. It is safe for concurrent use.
type Conn struct {
	kept *kept

	work *work.Group

	mu    sync.Mutex
	noted map[string]bool // the last note about each server
	hung  map[*Source]bool

	merging sync.Mutex            // guards merged, and lets one merge at a time
	merged  map[*listKind]*merged // the last one of each kind

	options   atomic.Pointer[Options]
	listeners listeners
}

var _ upstream.Connection = (*Conn)(nil)

// New returns the connection to several servers. Their lists are kept in a file; "" keeps them in
// memory only. Problems with the file are reported through note.
func New(file string, options *Options, note func(text string)) *Conn {
	c := &Conn{kept: newKept(file, note), work: work.New(), hung: map[*Source]bool{}, merged: map[*listKind]*merged{}}
	c.options.Store(options)
	return c
}

// Adopt replaces the servers. Listening clients are notified.
func (c *Conn) Adopt(options *Options) {
	before := c.options.Swap(options)
	if !slices.Equal(before.Servers, options.Servers) {
		c.mu.Lock()
		clear(c.hung)
		c.mu.Unlock()
		c.listeners.restart()
	}
}

// Name returns the title of the whole, for people.
func (c *Conn) Name() string { return c.options.Load().Title }

// Era returns the era of the requests that it accepts.
func (c *Conn) Era() wire.Era { return wire.Modern }

// Close ends the work in the background, and waits for it. The connections to the servers stay open.
func (c *Conn) Close() {
	c.work.End()
	c.kept.close()
}

// Do implements [upstream.Connection] for messages of the modern era.
func (c *Conn) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if r.IsPost() && r.Message == nil {
		m := wire.BorrowMessage()
		defer m.Return()
		if err := wire.Parse(r.Body, m); err != nil {
			return wire.RespondMalformed(m.ID, err), nil
		}
		r.Message = m
	}
	m := r.Message
	switch {
	case m == nil:
		return wire.RespondRefusal(http.StatusMethodNotAllowed, "the modern era has no "+r.Method, http.MethodPost), nil
	case m.Kind != wire.Request:
		return wire.Respond(http.StatusAccepted, nil), nil // an endpoint has no use for it
	}
	if k := kindOf(m.Method); k != nil {
		return c.list(ctx, r, k)
	}
	switch m.Method {
	case wire.MethodDiscover:
		return c.discover(ctx, r)
	case wire.MethodToolsCall:
		return c.named(ctx, r, tools)
	case wire.MethodPromptsGet:
		return c.named(ctx, r, prompts)
	case wire.MethodResourcesRead:
		return c.read(ctx, r)
	case wire.MethodComplete:
		return c.complete(ctx, r)
	case wire.MethodListen:
		return c.listen(ctx, r)
	default:
		return nil, refused(recourse.KindUnknownMethod).WithMessage("%s has no method %.64q.", c.Name(), m.Method)
	}
}

// refused returns the failure of a request that was sent to no server.
func refused(kind recourse.Kind) *recourse.Error {
	return recourse.New(kind, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}

// requestTo returns a request for a server: r's message with the edits, and r's own headers.
func requestTo(r *upstream.Request, edits ...wire.Edit) *upstream.Request {
	to := *r
	if len(edits) > 0 {
		to.Message, to.Body = nil, wire.Splice(nil, r.Message.Raw, edits...)
	}
	return &to
}

// askFor returns a request by the endpoint itself on behalf of the sender of r.
func askFor(r *upstream.Request, id wire.ID, method string, params json.Members) *upstream.Request {
	to := *r
	to.Header = r.Header.Clone()
	for name := range to.Header {
		if len(name) > len(wire.HeaderParamPrefix) && name[:len(wire.HeaderParamPrefix)] == wire.HeaderParamPrefix {
			delete(to.Header, name)
		}
	}
	delete(to.Header, wire.HeaderName)
	to.Header[wire.HeaderVersion], to.Header[wire.HeaderMethod] = []string{wire.Version20260728}, []string{method}
	params.Add("_meta", json.Without(r.Message.Meta, wire.MetaProgressToken))
	to.Message, to.Body = nil, wire.AppendRequest(nil, id, method, params.AppendTo(nil))
	return &to
}
