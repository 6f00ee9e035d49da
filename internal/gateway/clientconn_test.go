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

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/internal/testkit/faults"
)

// served is a gateway that is served as the program does, and how that ended.
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

// dial connects, and sends a request.
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

// raw returns a request of a session as it is sent.
func raw(session, method, body string) string {
	return fmt.Sprintf("%s /farm/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, session, len(body), body)
}

// floods are the ways in which a client can be sent more than it takes.
func floods() map[string]testkit.Fault {
	return map[string]testkit.Fault{
		"answers that flow":           faults.Large(testkit.JSON, 8<<20, faults.Whole),
		"an event that flows":         faults.Large(testkit.SSE, 8<<20, faults.Whole),
		"answers in one piece":        faults.Large(testkit.JSON, 200<<10, faults.Whole),
		"refusals, one after another": {},
	}
}

// Clients that never read are hung up on, whatever they are sent, and hold nothing any more.
func TestClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	onBoth(t, clientsThatNeverRead)
}

func clientsThatNeverRead(t *testing.T, reads config.Front) {
	t.Helper()
	const patience = 300 * time.Millisecond
	for name, fault := range floods() {
		runVirtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := newGateway(t, "front: "+string(reads)+"\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
			gateway.SetPatience(g, patience, time.Minute)
			s := serve(t, g, 10*time.Second)
			session := "none"
			if fault.Name != "" {
				srv.Always("x/large", fault)
				c := (&front{url: "http://" + s.addr + "/farm/mcp"}).client(t, testkit.Legacy)
				session = c.Session
				defer c.Close()
			}
			request := raw(session, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x/large"}`)
			for i := range 3 {
				conn := s.dial(t, request)
				began := time.Now()
				_ = conn.SetWriteDeadline(began.Add(10 * time.Second))
				var err error
				for err == nil { // the gateway stops reading, too, and then hangs up
					_, err = io.WriteString(conn, request)
				}
				if took := time.Since(began); took > 2*patience {
					t.Errorf("%d: hung up on after %s", i, took)
				}
			}
		})
	}
}

// Draining does not wait for clients that never read.
func TestDrainWithClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	onBoth(t, drainWithClientsThatNeverRead)
}

func drainWithClientsThatNeverRead(t *testing.T, reads config.Front) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		srv.Always("x/large", faults.Large(testkit.JSON, 8<<20, faults.Whole))
		g, _ := newGateway(t, "front: "+string(reads)+"\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
		gateway.SetPatience(g, time.Minute, 100*time.Millisecond)
		s := serve(t, g, 10*time.Second)
		c := (&front{url: "http://" + s.addr + "/farm/mcp"}).client(t, testkit.Legacy)
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
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
