package inject_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// plan reads a plan for MCP over HTTP.
func plan(t *testing.T, traffic inject.Traffic, text string) *inject.Plan {
	t.Helper()
	p, err := inject.Parse("faults.yaml", []byte(text), inject.Options{Traffic: traffic})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// base returns a transport that reaches listeners in memory.
func base(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: testkit.Dial, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// serve serves a handler in memory, and returns its URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := inject.Server(handler)
	server.BaseContext = func(net.Listener) context.Context { return t.Context() }
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return "http://" + listener.Addr().String()
}

// front puts an injector in front of a server, and returns it with its URL for clients.
func front(t *testing.T, traffic inject.Traffic, target, faults string) (*inject.Injector, string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	injector := inject.New(plan(t, traffic, faults))
	return injector, serve(t, inject.Front(inject.NewTransport(injector, traffic, base(t)), u)) + u.Path
}

// connect returns a client with an open session.
func connect(t *testing.T, at string, era testkit.Era) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, at, era)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

// soon returns a context with a deadline that leaves time for every answer.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
