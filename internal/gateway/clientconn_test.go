package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/testkit"
)

// served is a gateway that is served as the program does, and how that ended.
type served struct {
	addr string
	stop context.CancelFunc
	end  chan error
}

func serve(tb testing.TB, g *gateway.Gateway, grace time.Duration) *served {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	s := &served{addr: ln.Addr().String(), stop: cancel, end: make(chan error, 1)}
	go func() { s.end <- g.Serve(ctx, ln, grace) }()
	tb.Cleanup(cancel)
	return s
}

// dial connects with a small buffer, so that what is not read does not vanish in it.
func (s *served) dial(tb testing.TB, request string) *net.TCPConn {
	tb.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		tb.Fatalf("%T", conn)
	}
	if err := tcp.SetReadBuffer(128 << 10); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(tcp, request); err != nil {
		tb.Fatal(err)
	}
	return tcp
}

// raw returns a request of a session as it is sent.
func raw(session, method, body string) string {
	return fmt.Sprintf("%s /farm/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, session, len(body), body)
}

// unread are the ways in which a client can be sent more than it takes.
func unread() map[string]struct {
	fault testkit.Fault
	sends int // requests on one connection
} {
	return map[string]struct {
		fault testkit.Fault
		sends int
	}{
		"answers that flow":           {testkit.Large(testkit.JSON, 8<<20, testkit.Whole), 1},
		"an event that flows":         {testkit.Large(testkit.SSE, 8<<20, testkit.Whole), 1},
		"answers in one piece":        {testkit.Large(testkit.JSON, 200<<10, testkit.Whole), 12},
		"refusals, one after another": {testkit.Fault{}, 5_000},
	}
}

// Clients that never read are hung up on, whatever they are sent, and hold nothing any more.
func TestClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	onBoth(t, clientsThatNeverRead)
}

func clientsThatNeverRead(t *testing.T, reads config.Front) {
	t.Helper()
	for name, test := range unread() {
		if reads == config.FrontStandard && test.sends > 1000 {
			continue // it takes all there is of the machine: once is enough
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			g, _ := newGateway(t, "front: "+string(reads)+"\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
			gateway.SetPatience(g, 300*time.Millisecond, time.Minute)
			s := serve(t, g, 10*time.Second)
			session := "none"
			if test.fault.Name != "" {
				srv.Always("x/large", test.fault)
				c := (&front{url: "http://" + s.addr + "/farm/mcp"}).client(t, testkit.Legacy)
				session = c.Session
				defer c.Close()
			}
			request := raw(session, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x/large"}`)
			for i := range 3 {
				conn := s.dial(t, request)
				_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second)) // the gateway stops reading, too
				more := bytes.Repeat([]byte(request), test.sends-1)
				began := time.Now()
				_, _ = conn.Write(more) // an error is told below, too
				for range time.Tick(20 * time.Millisecond) {
					if _, err := io.WriteString(conn, request); err != nil { // reset
						break
					}
				}
				if took := time.Since(began); took > 5*time.Second {
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
	srv := testkit.NewServer(t)
	srv.Always("x/large", testkit.Large(testkit.JSON, 8<<20, testkit.Whole))
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
}
