package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Of the headers with which it was opened, a session keeps only those that are forwarded, and only if they are short.
func TestSessionsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', forward: [x-tenant]}}\n")
	f := &gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}
	open := func(header http.Header) *testkit.Client {
		c := testkit.NewClient(t, f.URL, testkit.Legacy)
		c.Header = header
		c.MustInitialize(t)
		return c
	}
	kept := func(header http.Header) int {
		_, before := gateway.SessionBytes(g, "/farm/mcp")
		open(header)
		_, after := gateway.SessionBytes(g, "/farm/mcp")
		return after - before
	}
	long := []string{strings.Repeat("k=v,", 15_000)}
	plain := kept(nil)
	for _, name := range []string{"Baggage", "Tracestate", "Traceparent", "Last-Event-Id", "Mcp-Param-X", "X-Request-Id"} {
		if n := kept(http.Header{name: long}); n > plain+100 {
			t.Errorf("%s: got %d bytes, and %d without it", name, n, plain)
		}
	}
	if n := kept(http.Header{"X-Tenant": {"a"}}); n < plain+len("X-Tenanta") {
		t.Errorf("a forwarded header: got %d bytes, and %d without it", n, plain)
	}
	if n := kept(http.Header{"X-Tenant": long}); n > plain {
		t.Errorf("a long header: got %d bytes, want none of it", n)
	}
}

// A lost session is opened again with the forwarded headers of its client, but without tracing.
func TestSessionIsReopenedWithoutTracing(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "forward: [x-tenant]")
	c := testkit.NewClient(t, f.URL, testkit.Legacy)
	c.Header = http.Header{"X-Tenant": {"a"}, "Baggage": {"k=v"}, "Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	c.MustInitialize(t)
	srv.ForgetSessions()
	a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	opened := srv.RequestsFor("initialize")
	if len(opened) != 2 {
		t.Fatalf("got %d initializations", len(opened))
	}
	first, again := opened[0].Header, opened[1].Header
	if first.Get("Baggage") == "" || again.Get("Baggage") != "" || again.Get("Traceparent") != "" {
		t.Errorf("got header %v, and then %v", first, again)
	}
	if again.Get("X-Tenant") != "a" || again.Get("X-Request-Id") == first.Get("X-Request-Id") {
		t.Errorf("got header %v, and then %v", first, again)
	}
}
