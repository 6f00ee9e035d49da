package http1_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/http1"
)

// front has the methods that both servers have.
type front interface {
	Serve(ln net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// A deed is what a client or server does besides writing and waiting.
type deed int

const (
	halfClose deed = iota
	hangUp
	breakOff
	shutDown // the server, within 3 s
	closeServer
)

// A conversation is what a client does on one connection: it writes strings, waits for durations and does deeds.
type conversation struct {
	steps  []any
	change func(s *http.Server)
	most   int // bytes that the server reads at once; 0: all there are
}

// said plays the conversation, and returns the normalised answers, when the connection
// ended, and what the handler noted.
func (v conversation) said(t *testing.T, lean bool) (text string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		n := new(notebook)
		standard := &http.Server{
			Handler: newHandler(n), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		}
		if v.change != nil {
			v.change(standard)
		}
		var srv front = standard
		if lean {
			srv = http1.NewServer(standard)
		}
		ln := newMemoryListener()
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		conn := ln.dial()
		conn.out.most = v.most
		began := time.Now()
		received := make(chan string, 1)
		go func() {
			answer, err := io.ReadAll(conn)
			received <- fmt.Sprintf("%s\n-- %s after %s", normal(string(answer)), errorClass(err), time.Since(began))
		}()
		synctest.Wait()
		for _, step := range v.steps {
			take(n, srv, conn, step)
			synctest.Wait()
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		select {
		case text = <-received:
		default:
			_ = conn.CloseWrite()
			text = <-received + " (of ours)"
		}
		_ = srv.Close()
		_ = conn.Close()
		synctest.Wait()
		text += "\n-- served: " + errorClass(<-served) + "\n" + n.text()
	})
	return text
}

func take(n *notebook, srv front, conn *memoryConn, step any) {
	switch step := step.(type) {
	case string:
		if _, err := io.WriteString(conn, step); err != nil {
			n.notef("the client cannot write")
		}
	case time.Duration:
		time.Sleep(step)
	case deed:
		switch step {
		case halfClose:
			_ = conn.CloseWrite()
		case hangUp:
			_ = conn.CloseWrite() // the server cannot see whether the client still reads
			conn.out.change(func() { conn.out.gone = true })
		case breakOff:
			conn.reset()
		case shutDown:
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			began := time.Now()
			err := srv.Shutdown(ctx)
			n.notef("shutdown: %s after %s", errorClass(err), time.Since(began).Round(time.Second))
		case closeServer:
			_ = srv.Close() // not noted: the handler may note something at the same time
		}
	}
}

// normal returns answers with sorted fields and without dates.
func normal(answers string) string {
	var b strings.Builder
	for i, answer := range strings.SplitAfter(answers, "HTTP/1.") {
		if i == 0 {
			b.WriteString(answer)
			continue
		}
		head, rest, ok := strings.Cut(answer, "\r\n\r\n")
		lines := strings.Split(head, "\r\n")
		slices.Sort(lines[1:])
		for _, line := range lines {
			if strings.HasPrefix(line, "Date: ") && strings.HasSuffix(line, "GMT") {
				line = "Date: now"
			}
			fmt.Fprintf(&b, "%q\n", line)
		}
		fmt.Fprintf(&b, "%t %q\n", ok, rest)
	}
	return b.String()
}

func compareServers(t *testing.T, v conversation) {
	t.Helper()
	want, got := v.said(t, false), v.said(t, true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("net/http (-), ours (+):\n%s", diff)
	}
}

// ask returns a simple request, unless the fields make net/http take it.
func ask(path, body string, fields ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a.example\r\n" + strings.Join(append(fields, ""), "\r\n") +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// lines returns the head of a request.
func lines(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

const simple = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"

// conversations are the conversations in which our server must behave like net/http's.
func conversations() map[string]conversation {
	all := map[string]conversation{}
	say := func(name string, steps ...any) {
		if _, twice := all[name]; twice {
			panic(name)
		}
		all[name] = conversation{steps: steps}
	}
	with := func(change func(s *http.Server), name string, steps ...any) {
		say(name, steps...)
		all[name] = conversation{steps: steps, change: change}
	}
	// Simple requests.
	say("simple", simple)
	say("every act's context", ask("/context", ""))
	say("three in a row", simple, simple, simple)
	say("three with pauses", simple, 20*time.Millisecond, simple, time.Minute, simple)
	say("pipelined", simple+simple+ask("/flush", "x")+simple)
	say("pipelined while it waits", ask("/wait", "x"), 100*time.Millisecond, simple)
	say("pipelined by a byte while it waits", ask("/wait", "x"), 100*time.Millisecond, simple[:1], 2*time.Second, simple[1:])
	say("no body", ask("/echo", ""), simple)
	say("body by bytes", ask("/echo", "")[:10], ask("/echo", "")[10:30], ask("/echo", "")[30:], simple)
	say("head and body apart", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 5"), 50*time.Millisecond, "hello", simple)
	say("body in pieces", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 6"), "ab", 50*time.Millisecond, "cd", time.Second, "ef"+simple)
	say("longest body", ask("/echo", strings.Repeat("b", 64<<10)), simple)
	say("too long a body", ask("/echo", strings.Repeat("b", 64<<10+1)), simple)
	say("body of 10 KB unread", ask("/early", strings.Repeat("b", 10<<10)), simple)
	say("fields", ask("/echo", "x", "A: b", "a: c", "X-Tab: a\tb", "X-Empty:", "X-Spaces:   v  \t", "X-Colon: a:b", "Cookie: a=b", "X-High: \xe9\xff"))
	say("fields in lower case", lines("POST /echo HTTP/1.1", "host: a", "content-length: 2", "mcp-session-id: s", "te: trailers")+"hi", simple)
	say("many fields", ask("/echo", "x", strings.Fields(strings.Repeat("X-Many:1 ", 100))...), simple)
	say("query", ask("/echo?a=b&c=%20;x", ""), ask("/echo?", ""), ask("/%2e%2E//x?#y", ""))
	say("bad escape", ask("/%zz", ""), simple)
	say("two slashes", ask("//a.example/echo", ""), simple)
	say("keep-alive", ask("/echo", "x", "Connection: Keep-Alive"), simple)
	say("CRLF between", simple, "\r\n"+simple, "\r\n\r\n"+simple, "\n"+simple, "\r\n\r\n\r\n"+simple)
	say("CRLF before", "\r\n"+simple)
	say("CRLF and nothing", simple, "\r\n", 10*time.Millisecond, simple)
	say("two bytes and the end", simple, "PO", halfClose)
	say("four bytes and the end", simple, "POST", halfClose)
	// The same head again, with one change.
	for i, length := range []string{
		"2", "5", "0", "1000", "65536", "65537", "02", "+2", "-2", "0x2", "", " 2", "2 ", "2\t", "2 2", "2, 2", "2;", "2_0", "99999999999999999999",
		"2\r\nX: a", "2\r\nContent-Length: 2", "2\r\nContent-Length: 3", "2\r\nTransfer-Encoding: chunked", "2\nX: a", "2\r\n\r\nhi", "2\r", "\r\n 2",
	} {
		for _, first := range []string{
			simple, lines("POST /echo HTTP/1.1", "content-length:2", "Host: a", "X: 2") + "hi", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: \t2 ", "X: 2") + "hi",
		} {
			again := strings.Replace(first, "2", length, 1)
			say(fmt.Sprintf("again %d %q in %q", i, length, first), first, again, first, time.Millisecond, again+first, halfClose)
		}
	}
	for i, change := range [][2]string{
		{"/echo", "/other"},
		{"/echo", "/ech"},
		{"/echo", "/echo?q"},
		{"POST", "POS"},
		{"POST", "PUT"},
		{"1.1", "1.0"},
		{"Host: a", "Host: b"},
		{"Host: a", "host: a"},
		{"Host: a", "Host: a\r\nX: b"},
		{"Host: a", "Host: a\r\nExpect: 100-continue"},
		{"Host: a\r\n", ""},
		{"Content-Length: 2", "Content-Length: 2\r\nX: b"},
		{"Content-Length: 2\r\n", ""},
		{"Content-Length", "content-length"},
		{"Content-Length", "Content-Length "},
		{"Content-Length: 2", "Transfer-Encoding: chunked"},
	} {
		other := strings.Replace(simple, change[0], change[1], 1)
		say(fmt.Sprintf("almost again %d %q", i, change), simple, other, time.Millisecond, simple, other+simple, halfClose)
	}
	other := lines("POST /echo HTTP/1.1", "Content-Length: 2", "Host: a", "X: 2") + "hi"
	say("again with another end", other, strings.Replace(other, "X: 2", "X: 3", 1), other)
	say("another, much shorter", simple, "POST / HTTP/1.1\r\n\r\n", simple)
	// Requests that net/http takes over.
	for i, line := range []string{
		"Content-Length: 3", "Content-Length: 2", "Content-Length : 2", "Content-Length: +2", "Content-Length: -2", "Content-Length: 0x2",
		"Content-Length: 02", "Content-Length: 00", "Content-Length:", "Content-Length: 2, 2", "Content-Length: 99999999999999999999", "content-length: 2 ",
		"Content-Length: 2\t", "Content-Length: \xc2\xa02", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked",
		"Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: xchunked",
		"transfer-encoding: CHUNKED", "Expect: 100-continue", "Expect: else", "Upgrade: h2c", "Connection: close", "Connection: upgrade",
		"Connection: keep-alive, close", "Connection:", "Trailer: X", "Pragma: no-cache", "Host: b", "Host:", "X: a\x00b", "X: a\rb", "X: a\nY: b",
		"X: a\x7fb", "X: a\r\n folded", "X: a\r\n\tfolded", " X: a", "X\x00: a", "X y: a", "X: a\r", ": a", "X", "X\xe9: a", "\xff: a",
	} {
		say(fmt.Sprintf("before the length %d %q", i, line),
			lines("POST /echo HTTP/1.1", "Host: a", line, "Content-Length: 2")+"hi"+simple, 20*time.Millisecond, simple)
		say(fmt.Sprintf("alone %d %q", i, line), lines("POST /echo HTTP/1.1", "Host: a", line)+"2\r\nhi\r\n0\r\n\r\n", simple)
	}
	for i, line := range []string{
		"GET /echo HTTP/1.1", "HEAD /echo HTTP/1.1", "DELETE /echo HTTP/1.1", "OPTIONS * HTTP/1.1", "post /echo HTTP/1.1", "POST /echo HTTP/1.0",
		"POST /echo HTTP/1.2", "POST /echo HTTP/2.0", "POST /echo http/1.1", "POST /echo", "POST", "POST  /echo HTTP/1.1", "POST /echo  HTTP/1.1",
		"POST /echo HTTP/1.1 ", "POST /a b HTTP/1.1", "POST http://b.example/echo HTTP/1.1", "POST echo HTTP/1.1", "POST * HTTP/1.1",
		"POST /\x7f HTTP/1.1", "POST /\xe9 HTTP/1.1", "POST /\x00 HTTP/1.1", "POST\t/echo HTTP/1.1", "POST /echo\rHTTP/1.1", "PRI * HTTP/2.0", "CONNECT a:1 HTTP/1.1",
		"POST /echo HTTP/1.1\n", "P\xd6ST /echo HTTP/1.1", "",
	} {
		say(fmt.Sprintf("request line %d %q", i, line), lines(line, "Host: a", "Content-Length: 2")+"hi", simple)
		say(fmt.Sprintf("second request line %d %q", i, line), simple, lines(line, "Host: a", "Content-Length: 2")+"hi", simple)
	}
	for i, host := range []string{"a.example:80", "[::1]:80", "", "a b", "a/b", "ä", "a,b", "a@b", "a%20b", "a\tb", "\"", "a?b"} {
		say(fmt.Sprintf("host %d %q", i, host), lines("POST /echo HTTP/1.1", "Host: "+host, "Content-Length: 2")+"hi", simple)
	}
	say("no host", lines("POST /echo HTTP/1.1", "Content-Length: 2")+"hi", simple)
	say("bare line feeds", strings.ReplaceAll(simple, "\r\n", "\n"), simple)
	say("a bare line feed", strings.Replace(simple, "\r\n", "\n", 1), simple)
	say("bare carriage returns", strings.ReplaceAll(simple, "\r\n", "\r"), 20*time.Second)
	say("no length", lines("POST /echo HTTP/1.1", "Host: a")+simple, simple)
	say("chunked", lines("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")+"2;ext=1\r\nhi\r\n0\r\nX: y\r\n\r\n", simple)
	say("continue", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 2", "Expect: 100-continue"), 100*time.Millisecond, "hi", simple)
	say("head of 9 KB", ask("/echo", "x", "X: "+strings.Repeat("v", 9<<10)), simple)
	say("head of 9 KB in the second", simple, ask("/echo", "x", "X: "+strings.Repeat("v", 9<<10)), simple)
	say("head of 100 KB", ask("/echo", "x", "X: "+strings.Repeat("v", 100<<10)), simple)
	say("line without an end", "POST /"+strings.Repeat("x", 10<<10), 20*time.Second)
	say("a bad line before the end of the head", "POST /echo HTTP/1.1\r\nHost a\r\n", time.Second, "Content-Length: 2\r\n\r\nhi")
	say("a bad line, by bytes", "POST /echo HTTP/1.1\r", "\n", "Host", " a\r", "\n", time.Second, "\r\n")
	say("then another method", simple, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", simple)
	say("then garbage", simple, "\x16\x03\x01\x02\x00\x01\x00", halfClose)
	say("smuggled in the body", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 4", "Transfer-Encoding: chunked")+"0\r\n\r\n"+simple)
	// Ends.
	for i := range len(simple) {
		say(fmt.Sprintf("half closed after %d bytes", i), simple[:i], halfClose)
		say(fmt.Sprintf("broken off after %d bytes", i), simple, simple[:i], breakOff)
	}
	say("half closed", simple, halfClose)
	say("half closed with the request", simple+simple, halfClose)
	say("goes while it waits", ask("/wait", "x"), 50*time.Millisecond, hangUp)
	say("goes while it waits, broken", ask("/wait", "x"), 50*time.Millisecond, breakOff)
	say("goes while it waits, body unread", ask("/wait-unread", "x"), 50*time.Millisecond, hangUp)
	say("goes while it waits, without a body", ask("/wait", ""), 50*time.Millisecond, hangUp)
	say("goes in the body", lines("POST /wait HTTP/1.1", "Host: a", "Content-Length: 5"), "abc", 50*time.Millisecond, breakOff)
	say("nothing at all", 20*time.Second)
	say("nothing and the end", halfClose)
	say("slow head", "POST /echo HTTP/1.1\r\n", 6*time.Second, "Host: a\r\n", 6*time.Second, "Content-Length: 2\r\n\r\nhi")
	say("slow odd head", "GET /echo HTTP/1.1\r\n", 6*time.Second, "Host: a\r\n", 6*time.Second, "\r\n")
	say("slow second head", simple, time.Minute, "POST /echo HTTP/1.1\r\n", 6*time.Second, "Host: a\r\n", 6*time.Second, "Content-Length: 2\r\n\r\nhi")
	say("slow second odd head", simple, time.Minute, "GET /echo HTTP/1.1\r\n", 6*time.Second, "Host: a\r\n", 6*time.Second, "\r\n")
	say("slow first bytes", simple, time.Minute, "PO", 30*time.Second, "ST /echo HTTP/1.1\r\n", 9*time.Second, "Host: a\r\nContent-Length: 2\r\n\r\nhi")
	say("idle", simple, 119*time.Second, simple, 119*time.Second, simple, 121*time.Second, simple)
	say("slow body", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 5"), time.Minute, "abc", 3*time.Minute, "de", simple)
	times := func(s *http.Server) {
		s.ReadHeaderTimeout, s.IdleTimeout, s.ReadTimeout, s.WriteTimeout = 0, 0, 5*time.Second, 7*time.Second
	}
	with(times, "other times: slow head", "POST /echo HTTP/1.1\r\n", 6*time.Second, "Host: a\r\n")
	with(times, "other times: slow body", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 5"), 3*time.Second, "abc", 3*time.Second, "de")
	with(times, "other times: slow body in the second", simple, 3*time.Second, lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 5"), 6*time.Second, "abc")
	with(times, "other times: idle", simple, 4*time.Second, simple, 6*time.Second, simple)
	with(times, "other times: waits", ask("/wait", "x"), simple)
	none := func(s *http.Server) { s.ReadHeaderTimeout, s.IdleTimeout = 0, 0 }
	with(none, "no times", "POST /ec", time.Minute, "ho HTTP/1.1\r\nHost: a\r\n", time.Minute, "Content-Length: 2\r\n\r\n", time.Minute, "hi", 3*time.Minute, simple)
	with(none, "no times: odd", "GET /ec", time.Minute, "ho HTTP/1.1\r\nHost: a\r\n", time.Minute, "\r\n")
	// The life of the server.
	say("shutdown, nothing said", 6*time.Second, shutDown)
	say("shutdown, idle", simple, time.Second, shutDown)
	say("shutdown, busy", ask("/wait", "x"), 100*time.Millisecond, shutDown, simple)
	say("shutdown, busy for too long", lines("POST /echo HTTP/1.1", "Host: a", "Content-Length: 5"), 100*time.Millisecond, shutDown, closeServer)
	say("shutdown, other connection", "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", 100*time.Millisecond, shutDown, simple)
	say("close, busy", ask("/wait", "x"), 100*time.Millisecond, closeServer)
	say("close, idle", simple, closeServer)
	// Early answers.
	say("early answer", lines("POST /early HTTP/1.1", "Host: a", "Content-Length: 5"), 100*time.Millisecond, "hello", simple)
	say("early answer, the rest never comes", lines("POST /early HTTP/1.1", "Host: a", "Content-Length: 5"), "he", time.Second, halfClose)
	say("early answer that ends", lines("POST /early-close HTTP/1.1", "Host: a", "Content-Length: 5"), "he", time.Second, "llo")
	say("early answer that ends, whole", ask("/early-close", "hello"))
	say("full duplex", lines("POST /duplex HTTP/1.1", "Host: a", "Content-Length: 5"), "he", 100*time.Millisecond, "llo", simple)
	say("read some", ask("/read-some", "hello")+simple)
	say("read some, the rest late", lines("POST /read-some HTTP/1.1", "Host: a", "Content-Length: 5"), "hell", time.Second, "o"+simple)
	say("body closed", ask("/close-body", "hello")+simple)
	say("body closed, the rest late", lines("POST /close-body HTTP/1.1", "Host: a", "Content-Length: 5"), "hell", time.Second, "o"+simple)
	say("deadline in time", ask("/deadline", "hello"), simple)
	say("deadline missed", lines("POST /deadline HTTP/1.1", "Host: a", "Content-Length: 5"), "hell", time.Second, "o"+simple)
	say("deadline after the body", ask("/deadline-later", "hello"), time.Second, simple)
	// Answers.
	for _, path := range []string{
		"/flush", "/flush-only", "/nothing", "/too-short", "/too-long", "/bad-length", "/twice", "/informs", "/fields", "/changes", "/sniffed",
		"/encoded", "/abort", "/abort-buffered", "/abort-flushed", "/abort-long", "/panic", "/bad-status",
		"/status?200", "/status?201", "/status?204", "/status?205", "/status?304", "/status?299", "/status?599", "/status?999", "/status?101",
		"/status-length?200", "/status-length?204", "/status-length?304", "/coding?identity", "/coding?chunked", "/coding?gzip",
		"/connection?close", "/connection?Close", "/connection?keep-alive", "/connection?close,+x", "/connection?x,+close",
		"/sizes?0", "/sizes?1", "/sizes?2047", "/sizes?2048", "/sizes?2049", "/sizes?2000,48", "/sizes?2000,49", "/sizes?2000,100,2000", "/sizes?1,4096,1",
		"/sizes?100000", "/sizes?3000,16000,20000,1", "/sizes-known?1", "/sizes-known?5000", "/sizes-known?2000,16000,40000,5", "/sizes-known?16384,16384",
	} {
		say("answer "+path, ask(path, "x"), simple)
		say("answer without a body read "+path, ask(path, ""), simple)
	}
	return all
}

// Our server gives the same answers as net/http's at the same times, whatever the client does.
func TestServerLikeStandard(t *testing.T) {
	t.Parallel()
	for name, v := range conversations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareServers(t, v)
		})
	}
}
