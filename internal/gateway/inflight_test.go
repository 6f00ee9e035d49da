package gateway_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// While large requests hold all the memory for requests, small ones still pass. Another large one is refused without an effect, and
// passes after the others have ended.
func TestBytesInFlight(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, log := gatewaytest.New(t, "max_request: 1MiB\nmax_in_flight: 1MiB\nservers: {farm: {url: '"+srv.URL()+"', timeout: 20s}}\n")
			f := &gatewaytest.Front{Log: log, URL: testkit.ServeInMemory(t, g) + "/farm/mcp"}
			c := f.Client(t, era)
			large := `{"message":"` + strings.Repeat("m", 900<<10) + `"}`
			srv.Next(testkit.Echo, faults.Hang())
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = c.Call(ctx, testkit.Echo, large) // cancelled
			}()
			if err := srv.Await(ctx, func() bool { return srv.Executions(testkit.Echo) == 1 }); err != nil {
				t.Fatal(err)
			}

			a, err := c.Call(t.Context(), testkit.Echo, large)
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("got %+v, %v", a, err)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != recourse.KindRateLimited || e.Origin != recourse.OriginGateway || e.Effect != recourse.EffectNone || e.RetryAfter != time.Second {
				t.Errorf("got %+v", e)
			}
			if a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
				t.Errorf("a small one: got %+v, %v", a, err)
			}

			cancel()
			<-done
			testkit.Eventually(t, "all bytes are given back", func() bool { return gateway.InFlight(g) == 0 })
			if a, err := c.Call(t.Context(), testkit.Echo, large); err != nil || !a.Succeeded() {
				t.Errorf("afterwards: got %v", err)
			}
			if n := srv.Executions(testkit.Echo); n != 3 { // all but the refused one
				t.Errorf("got %d calls at the server", n)
			}
		})
	}
}

// The memory reserved for a body counts before its first byte: clients that announce large bodies and send nothing cannot hold
// more than max_in_flight.
func TestBytesAnnounced(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, _ := gatewaytest.New(t, "max_request: 1MiB\nmax_in_flight: 2MiB\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
		url := testkit.ServeInMemory(t, g) + "/farm/mcp"
		address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/farm/mcp")
		const requests, size = 100, 64 << 10
		conns := make([]net.Conn, requests)
		for i := range conns {
			conn, err := testkit.Dial(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = conn
			if _, err := fmt.Fprintf(conn, "POST /farm/mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n{", address, size); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		held := gateway.InFlight(g)
		if held < requests*(16<<10) || held > requests*size {
			t.Errorf("got %d bytes for %d requests", held, requests)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
		synctest.Wait()
		if held := gateway.InFlight(g); held != 0 {
			t.Errorf("got %d bytes still held", held)
		}
	})
}
