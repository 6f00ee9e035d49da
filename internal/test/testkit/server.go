package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// An AnswerForm is how the server answers a POST: with one JSON object or with an event stream.
type AnswerForm int

const (
	// JSON is an application/json body.
	JSON AnswerForm = iota
	// SSE is a text/event-stream body.
	SSE
)

// String returns the form's name.
func (f AnswerForm) String() string {
	if f == SSE {
		return "SSE"
	}
	return "JSON"
}

// A Server is an MCP server over Streamable HTTP that behaves until a [Fault] is scripted with Next or
// Always. It speaks both eras, told apart by each request's MCP-Protocol-Version, at every path. It only uses
// net/http, so that every byte it sends is its own. A Server is safe for concurrent use.
type Server struct {
	form      AnswerForm
	sessioned bool
	eras      []Era
	addr      string
	port      io.Closer // its reservation, until the server is closed; nil in memory

	lifeMu   sync.Mutex // held while the listener is replaced
	listener *loopback  // nil while stopped
	closed   bool       // for good

	restarts sync.WaitGroup // restarts started by a fault

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at every change of the fields below
	restarted error         // the error when a fault restarted the server
	ledger    tallies
	script    script
	tools     Tools
	orders    map[string]int // how many times an order was created, by reference
	sessions  map[string]*legacyClient
	streams   map[*subscription]struct{} // open subscriptions/listen streams
	asked     int                        // requests to clients so far, for their ids
}

// An Option changes how a [Server] behaves without faults.
type Option func(*Server)

// WithForm sets the form of answers that need no event stream; the default is [JSON].
func WithForm(form AnswerForm) Option { return func(s *Server) { s.form = form } }

// WithoutSessions makes the legacy era work without Mcp-Session-Id, which the protocol allows.
func WithoutSessions() Option { return func(s *Server) { s.sessioned = false } }

// WithEra makes the server refuse the other era; the default is both.
func WithEra(era Era) Option { return func(s *Server) { s.eras = []Era{era} } }

// WithTools adds tools to those that every server has.
func WithTools(tools ...Tool) Option {
	return func(s *Server) { s.tools = append(s.tools, tools...) }
}

// NewServer starts a server that is closed when the test ends.
func NewServer(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s, err := StartServer(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// StartServer starts a server on a free loopback port. The caller closes it.
func StartServer(opts ...Option) (*Server, error) {
	s := &Server{
		sessioned: true,
		eras:      []Era{Legacy, Modern},
		changed:   make(chan struct{}),
		ledger:    newLedger(),
		tools:     BuiltinTools(),
		orders:    make(map[string]int),
		sessions:  make(map[string]*legacyClient),
		streams:   make(map[*subscription]struct{}),
	}
	for _, opt := range opts {
		opt(s)
	}
	if s.addr == "" {
		var err error
		if s.addr, s.port, err = reserve(); err != nil {
			return nil, err
		}
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the URL of the MCP endpoint; it stays the same across restarts.
func (s *Server) URL() string { return "http://" + s.addr + "/mcp" }

// Addr returns the host and port that the server listens on; it stays the same across restarts.
func (s *Server) Addr() string { return s.addr }

// Start listens again after [Server.Stop], on the same port. It does nothing while the server runs.
func (s *Server) Start() error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	return s.start()
}

func (s *Server) start() error {
	if s.listener != nil || s.closed {
		return nil
	}
	l, err := listen(s.addr, http.HandlerFunc(s.serve))
	if err != nil {
		return err
	}
	s.listener = l
	return nil
}

// Stop closes the listener and every connection, even during requests, and waits until nothing is left. Until
// Start, connections are refused: nobody else gets the port. The sessions survive: see [Server.ForgetSessions].
func (s *Server) Stop() error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	return s.stop()
}

func (s *Server) stop() error {
	if s.listener == nil {
		return nil
	}
	err := s.listener.stop()
	s.listener = nil
	return err
}

// Restart restarts the server as a deployment does: it stops, forgets its sessions, and comes back on the
// same port.
func (s *Server) Restart() error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	if err := s.stop(); err != nil {
		return err
	}
	s.ForgetSessions()
	if err := s.start(); err != nil {
		return err
	}
	s.update(func() { s.ledger.restarts++ })
	return nil
}

// RestartSoon restarts the server from inside a request, and so ends the request.
func (s *Server) RestartSoon() {
	s.restarts.Go(func() {
		err := s.Restart()
		s.update(func() { s.restarted = errors.Join(s.restarted, err) })
	})
}

// Close stops the server for good and waits for its last goroutine.
func (s *Server) Close() error {
	s.lifeMu.Lock()
	s.closed = true
	err := s.stop()
	if s.port != nil {
		_ = s.port.Close()
	}
	s.lifeMu.Unlock()
	s.restarts.Wait() // none can start any more: requests start them
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.restarted, err)
}

// update changes the server's state under its lock and wakes those who wait for a change.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// read reads the server's state under its lock, and returns a channel that is closed at the next change.
func (s *Server) read(look func()) (changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look()
	return s.changed
}

// Await waits until cond returns true. It checks again after each request, execution, answer and stream; cond
// may call every method of the server. The error is ctx's.
func (s *Server) Await(ctx context.Context, cond func() bool) error {
	for {
		changed := s.read(func() {})
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("testkit: await: %w", context.Cause(ctx))
		}
	}
}

func (s *Server) speaks(era Era) bool { return slices.Contains(s.eras, era) }
