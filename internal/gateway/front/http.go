package front

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	headerTimeout  = 10 * time.Second
	keepAlive      = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// HTTP lets clients in over HTTP.
type HTTP struct {
	Handler http.Handler
	Log     *slog.Logger // reports what clients do wrong below HTTP
	// TLS is the configuration for clients over TLS, with HTTP/2. nil means plain HTTP.
	TLS *tls.Config
	// Drain is called when no new requests are accepted any more: it ends what has no end of its own.
	Drain func()
	// Delay says how long requests are still accepted after ctx has ended; nil: not at all. Answers then ask
	// clients to close their connections, which would otherwise be closed while the next request is on its
	// way.
	Delay func() time.Duration
	// Writing is how long a client may take to receive a piece of an answer, and Ending how long when Serve
	// ends; 0 means a minute, and 5 s.
	Writing, Ending time.Duration
}

func (h *HTTP) server(handler http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
		ConnContext:       withConn,
	}
	if h.TLS != nil {
		srv.TLSConfig = h.TLS
		srv.Handler = patient{handler, cmp.Or(h.Writing, writeTimeout)}
	}
	return srv
}

// leaving asks clients to close their connections, once it is told to.
type leaving struct {
	http.Handler

	begun atomic.Bool
}

func (l *leaving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.begun.Load() {
		w.Header().Set("Connection", "close") // over HTTP/2 it becomes GOAWAY
	}
	if c, ok := r.Context().Value(connKey{}).(*clientConn); ok {
		c.handle(r)
		defer c.handled()
	}
	l.Handler.ServeHTTP(w, r)
}

// Serve answers requests on ln until ctx ends and Delay has passed; it then accepts no new ones, and gives
// those in progress up to grace to finish. It closes ln. After the end of ctx, the error is nil unless calls
// had to be aborted.
//
// There is no time limit for an answer, which is up to the handler. But clients must read: one that takes
// nothing for a time is disconnected.
func (h *HTTP) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	conns := newClientConns(ln, cmp.Or(h.Writing, writeTimeout), cmp.Or(h.Ending, endTimeout))
	failed := make(chan error, 1)
	leaving := &leaving{Handler: h.Handler}
	srv := h.server(leaving)
	var serving sync.WaitGroup
	serve := srv.Serve
	if h.TLS != nil {
		serve = func(ln net.Listener) error { return srv.ServeTLS(ln, "", "") }
	}
	serving.Go(func() { failed <- serve(conns) })
	defer serving.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	leaving.begun.Store(true)
	if h.Delay != nil {
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-time.After(h.Delay()):
		}
	}
	conns.finish(context.WithoutCancel(ctx))
	h.Drain()
	conns.end()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = srv.Close() // the rest is aborted
		return fmt.Errorf("calls were still under way after %s and had to be cut off", grace)
	}
	if err != nil && !errors.Is(err, net.ErrClosed) { // the listener is closed already
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
