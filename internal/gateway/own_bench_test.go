package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/ops/trace"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/upstream"
)

// ownVariants are the features that BenchmarkOwn measures, with their lines in the configuration and keys in the server's
// entry. %d is a directory.
var ownVariants = []struct{ name, lines, keys string }{
	{name: "nothing"},
	{name: "metrics", lines: "admin: 127.0.0.1:0\n"},
	{name: "access log", lines: "access_log: true\n"},
	{name: "traces, a tenth", lines: "tracing: {endpoint: 'http://collector', sample: 0.1}\n"},
	{name: "traces, all", lines: "tracing: {endpoint: 'http://collector'}\n"},
	{name: "keys", lines: ownAccess, keys: ", access: [team]"},
	{name: "limits", keys: ownLimits},
	{name: "breaker, bulkhead", keys: ownGuards},
	{name: "journal", lines: "store: 'sqlite:%d/journal.db'\n"},
	{name: "journal of all", lines: "store: 'sqlite:%d/journal.db'\njournal: {successes: 1}\n"},
	{
		name:  "most",
		lines: "admin: 127.0.0.1:0\nstore: 'sqlite:%d/journal.db'\n" + ownAccess,
		keys:  ", access: [team]" + ownLimits + ownGuards,
	},
	{
		name: "all",
		lines: "admin: 127.0.0.1:0\naccess_log: true\ntracing: {endpoint: 'http://collector', sample: 0.1}\n" +
			"store: 'sqlite:%d/journal.db'\n" + ownAccess,
		keys: ", access: [team]" + ownLimits + ownGuards,
	},
}

const ownLimits, ownGuards = ", limits: {minute: {calls: 100000000/1m}, month: {calls: 1000000000/30d}}", ", breaker: {}, concurrency: {max: 64}"

var ownAccess = fmt.Sprintf("access: {team: {keys: [{name: bench, hash: 'sha256:%x'}]}}\n", sha256.Sum256([]byte("bench")))

// BenchmarkOwn measures the gateway's own time for a call of 1 KB in the legacy era, with net/http's server before it. The
// connections to its client and its server are in memory, and answer at once. The only system call asks whether an idle connection
// is quiet. The observers are those of `recourse serve`: the time of their own goroutines, such as the journal's, is part
// of the processor time but not of the time of a call.
func BenchmarkOwn(b *testing.B) {
	for _, v := range ownVariants {
		b.Run(v.name, func(b *testing.B) {
			quiet, never, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			defer never.Close()
			g := newOwn(b, gateway.Reach{Dial: ownDial(quiet)}, strings.ReplaceAll(v.lines, "%d", filepath.ToSlash(b.TempDir()))+
				"servers: {farm: {url: 'http://farm/mcp', tools: {echo: {read_only: true}}"+v.keys+"}}\n")
			ownCalls(b, func(ctx context.Context, ln net.Listener) { _ = g.Serve(ctx, ln, 0) })
		})
	}
}

// BenchmarkOwnFloor measures what of that is not the gateway's: net/http's server with a handler that gives the same answers, and
// the same with the client that the gateway has towards its servers.
func BenchmarkOwnFloor(b *testing.B) {
	b.Run("server", func(b *testing.B) {
		var farm ownServer
		ownHandler(b, func(w http.ResponseWriter, _ *http.Request, message []byte) {
			_, _ = farm.Write(message)
			w.Header()["Mcp-Session-Id"] = []string{"s"}
			_, _ = w.Write(farm.body)
		})
	})
	b.Run("server and client", func(b *testing.B) {
		quiet, never, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer never.Close()
		farm, err := upstream.NewHTTP("farm", "http://farm/mcp", nil, upstream.UserRule{}, ownDial(quiet))
		if err != nil {
			b.Fatal(err)
		}
		defer farm.Close()
		room := make([]byte, 4<<10)
		ownHandler(b, func(w http.ResponseWriter, r *http.Request, message []byte) {
			header := http.Header{"Content-Type": r.Header["Content-Type"], "Accept": r.Header["Accept"], "Mcp-Session-Id": r.Header["Mcp-Session-Id"]}
			resp, err := farm.Do(r.Context(), &upstream.Request{Header: header, Body: message})
			if err != nil {
				panic(err)
			}
			n, _ := io.ReadFull(resp, room)
			_ = resp.Close()
			w.Header()["Mcp-Session-Id"] = resp.Header["Mcp-Session-Id"]
			_, _ = w.Write(room[:n])
		})
	})
}

// ownHandler measures a server of net/http's with that handler.
func ownHandler(b *testing.B, answer func(w http.ResponseWriter, r *http.Request, message []byte)) {
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message := make([]byte, r.ContentLength)
		_, _ = io.ReadFull(r.Body, message)
		w.Header()["Content-Type"] = []string{"application/json"}
		if bytes.Contains(message, []byte("notifications/")) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer(w, r, message)
	})}
	ownCalls(b, func(ctx context.Context, ln net.Listener) {
		context.AfterFunc(ctx, func() { _ = srv.Close() })
		_ = srv.Serve(ln)
	})
}

// ownDial returns a way to servers in memory.
func ownDial(quiet *os.File) upstream.Dial {
	return func(context.Context, string, string) (net.Conn, error) { return &ownServer{File: quiet}, nil }
}

// ownCalls measures calls of what serve lets in.
func ownCalls(b *testing.B, serve func(ctx context.Context, ln net.Listener)) {
	b.Helper()
	client := &ownClient{b: b, ended: make(chan struct{}), stopped: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	served := make(chan struct{})
	b.ReportAllocs()
	go func() {
		defer close(served)
		serve(ctx, &ownListener{conn: client, ended: ctx.Done()})
	}()
	<-client.ended
	cancel()
	<-served
	if client.failed != "" {
		b.Fatal(client.failed)
	}
}

// newOwn returns a gateway with the observers that its configuration asks for.
func newOwn(b *testing.B, reach gateway.Reach, yaml string) *gateway.Gateway {
	b.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte(yaml), config.Options{KnownContracts: set.Names()})
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // writing the log is measured too
	g, err := gateway.NewReaching(reach, cfg, set, log)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	if cfg.Store != "" {
		kept, err := store.Open(b.Context(), cfg.Store)
		if err != nil {
			b.Fatal(err)
		}
		j := journal.New(kept.Journal(), cfg.Journal, log)
		b.Cleanup(func() { j.Close(context.Background()); _ = kept.Close() })
		g.Observe(j)
	}
	if cfg.Tracing != nil {
		e := trace.New(cfg.Tracing, "bench", log, ownCollector{})
		b.Cleanup(func() { e.Close(time.Second) })
		g.Observe(e)
	}
	if cfg.Admin != "" {
		g.Observe(admin.New("bench", admin.Sources{}))
	}
	return g
}

// An ownCollector accepts all traces.
type ownCollector struct{}

func (ownCollector) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// An ownConn is a connection in memory that never waits.
type ownConn struct{}

func (ownConn) Close() error        { return nil }
func (ownConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (ownConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (ownConn) SetDeadline(time.Time) error      { return nil }
func (ownConn) SetReadDeadline(time.Time) error  { return nil }
func (ownConn) SetWriteDeadline(time.Time) error { return nil }

// An ownListener accepts one connection.
type ownListener struct {
	conn  net.Conn
	ended <-chan struct{}
}

func (l *ownListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *ownListener) Close() error   { return nil }
func (l *ownListener) Addr() net.Addr { return ownConn{}.LocalAddr() }

const ownMessage = `{"jsonrpc":"2.0","id":1000000000,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}}}`

// An ownClient opens a session, and then calls echo as often as the benchmark asks.
type ownClient struct {
	ownConn

	b       *testing.B
	step    int
	session string
	request []byte
	rest    []byte // unread part of the request
	failed  string
	gone    bool
	ended   chan struct{}
	asked   atomic.Bool   // an answer is due: now only the gateway's watch on its client reads
	stopped chan struct{} // holds a token while the deadline for reading has passed: the watch ends
}

func (c *ownClient) SetReadDeadline(t time.Time) error {
	if t.IsZero() || t.After(time.Now()) {
		select {
		case <-c.stopped:
		default:
		}
		return nil
	}
	select {
	case c.stopped <- struct{}{}:
	default:
	}
	return nil
}

func (c *ownClient) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		switch {
		case c.gone:
			return 0, io.EOF
		case c.asked.Load():
			<-c.stopped
			return 0, os.ErrDeadlineExceeded
		}
		if c.rest = c.next(); c.rest == nil {
			c.gone = true
			close(c.ended)
			return 0, io.EOF
		}
		c.asked.Store(true)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// next returns the next request, or nil.
func (c *ownClient) next() []byte {
	step := c.step
	c.step++
	switch {
	case c.failed != "":
	case step == 0:
		return ownPost("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	case step == 1:
		return ownPost(c.session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	case step == 2:
		c.request = ownPost(c.session, fmt.Sprintf(ownMessage, strings.Repeat(`Field 17 north: 4.2 ha, \"wheat\", sown in April\n`, 20)))
		return c.request
	case c.b.Loop():
		return c.request
	}
	return nil
}

func (c *ownClient) Write(p []byte) (int, error) {
	c.asked.Store(false)
	_, after, opened := bytes.Cut(p, []byte("Mcp-Session-Id: "))
	switch {
	case c.step == 1 && opened:
		session, _, _ := bytes.Cut(after, []byte("\r\n"))
		c.session = string(session)
	case c.step == 2 && bytes.Contains(p, []byte(" 202 ")):
	case c.step < 3 || !bytes.Contains(p, []byte(`"result"`)) || bytes.Contains(p, []byte("isError")):
		c.failed = string(p)
	}
	return len(p), nil
}

func ownPost(session, message string) []byte {
	if session != "" {
		session = "Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	}
	return fmt.Appendf(nil, "POST /farm/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer bench\r\nUser-Agent: bench\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", session, len(message), message)
}

// An ownServer answers initialize, tools/list and echo. Between calls it is quiet, like a pipe to which nobody writes.
type ownServer struct {
	ownConn
	*os.File

	out, body []byte
	rest      []byte
}

func (s *ownServer) Close() error                     { return s.File.Close() }
func (s *ownServer) SetDeadline(time.Time) error      { return nil }
func (s *ownServer) SetReadDeadline(time.Time) error  { return nil }
func (s *ownServer) SetWriteDeadline(time.Time) error { return nil }

func (s *ownServer) Write(p []byte) (int, error) {
	_, id, asks := bytes.Cut(p, []byte(`"id":`))
	if !asks { // a notification
		s.rest = []byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
		return len(p), nil
	}
	s.body = append(append(s.body[:0], `{"jsonrpc":"2.0","id":`...), id[:bytes.IndexAny(id, ",}")]...)
	switch {
	case bytes.Contains(p, []byte(`"tools/call"`)):
		_, message, _ := bytes.Cut(p, []byte(`"message":"`))
		s.body = append(append(s.body, `,"result":{"content":[{"type":"text","text":"`...), message[:bytes.LastIndexByte(message, '"')]...)
		s.body = append(s.body, `"}]}}`...)
	case bytes.Contains(p, []byte(`"initialize"`)):
		s.body = append(s.body, `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"farm","version":"1"}}}`...)
	default:
		s.body = append(s.body, `,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},`+
			`"required":["message"],"additionalProperties":false}}]}}`...)
	}
	s.out = append(s.out[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\n"+
		"Date: Mon, 23 Nov 2026 10:00:00 GMT\r\nContent-Length: "...)
	s.out = append(append(strconv.AppendInt(s.out, int64(len(s.body)), 10), "\r\n\r\n"...), s.body...)
	s.rest = s.out
	return len(p), nil
}

func (s *ownServer) Read(p []byte) (int, error) {
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
