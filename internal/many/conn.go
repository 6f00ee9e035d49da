package many

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// Names are how clients know what a server calls otherwise.
type Names interface {
	// Offered returns the name that clients see; it reports false for what is not offered.
	Offered(local string) (name string, ok bool)
	// Local is the reverse.
	Local(offered string) (name string, ok bool)
	// Allows reports whether a name or URI of the server's own is offered.
	Allows(local string) bool
}

// Server is one of the servers of a [Conn]. It does not change.
type Server struct {
	Name  string // among the others
	Title string // for people
	Names Names
	// Place tells the server from another one that takes its name later: lists are kept of a place.
	Place string

	// Relay carries a client's request to the server, whose answer is the client's. Ask carries one whose
	// answer is read here: the body has a method Failure where it is one.
	Relay, Ask upstream.Connection
	// Of returns whose lists the sender of a request sees: the zero Caller where all see the same.
	Of func(r *upstream.Request) upstream.Caller
	// Note logs what the operator has to know of the server.
	Note func(text string)
}

// Failing is the body of an answer that says what has failed; nil: nothing.
type Failing interface{ Failure() *recourse.Error }

// Options are what a [Conn] goes by.
type Options struct {
	Title    string // of all of them, for people
	Version  string
	Servers  []*Server
	Deadline time.Duration // of a list for one server
	Time     time.Duration // of the same in the background
}

// Conn is several servers as one. It is safe for concurrent use.
type Conn struct {
	kept *kept

	life context.Context //nolint:containedctx // of the work in the background, not of a request
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
	noted  map[string]bool // what was noted about servers

	options   atomic.Pointer[Options]
	listeners listeners
}

var _ upstream.Connection = (*Conn)(nil)

// New returns the connection to several servers. What they list is kept in a file; "": in memory only. What is
// wrong with the file is noted.
func New(file string, options *Options, note func(text string)) *Conn {
	c := &Conn{kept: newKept(file, note)}
	c.life, c.end = context.WithCancel(context.Background())
	c.options.Store(options)
	return c
}

// Adopt replaces the servers. Clients that listen are notified.
func (c *Conn) Adopt(options *Options) {
	before := c.options.Swap(options)
	if !slices.Equal(before.Servers, options.Servers) {
		c.listeners.restart()
	}
}

// Name returns what people call all of them.
func (c *Conn) Name() string { return c.options.Load().Title }

// Era is that of the requests that it takes.
func (c *Conn) Era() wire.Era { return wire.Modern }

// Close ends what goes on in the background, and waits for the end. The connections to the servers stay open.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.work.Wait()
	c.kept.close()
}

// background runs f as work that Close waits for. It reports false when the connection is closed.
func (c *Conn) background(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// Do implements [upstream.Connection] for messages of the modern era.
func (c *Conn) Do(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	if r.IsPost() && r.Message == nil {
		m := new(wire.Message)
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
		return wire.Respond(http.StatusAccepted, nil), nil // it is about nothing that an endpoint knows of
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

// refused is the failure of a request that went to no server.
func refused(kind recourse.Kind) *recourse.Error {
	return recourse.New(kind, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}

// requestTo returns a request for a server: m's, with the edits.
func requestTo(r *upstream.Request, edits ...wire.Edit) *upstream.Request {
	to := *r
	to.Header, to.Message = r.Header.Clone(), nil
	if to.Body = r.Message.Raw; len(edits) > 0 {
		to.Body = wire.Splice(make([]byte, 0, len(to.Body)+64), r.Message.Raw, edits...)
	}
	return &to
}

// askFor returns a request of the endpoint's own for the sender of r.
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
