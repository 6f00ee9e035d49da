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

	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/internal/testkit/faults"
	"github.com/recoursehq/recourse/internal/testkit/mcpgotest"
	"github.com/recoursehq/recourse/internal/testkit/sdk"
)

// A deployment is what answers at one address: one handler, then another that knows nothing of the first one's sessions.
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

// replace ends every request that is under way, as a restart does.
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

// proxyTo returns a handler that passes everything on to a server.
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
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // streams that are closed are no errors
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	} // It is read first: an answer that begins before a ReverseProxy has seen the end of the request breaks off now and then.
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
	handler, closeSessions := sdk.GoHandler(testkit.Legacy)
	t.Cleanup(closeSessions)
	return handler
}

func mcpGoHandler(t *testing.T) http.Handler {
	t.Helper()
	handler, closeSessions := mcpgotest.NewHandler()
	t.Cleanup(closeSessions)
	return handler
}

// restart replaces a server that the program has a session with. It has lost that session, and
// says so in its own way: the program does not notice.
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

// serverAway stops the server for longer than the program takes to open its stream again: that it finds nobody there is
// no reason to give up the session.
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
	for range 2 { // the first GET, and that with which the client comes back
		select {
		case <-f.opened:
		case <-ctx.Done():
			t.Fatal("the client does not open its stream again")
		}
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	echo(ctx, t, p)
	if err := srv.Await(ctx, streamed); err != nil {
		t.Fatalf("the stream has not come back: %v", err)
	}
	srv.SetTools(testkit.Tool{Name: "fresh"})
	await(ctx, t, p, "notifications/tools/list_changed ")
}

// toolsChange lets the server speak of its own accord. The gateway knows the new tool at once.
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

// A server that refuses a notification has refused that, and nothing else.
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
				p := newGoProgram(t, era.Version()) // the one SDK that ends its session over a 4xx
				if err := p.connect(ctx, start(t, srv.URL()).url, nil); err != nil {
					t.Fatal(err)
				}
				srv.Always(cancelled, faults.Status(status, faults.RPC))
				srv.Next(testkit.Echo, faults.Hang())
				if result, err := p.call(ctx, testkit.Echo, `{"message":"m"}`, brief); err == nil {
					t.Fatalf("the client does not give up: %s", result)
				}
				if err := srv.Await(ctx, func() bool { return srv.Messages(cancelled) > 0 }); err != nil {
					t.Fatal(err)
				}
				for range 3 { // the notification's fate may show late
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

// negotiate lets clients find out the version of the protocol, which is the newest, whatever the server speaks.
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
