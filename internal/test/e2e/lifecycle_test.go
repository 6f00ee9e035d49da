package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A deployment is one address with a replaceable handler; each handler knows nothing about the sessions of the one
// before.
type deployment struct {
	mu      sync.Mutex
	handler http.Handler
	life    context.Context
	end     context.CancelFunc
}

func deploy(handler http.Handler) *deployment {
	d := &deployment{handler: handler}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// replace replaces the handler and ends all current requests, like a restart.
func (d *deployment) replace(handler http.Handler) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
	d.handler = handler
	d.life, d.end = context.WithCancel(context.Background())
}

// ServeHTTP implements [http.Handler].
func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	handler, life := d.handler, d.life
	d.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	handler.ServeHTTP(w, r.WithContext(ctx))
}

// proxyTo returns a handler that forwards everything to a server.
func proxyTo(t *testing.T, target string) http.Handler {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // closing a stream is not an error
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	// The body is read first: with a ReverseProxy, an answer that begins before the end of the request sometimes breaks off.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

func goSDKHandler(t *testing.T) http.Handler {
	t.Helper()
	handler, closeSessions := newGoHandler(testkit.Legacy)
	t.Cleanup(closeSessions)
	return handler
}

func mcpGoHandler(t *testing.T) http.Handler {
	t.Helper()
	handler, closeSessions := newMCPGoHandler()
	t.Cleanup(closeSessions)
	return handler
}

// restart replaces the server behind a program's session. The new server does not know that session and says so; the
// program does not notice.
func restart(ctx context.Context, t *testing.T, p program, before, after http.Handler) {
	t.Helper()
	d := deploy(before)
	if err := p.connect(ctx, start(t, testkit.Serve(t, d)+"/mcp").url, nil); err != nil {
		t.Fatal(err)
	}
	echo(ctx, t, p)
	d.replace(after)
	echo(ctx, t, p)
	echo(ctx, t, p)
}

func echo(ctx context.Context, t *testing.T, p program) {
	t.Helper()
	result, err := p.call(ctx, "echo", `{"message":"m"}`, 0)
	if err != nil || strings.Contains(string(result), `"isError":true`) {
		t.Errorf("echo: %v %s", err, result)
	}
}

// serverAway stops the server until the program has tried to reopen its stream. The program must keep the session
// although nobody answers.
func serverAway(ctx context.Context, t *testing.T, p program) {
	t.Helper()
	srv := testkit.NewServer(t)
	f := start(t, srv.URL())
	if err := p.connect(ctx, f.url, nil); err != nil {
		t.Fatal(err)
	}
	streamed := func() bool { return srv.Streams() == 1 }
	if err := srv.Await(ctx, streamed); err != nil {
		t.Fatal(err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	srv.ForgetSessions()
	for range 2 { // the first GET, and the one that tries to reopen the stream
		select {
		case <-f.opened:
		case <-ctx.Done():
			t.Fatal("the client did not reopen its stream")
		}
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	echo(ctx, t, p)
	if err := srv.Await(ctx, streamed); err != nil {
		t.Fatalf("the stream did not come back: %v", err)
	}
	srv.SetTools(testkit.Tool{Name: "fresh"})
	await(ctx, t, p, "notifications/tools/list_changed ")
}

// toolsChange changes the server's tools. The client is notified, and the gateway knows the new tool immediately.
func toolsChange(ctx context.Context, t *testing.T, p program) {
	t.Helper()
	srv := testkit.NewServer(t)
	if err := p.connect(ctx, start(t, srv.URL()).url, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.subscribe(ctx, ""); err != nil {
		t.Fatal(err)
	}
	echo(ctx, t, p)
	if err := srv.Await(ctx, func() bool { return srv.Streams() == 1 }); err != nil {
		t.Fatal(err)
	}
	srv.SetTools(testkit.Tool{Name: "fresh"})
	await(ctx, t, p, "notifications/tools/list_changed ")
	if result, err := p.call(ctx, "fresh", `{}`, 0); err != nil || !strings.Contains(string(result), `"ok"`) {
		t.Errorf("fresh: %v %s", err, result)
	}
}

// If a server refuses a notification, the session continues.
func TestRefusedNotification(t *testing.T) {
	t.Parallel()
	const cancelled = "notifications/cancelled"
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed} {
			t.Run(fmt.Sprintf("%s/%d", era, status), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				srv := testkit.NewServer(t)
				p := newGoProgram(t, era.Version()) // this SDK alone ends its session after a 4xx
				if err := p.connect(ctx, start(t, srv.URL()).url, nil); err != nil {
					t.Fatal(err)
				}
				srv.Always(cancelled, faults.Status(status, faults.RPC))
				srv.Next(testkit.Echo, faults.Hang())
				if result, err := p.call(ctx, testkit.Echo, `{"message":"m"}`, brief); err == nil {
					t.Fatalf("the client did not give up: %s", result)
				}
				if err := srv.Await(ctx, func() bool { return srv.Messages(cancelled) > 0 }); err != nil {
					t.Fatal(err)
				}
				for range 3 { // a failed notification may show only later
					echo(ctx, t, p)
				}
			})
		}
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	negotiate(t, servers()...)
}

// negotiate checks that clients negotiate the newest version of the protocol, whatever the server speaks.
func negotiate(t *testing.T, servers ...server) {
	t.Helper()
	type negotiator interface {
		program

		negotiated() string
	}
	for name, open := range map[string]func(*testing.T) negotiator{
		"Go SDK 1.8": func(t *testing.T) negotiator {
			t.Helper()
			return newGoProgram(t, "")
		},
		"TypeScript client 2.4": func(t *testing.T) negotiator {
			t.Helper()
			return newNodeProgram(t, sdk.TSv2, sdk.TSConnect{Era: testkit.Modern, Negotiate: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := open(t)
			for _, server := range servers {
				if err := p.connect(ctx, server.front(t).url, nil); err != nil {
					t.Fatalf("%s: %v", server.name, err)
				}
				if got, want := p.negotiated(), testkit.Modern.Version(); got != want {
					t.Errorf("%s: negotiated %s, want %s", server.name, got, want)
				}
				echo(ctx, t, p)
			}
		})
	}
}
