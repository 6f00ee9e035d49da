// Package admin is what an operator's tools ask a gateway, on a listener of its own: whether it lives (/healthz), whether it
// takes requests (/readyz), and what it has counted (/metrics, in Prometheus's form).
package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Admin is the listener of an operator, and an observer of the gateway. It is safe for concurrent use.
type Admin struct {
	*metrics

	registry  *prometheus.Registry
	readiness readiness
	console   http.Handler // nil: there is none
	agents    http.Handler // of agents' tools; nil: there are none
	profiles  bool
}

// New returns the listener for a gateway of that version, whose parts are asked for their figures.
func New(version string, from Sources) *Admin {
	a := &Admin{registry: prometheus.NewRegistry()}
	a.metrics = newMetrics(a.registry, version)
	a.registry.MustRegister(sources{from, a.tools})
	return a
}

// Drain says that no new requests are taken: /readyz answers 503 from now on.
func (a *Admin) Drain() {
	a.readiness.mu.Lock()
	defer a.readiness.mu.Unlock()
	a.readiness.draining = true
}

// Watch has /readyz say when a part does not work. The gateway serves all the same, unless the error is [ErrNotReady]. check honours
// its context.
func (a *Admin) Watch(name string, check func(ctx context.Context) error) {
	a.readiness.mu.Lock()
	defer a.readiness.mu.Unlock()
	a.readiness.parts = append(a.readiness.parts, part{name, check})
}

// Show has the listener also serve the console, at all other paths. It is called before [Admin.Handler].
func (a *Admin) Show(console http.Handler) { a.console = console }

// Offer has the listener also serve tools to agents, at toolsPath. It is called before [Admin.Handler].
func (a *Admin) Offer(tools http.Handler) { a.agents = tools }

// Profile has the listener also serve Go's profiles, at /debug/pprof/. It is called before [Admin.Handler].
func (a *Admin) Profile() { a.profiles = true }

// toolsPath is where agents find their tools.
const toolsPath = "/mcp"

// Handler returns what answers an operator's tools.
func (a *Admin) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", a.readiness.serve)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{
		Registry: a.registry, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError,
	}))
	if a.profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound) // it may hold secrets
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	if a.agents != nil {
		mux.Handle(toolsPath, a.agents)
	}
	if a.console != nil {
		mux.Handle("/", a.console)
	}
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	answerAs(w, status, "text/plain; charset=utf-8", text)
}

func answerAs(w http.ResponseWriter, status int, contentType, text string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that has gone needs no answer
}

// Serve answers on ln until ctx ends, and closes it.
func (a *Admin) Serve(ctx context.Context, ln net.Listener, log *slog.Logger) {
	handler := a.Handler()
	if addr, ok := ln.Addr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		handler = ownNames(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape may be broken off
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		log.LogAttrs(ctx, slog.LevelError, "the admin listener has ended", slog.String("cause", err.Error()))
	}
}

// ownNames refuses requests for other names than this machine's, by which a web page could read what is served on loopback.
func ownNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			answer(w, http.StatusForbidden, "not served under this name: use the address")
			return
		}
		next.ServeHTTP(w, r)
	})
}
