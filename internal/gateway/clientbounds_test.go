package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

const firstMessage = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// bytesOf returns the bytes of a request, with other header lines.
func bytesOf(body string, lines ...string) string {
	return "POST /farm/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
		strings.Join(append(lines, fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

// slowly writes a text byte by byte, until the other side has had enough.
func slowly(conn net.Conn, text string) {
	for i := range text {
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			return
		}
		time.Sleep(900 * time.Millisecond)
	}
}

// What a client may take of the gateway before its message is known, whatever it sends. Each connection ends within the time, with the
// answers.
func TestBoundsOfClients(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	good := bytesOf(firstMessage)
	for name, test := range map[string]struct {
		send    func(conn net.Conn)
		within  time.Duration
		answers []int // their statuses
	}{
		"says nothing":           {func(net.Conn) {}, 11 * time.Second, nil},
		"half a line":            {func(conn net.Conn) { _, _ = io.WriteString(conn, "POST /far") }, 11 * time.Second, []int{http.StatusBadRequest}},
		"a header, byte by byte": {func(conn net.Conn) { slowly(conn, good) }, 11 * time.Second, []int{http.StatusBadRequest}},
		"an endless header": {func(conn net.Conn) {
			for { // until the gateway has had enough
				if _, err := io.WriteString(conn, "X-More: "+long[:1000]+"\r\n"); err != nil {
					return
				}
			}
		}, 11 * time.Second, []int{http.StatusBadRequest}},
		"a field of 100 KiB": {
			func(conn net.Conn) { _, _ = io.WriteString(conn, bytesOf(firstMessage, "X-Long: "+long)) },
			11 * time.Second,
			[]int{http.StatusRequestHeaderFieldsTooLarge},
		},
		"many fields": {
			func(conn net.Conn) {
				_, _ = io.WriteString(conn, bytesOf(firstMessage, strings.Repeat("X: y\r\n", 20_000)+"X: y"))
			},
			11 * time.Second,
			[]int{http.StatusRequestHeaderFieldsTooLarge},
		},
		"a long path": {
			func(conn net.Conn) { _, _ = io.WriteString(conn, strings.Replace(good, "/farm/mcp", "/"+long, 1)) },
			11 * time.Second,
			[]int{http.StatusRequestHeaderFieldsTooLarge},
		},
		"a body, byte by byte": {func(conn net.Conn) {
			at := strings.Index(good, "\r\n\r\n") + 4
			_, _ = io.WriteString(conn, good[:at])
			slowly(conn, good[at:])
		}, 61 * time.Second, []int{http.StatusBadRequest}},
		"chunks that do not end": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, strings.Replace(bytesOf(""), "Content-Length: 0", "Transfer-Encoding: chunked", 1))
			slowly(conn, strings.Repeat("1\r\nx\r\n", 100))
		}, 61 * time.Second, []int{http.StatusBadRequest}},
		"a large body": {
			func(conn net.Conn) { _, _ = io.WriteString(conn, bytesOf(strings.Repeat(" ", 6<<20))) },
			10 * time.Second,
			[]int{http.StatusRequestEntityTooLarge},
		},
		"a good request, then nothing": {func(conn net.Conn) { _, _ = io.WriteString(conn, good) }, 121 * time.Second, []int{http.StatusOK}},
		"a good request, then a slow one": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, good+"POST")
			slowly(conn, good[4:])
		}, 11 * time.Second, []int{http.StatusOK, http.StatusBadRequest}},
		"two lengths": {
			func(conn net.Conn) { _, _ = io.WriteString(conn, bytesOf(firstMessage, "Content-Length: 5")) },
			10 * time.Second,
			[]int{http.StatusBadRequest},
		},
		"a length and chunks": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, bytesOf("0\r\n\r\n"+good, "Transfer-Encoding: chunked"))
		}, 10 * time.Second, []int{http.StatusBadRequest}},
		"an unknown coding": {
			func(conn net.Conn) { _, _ = io.WriteString(conn, bytesOf(firstMessage, "Transfer-Encoding: xchunked")) },
			10 * time.Second,
			[]int{http.StatusNotImplemented},
		},
		"no host":          {func(conn net.Conn) { _, _ = io.WriteString(conn, strings.Replace(good, "Host", "Hots", 1)) }, 10 * time.Second, []int{http.StatusBadRequest}},
		"HTTP/2 unasked":   {func(conn net.Conn) { _, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }, 10 * time.Second, []int{http.StatusNotFound}},
		"something else":   {func(conn net.Conn) { _, _ = conn.Write([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")) }, 10 * time.Second, []int{http.StatusBadRequest}},
		"an empty request": {func(conn net.Conn) { _, _ = io.WriteString(conn, "\r\n\r\n") }, 10 * time.Second, []int{http.StatusBadRequest}},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
			conn := serve(t, g, 0).dial(t, "")
			began := time.Now()
			go test.send(conn)
			in, answers := bufio.NewReader(conn), []int(nil)
			for {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					break
				}
				answers = append(answers, resp.StatusCode)
				_, _ = io.Copy(io.Discard, resp.Body) // it may be cut off
			}
			if took := time.Since(began); took > test.within || fmt.Sprint(answers) != fmt.Sprint(test.answers) {
				t.Errorf("the connection ended after %s with %v, want %v within %s", took, answers, test.answers, test.within)
			}
			_ = conn.Close()
			time.Sleep(time.Second) // the gateway gives clients that long to read its last words
		})
	}
}

// Requests that follow each other on a connection before the first is answered, in whatever pieces they arrive, reach the server as they
// were sent, each once and in their order.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	const calls = 60
	for name, cut := range map[string]func(text string) []string{
		"at once": func(text string) []string { return []string{text} },
		"one byte too many": func(text string) []string {
			at := strings.Index(text[1:], "POST") + 2
			return []string{text[:at], text[at:]}
		},
		"half a header more": func(text string) []string {
			at := strings.Index(text[1:], "POST") + 60
			return []string{text[:at], text[at:]}
		},
		"in pieces of 7":      func(text string) []string { return pieces(text, 7) },
		"in pieces of 4 KiB":  func(text string) []string { return pieces(text, 4<<10) },
		"in pieces of 1 byte": func(text string) []string { return pieces(text, 1) },
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Legacy))
			g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
			s := serve(t, g, 0)
			c := (&gatewaytest.Front{URL: "http://" + s.addr + "/farm/mcp"}).Client(t, testkit.Legacy)
			var text strings.Builder
			for i := range calls {
				text.WriteString(raw(c.Session, http.MethodPost, fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"amount %d000"}}}`, i+1, i+1)))
			}
			conn := s.dial(t, "")
			go func() {
				for i, piece := range cut(text.String()) {
					if i > 0 {
						time.Sleep(20 * time.Millisecond) // the first call may be under way
					}
					_, _ = io.WriteString(conn, piece) // what is lost is missing below
				}
			}()
			in := bufio.NewReader(conn)
			_ = conn.SetReadDeadline(time.Now().Add(time.Hour))
			for i := range calls {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("answer %d: %v", i+1, err)
				}
				body, _ := io.ReadAll(resp.Body)
				if want := fmt.Sprintf("amount %d000", i+1); resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want+`"`) {
					t.Fatalf("got %d %s, want %s", resp.StatusCode, body, want)
				}
			}
			if got := srv.Executions(testkit.Echo); got != calls {
				t.Errorf("the server ran %d calls, want %d", got, calls)
			}
		})
	}
}

func pieces(text string, size int) (all []string) {
	for len(text) > size {
		all, text = append(all, text[:size]), text[size:]
	}
	return append(all, text)
}

// Before the gateway ends, answers ask clients to close their connections; then idle connections are closed, and new ones refused.
func TestClientsAreAskedToLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, _ := gatewaytest.New(t, "shutdown_delay: 5s\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
		s := serve(t, g, time.Minute)
		ask := func(conn net.Conn) *http.Response {
			t.Helper()
			if _, err := io.WriteString(conn, bytesOf(firstMessage)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body) // it has arrived
			return resp
		}
		idle, busy := s.dial(t, ""), s.dial(t, "")
		if ask(idle).Close || ask(busy).Close {
			t.Error("a client is asked to close its connection while the gateway serves")
		}
		s.stop()
		synctest.Wait()
		if late := s.dial(t, ""); !ask(busy).Close || !ask(late).Close {
			t.Error("a client is not asked to close its connection while the gateway ends")
		}
		began := time.Now()
		if _, err := idle.Read(make([]byte, 1)); err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("the idle connection ended after %s, %v", time.Since(began), err)
		}
		if err := <-s.end; err != nil || time.Since(began) > 6*time.Second {
			t.Errorf("the gateway ended after %s, %v", time.Since(began), err)
		}
		if conn, err := testkit.Dial(t.Context(), "tcp", s.addr); err == nil {
			_ = conn.Close()
			t.Error("a connection is accepted after the end")
		}
	})
}
