package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// served is a gateway that runs like the program's, and the result of Serve.
type served struct {
	addr string
	stop context.CancelFunc
	end  chan error
}

func serve(tb testing.TB, g *gateway.Gateway, grace time.Duration) *served {
	tb.Helper()
	ln, err := testkit.ListenInMemory()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	s := &served{addr: ln.Addr().String(), stop: cancel, end: make(chan error, 1)}
	var serving sync.WaitGroup
	serving.Go(func() { s.end <- g.Serve(ctx, ln, grace) })
	tb.Cleanup(serving.Wait)
	tb.Cleanup(cancel)
	return s
}

// dial connects and sends a request.
func (s *served) dial(tb testing.TB, request string) net.Conn {
	tb.Helper()
	conn, err := testkit.Dial(tb.Context(), "tcp", s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		tb.Fatal(err)
	}
	return conn
}

// raw returns the bytes of a request of a session.
func raw(session, method, body string) string {
	return fmt.Sprintf("%s /farm/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, session, len(body), body)
}

// floods are answers that are larger than what a client reads.
func floods() map[string]testkit.Fault {
	return map[string]testkit.Fault{
		"large JSON answers":           faults.Large(testkit.JSON, 8<<20, faults.Whole),
		"a large event":                faults.Large(testkit.SSE, 8<<20, faults.Whole),
		"answers that fit into memory": faults.Large(testkit.JSON, 200<<10, faults.Whole),
		"many refusals":                {},
	}
}

// The gateway hangs up on clients that never read.
func TestClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	const patience = 300 * time.Millisecond
	for name, fault := range floods() {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
			gateway.SetPatience(g, patience, time.Minute)
			s := serve(t, g, 10*time.Second)
			session := "none"
			if fault.Name != "" {
				srv.Always("x/large", fault)
				c := (&gatewaytest.Front{URL: "http://" + s.addr + "/farm/mcp"}).Client(t, testkit.Legacy)
				session = c.Session
				defer c.Close()
			}
			request := raw(session, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x/large"}`)
			for i := range 3 {
				conn := s.dial(t, request)
				began := time.Now()
				_ = conn.SetWriteDeadline(began.Add(10 * time.Second))
				var err error
				for err == nil { // until the gateway, which stops reading too, hangs up
					_, err = io.WriteString(conn, request)
				}
				if took := time.Since(began); took > 2*patience {
					t.Errorf("client %d: the connection ended after %s", i, took)
				}
			}
		})
	}
}

// Draining does not wait for clients that never read.
func TestDrainWithClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		srv.Always("x/large", faults.Large(testkit.JSON, 8<<20, faults.Whole))
		g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
		gateway.SetPatience(g, time.Minute, 100*time.Millisecond)
		s := serve(t, g, 10*time.Second)
		c := (&gatewaytest.Front{URL: "http://" + s.addr + "/farm/mcp"}).Client(t, testkit.Legacy)
		for range 20 {
			s.dial(t, raw(c.Session, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x/large"}`))
		}
		if err := srv.Await(t.Context(), func() bool { return srv.Messages("x/large") == 20 }); err != nil {
			t.Fatal(err)
		}
		c.Close()
		s.stop()
		began := time.Now()
		if err := <-s.end; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("got the end after %s, %v", time.Since(began), err)
		}
	})
}
