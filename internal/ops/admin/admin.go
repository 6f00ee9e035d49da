// Package admin serves an operator's tools on a listener of its own: whether the gateway is alive (/healthz),
// whether it takes requests (/readyz), and its metrics (/metrics, in Prometheus's format).
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

// Admin is the operator's listener, and an observer of the gateway. It is safe for concurrent use.
type Admin struct {
	*metrics

	registry  *prometheus.Registry
	readiness readiness
	console   http.Handler // nil: none
	agents    http.Handler // tools for agents; nil: none
	profiles  bool
}

// New returns the listener for a gateway of that version; from are the parts that supply metrics.
func New(version string, from Sources) *Admin {
	a := &Admin{registry: prometheus.NewRegistry()}
	a.metrics = newMetrics(a.registry, version)
	a.registry.MustRegister(sources{from, a.tools})
	return a
}

// Drain makes /readyz answer 503 from now on: no new requests are taken.
func (a *Admin) Drain() {
	a.readiness.mu.Lock()
	defer a.readiness.mu.Unlock()
	a.readiness.draining = true
}

// Watch makes /readyz report when a part does not work. The gateway still serves, unless the error is
// [ErrNotReady]. check honours its context.
func (a *Admin) Watch(name string, check func(ctx context.Context) error) {
	a.readiness.mu.Lock()
	defer a.readiness.mu.Unlock()
	a.readiness.parts = append(a.readiness.parts, dependency{name, check})
}

// Show makes the listener also serve the console, at all other paths. Call it before [Admin.Handler].
func (a *Admin) Show(console http.Handler) { a.console = console }

// Offer makes the listener also serve tools to agents, at toolsPath. Call it before [Admin.Handler].
func (a *Admin) Offer(tools http.Handler) { a.agents = tools }

// Profile makes the listener also serve Go's profiles, at /debug/pprof/. Call it before [Admin.Handler].
func (a *Admin) Profile() { a.profiles = true }

// toolsPath is where agents find their tools.
const toolsPath = "/mcp"

// Handler returns the handler for an operator's tools.
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

// Serve answers on ln until ctx ends, then closes ln.
func (a *Admin) Serve(ctx context.Context, ln net.Listener, log *slog.Logger) {
	handler := a.Handler()
	if addr, ok := ln.Addr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		handler = ownNames(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape may be interrupted
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		log.LogAttrs(ctx, slog.LevelError, "the admin listener has ended", slog.String("cause", err.Error()))
	}
}

// ownNames refuses requests for names other than this machine's, with which a web page could read what is
// served on loopback.
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
