package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A loopback serves a handler on a loopback port, or in memory, until it is stopped, and tracks all of its
// goroutines.
type loopback struct {
	http   *http.Server
	cancel context.CancelFunc
	served chan struct{}  // closed when Serve has returned
	conns  sync.WaitGroup // one for each connection, including hijacked ones
	addr   string
}

// connKey is the context key of a connection's *connection.
type connKey struct{}

// A connInfo is what a handler may know about its request's connection.
type connInfo struct {
	stopped  func() bool // whether the listener has been stopped
	hijacked bool        // written and read by the connection's own goroutine
}

// listen serves handler on addr, "127.0.0.1:0" for a free port.
func listen(addr string, handler http.Handler) (*loopback, error) {
	base, cancel := context.WithCancel(context.Background())
	socket, err := bind(base, addr)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &loopback{cancel: cancel, served: make(chan struct{}), addr: socket.Addr().String()}
	l.http = &http.Server{
		Handler:           l.account(handler),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			stopped := func() bool { return base.Err() != nil }
			return context.WithValue(ctx, connKey{}, &connInfo{stopped: stopped})
		},
		ConnState: l.connState,
	}
	go func() {
		defer close(l.served)
		_ = l.http.Serve(socket) // always http.ErrServerClosed: only stop ends it
	}()
	return l, nil
}

// bind listens on addr. A port that was in use a moment ago may take a moment to be free again.
func bind(ctx context.Context, addr string) (net.Listener, error) {
	if IsInMemory(addr) {
		return listenMemory(addr)
	}
	const patience, pause = 5 * time.Second, 5 * time.Millisecond
	deadline := time.Now().Add(patience)
	for {
		socket, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err == nil {
			return socket, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("testkit: listen on %s: %w", addr, err)
		}
		time.Sleep(pause)
	}
}

// account makes sure that a hijacked connection counts as open until its handler has returned.
func (l *loopback) account(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if c, ok := r.Context().Value(connKey{}).(*connInfo); ok && c.hijacked {
				l.conns.Done()
			}
		}()
		handler.ServeHTTP(w, r)
	})
}

func (l *loopback) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.conns.Add(1)
	case http.StateClosed:
		l.conns.Done()
	case http.StateActive, http.StateIdle, http.StateHijacked:
		// StateHijacked: account waits for the handler.
	}
}

// stop closes the socket and every connection, ends the context of every request and waits for all of them.
func (l *loopback) stop() error {
	l.cancel()
	err := l.http.Close()
	<-l.served
	// A connection that was accepted while the first Close ran is closed by the second.
	err = errors.Join(err, l.http.Close())
	l.conns.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("testkit: close %s: %w", l.addr, err)
	}
	return nil
}

// A Conn is a connection that can be reset: closed after SetLinger(0).
type Conn interface {
	net.Conn

	SetLinger(sec int) error
}

// Hijack takes the connection from net/http. The caller closes it.
func (e *Exchange) Hijack() (Conn, error) {
	raw, _, err := http.NewResponseController(e.w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("testkit: hijack: %w", err)
	}
	if c, ok := e.r.Context().Value(connKey{}).(*connInfo); ok {
		c.hijacked = true
	}
	conn, ok := raw.(Conn)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("testkit: hijack: %T cannot be reset", raw)
	}
	return conn, nil
}

// Serve serves handler on a free loopback port until the test ends, and returns its address as a URL without a path.
// Handlers must end when their request's context does.
func Serve(tb testing.TB, handler http.Handler) string {
	tb.Helper()
	return serve(tb, "127.0.0.1:0", handler)
}

func serve(tb testing.TB, addr string, handler http.Handler) string {
	tb.Helper()
	l, err := listen(addr, handler)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.stop(); err != nil {
			tb.Error(err)
		}
	})
	return "http://" + l.addr
}

// WriteJSON answers with a status and a JSON text.
func WriteJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", protocol.TypeJSON)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may have gone, which is fine
}

// RefusedURL returns the URL of an MCP endpoint on whose port nobody listens: a connection to it is refused.
// The port is tcpmux's, which no operating system assigns as a free port, so that parallel tests cannot take
// it.
func RefusedURL() string { return "http://127.0.0.1:1/mcp" }

// UnresolvableURL returns the URL of an MCP endpoint whose host does not exist. Its first label is longer
// than the 63 octets that RFC 1035 allows, so that resolvers refuse it without a query.
func UnresolvableURL() string {
	const maxLabel = 63
	return "http://" + strings.Repeat("x", maxLabel+1) + ".invalid/mcp"
}
