package http1_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/http1"
)

// A call is one request of a caller, and how long the caller waits for the answer.
type call struct {
	method   string
	url      string
	header   http.Header
	body     string
	patience time.Duration // 0: ten minutes
	cause    error         // of the context, when patience ends
	read     int           // bytes of the answer that the caller reads; 0: all
	after    time.Duration // the pause before the request
	change   func(r *http.Request)
}

// A scene is a caller and a server, each with a script.
type scene struct {
	// script returns what the server does after each request of a connection: strings to
	// write, pauses, and deeds.
	script func(conn, request int) []any
	calls  []call
	change func(t *http.Transport)
	most   int  // bytes that the transport reads at once; 0: all there are
	close  bool // idle connections are closed before the last call
}

// A deed is what a server does besides writing and waiting.
type deed int

const (
	hangUp deed = iota
	breakOff
)

// transport has the methods that both transports have.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// behind returns the transport to test: standard itself, or one in front of it.
type behind func(standard *http.Transport) transport

func theirs(standard *http.Transport) transport { return standard }

func ours(standard *http.Transport) transport { return poster{http1.NewTransport(standard), standard} }

// A poster uses Post where it can, and net/http's transport elsewhere.
type poster struct {
	*http1.Transport

	standard *http.Transport
}

func (p poster) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && r.Body == nil {
		to := r.WithContext(context.Background())
		to.Header = nil
		resp, err := p.Open(r.Context(), to, r.Header, nil)
		if err == nil {
			resp.Request = r
		}
		return resp, err
	}
	if r.Method != http.MethodPost || r.Body == nil || r.GetBody == nil {
		return p.standard.RoundTrip(r)
	}
	again, _ := r.GetBody()
	body, err := io.ReadAll(again)
	if err != nil || int64(len(body)) != r.ContentLength {
		return p.standard.RoundTrip(r)
	}
	to := r.WithContext(context.Background())
	to.Header, to.Body, to.GetBody, to.ContentLength = nil, nil, nil, 0
	resp, err := p.Post(r.Context(), to, r.Header, body)
	if err == nil {
		resp.Request = r
	}
	return resp, err
}

func (s scene) said(t *testing.T, tried behind) (text string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		n := new(notebook)
		var mu sync.Mutex
		dialled := 0
		standard := &http.Transport{
			DisableCompression: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
			DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				n.notef("dials %s %s", network, address)
				if strings.HasPrefix(address, "nobody") {
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				client, server := newMemoryConn()
				client.in.most = s.most
				go s.serve(n, server, dialled)
				dialled++
				return client, nil
			},
		}
		if s.change != nil {
			s.change(standard)
		}
		tr := tried(standard)
		for i, c := range s.calls {
			if s.close && i == len(s.calls)-1 {
				tr.CloseIdleConnections()
			}
			c.make(n, tr)
			synctest.Wait()
		}
		tr.CloseIdleConnections()
		time.Sleep(time.Minute)
		synctest.Wait()
		text = n.text()
	})
	return text
}

// serve is the server of a connection.
func (s scene) serve(n *notebook, conn *memoryConn, number int) {
	in := bufio.NewReader(conn)
	defer conn.Close()
	for request := 0; ; request++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		n.notef("connection %d, request %d: %s %s host %q length %d coding %q\n%sbody of %d bytes %.30q", number, request, r.Method, r.RequestURI,
			r.Host, r.ContentLength, r.TransferEncoding, describe(r.Header), len(body), body)
		for _, step := range s.script(number, request) {
			switch step := step.(type) {
			case string:
				_, _ = io.WriteString(conn, step)
			case []byte: // a byte at a time
				for _, b := range step {
					_, _ = conn.Write([]byte{b})
					time.Sleep(time.Millisecond)
				}
			case time.Duration:
				time.Sleep(step)
			case deed:
				if step == breakOff {
					conn.reset()
				} else {
					_ = conn.CloseWrite()
				}
			}
		}
	}
}

func (c call) make(n *notebook, tr http.RoundTripper) {
	time.Sleep(c.after)
	ctx := context.Background()
	if c.patience == 0 {
		c.patience = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, c.cause)
	defer cancel()
	began := time.Now()
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.url == "" {
		c.url = "http://a.example/path?q=1"
	}
	u, err := url.Parse(c.url)
	if err != nil {
		panic(err)
	}
	r := (&http.Request{Method: c.method, URL: u, Header: c.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if r.Header == nil {
		r.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"test"}}
	}
	if c.body != "" {
		r.Body = io.NopCloser(strings.NewReader(c.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(c.body)), nil }
		r.ContentLength = int64(len(c.body))
	}
	if c.change != nil {
		c.change(r)
	}
	resp, err := tr.RoundTrip(r)
	took := time.Since(began)
	if err != nil {
		e := recourse.From(err)
		n.notef("error %s, effect %q after %s", errorClass(err), e.Effect, took)
		return
	}
	if resp.Request != r {
		n.notef("the answer has another request")
	}
	n.notef("%s %d %s %d.%d length %d coding %q close %t uncompressed %t tls %t\n%safter %s", resp.Status, resp.StatusCode, resp.Proto,
		resp.ProtoMajor, resp.ProtoMinor, resp.ContentLength, resp.TransferEncoding, resp.Close, resp.Uncompressed, resp.TLS != nil,
		describe(resp.Header), took)
	resp.Header.Set("Content-Type", "the caller's") // must not show in another answer
	var body []byte
	if c.read > 0 {
		body = make([]byte, c.read)
		_, err = io.ReadFull(resp.Body, body)
	} else {
		body, err = io.ReadAll(resp.Body)
	}
	closed := resp.Body.Close()
	_, again := resp.Body.Read(make([]byte, 1))
	n.notef("body %.60q of %d: %s, closed %s, then %t, trailer %v after %s", body, len(body), errorClass(err), errorClass(closed), again != nil,
		resp.Trailer, time.Since(began))
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nhi"

// scenes are the scenes in which our transport must behave like net/http's.
func scenes() map[string]scene {
	all := map[string]scene{}
	add := func(name string, s scene) {
		if _, twice := all[name]; twice {
			panic(name)
		}
		all[name] = s
	}
	always := func(steps ...any) func(int, int) []any { return func(int, int) []any { return steps } }
	two := []call{{body: "one"}, {body: "two"}}
	single := func(t *http.Transport) { t.DisableKeepAlives = true }
	answers := func(name string, steps ...any) {
		add("answer: "+name, scene{script: always(steps...), calls: two})
		add("answer to GET: "+name, scene{script: always(steps...), calls: []call{{method: http.MethodGet}}, change: single})
	}
	answers("simple", ok)
	answers("empty", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	answers("by bytes", []byte(ok))
	answers("head and body apart", ok[:len(ok)-2], 50*time.Millisecond, ok[len(ok)-2:])
	answers("long", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("b", 100000))
	answers("chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n", time.Second, "1\r\n!\r\n0\r\n\r\n")
	answers("chunked with a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n")
	answers("chunked and broken", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhix\r\n", hangUp)
	answers("chunked and cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi", hangUp)
	answers("bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhi")
	answers("until the end", "HTTP/1.1 200 OK\r\n\r\nhi", time.Second, "!", hangUp)
	answers("until the end, broken", "HTTP/1.1 200 OK\r\n\r\nhi", time.Second, "!", breakOff)
	answers("more than it says", ok+"more")
	answers("two at once", ok+ok)
	answers("another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhi", time.Second, "!", hangUp)
	answers("closed after it", ok, hangUp)
	answers("broken after it", ok, breakOff)
	for i, line := range []string{
		"Connection: close", "Connection: keep-alive", "Connection: Close, x", "Connection:", "Content-Length: 2", "Content-Length: 3", "Content-Length : 2",
		"Content-Length: +2", "Content-Length: 0x2", "Content-Length: 02", "Content-Length:", "Content-Length: 2, 2", "Content-Length: 1",
		"Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip", "transfer-encoding : chunked", "Trailer: X", "Pragma: no-cache",
		"Upgrade: x", "X: a\x00b", "X: a\rb", "X: a\nY: b", "X: a\r\n folded", " X: a", "X y: a", "X\x00: a", ": a", "X", "X:", "X:\t v \t", "x-lower: v", "X-Lower: v",
		"Content-Encoding: gzip", "X: \xe9", "Set-Cookie: a\r\nSet-Cookie: b", "Keep-Alive: timeout=1", "Proxy-Connection: close",
	} {
		answers(fmt.Sprintf("field %d %q", i, line), "HTTP/1.1 200 OK\r\n"+line+"\r\nContent-Length: 2\r\n\r\nhi")
		answers(fmt.Sprintf("field alone %d %q", i, line), "HTTP/1.1 200 OK\r\n"+line+"\r\n\r\n2\r\nhi\r\n0\r\n\r\n", hangUp)
	}
	for i, line := range []string{
		"HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1  200 OK", "HTTP/1.1 200  OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 abc OK", "HTTP/1.1 -20 OK",
		"HTTP/1.0 200 OK", "HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "http/1.1 200 OK", "ICY 200 OK", "", "HTTP/1.1", "HTTP/1.1 200 OK ",
		"HTTP/1.1 200 Al\x00l", "HTTP/1.1 200 \xe9", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 099 X", "HTTP/1.1 600 X", "HTTP/1.1 999 X",
		"HTTP/1.1 101 Switching Protocols", "HTTP/1.1 205 Reset Content", "HTTP/1.1 404 Not Found", "HTTP/1.1 301 Moved\r\nLocation: /b",
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3",
	} {
		answers(fmt.Sprintf("status line %d %q", i, line), line+"\r\nContent-Length: 2\r\n\r\nhi", hangUp)
		answers(fmt.Sprintf("status line, no length %d %q", i, line), line+"\r\n\r\nhi", hangUp)
	}
	answers("bare line feeds", strings.ReplaceAll(ok, "\r\n", "\n"))
	answers("100 before", "HTTP/1.1 100 Continue\r\n\r\n"+ok)
	answers("103 and 102 before", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", time.Second, "HTTP/1.1 102 Processing\r\n\r\n"+ok)
	answers("100 and the end", "HTTP/1.1 100 Continue\r\n\r\n", hangUp)
	answers("many 103", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 100)+ok)
	answers("too many 103", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1000)+"\r\n\r\n", 100)+ok)
	for _, size := range []int{3 << 10, 5 << 10, 60 << 10, 70 << 10, 200 << 10} {
		answers(fmt.Sprintf("head of %d", size), "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("v", size)+"\r\nContent-Length: 2\r\n\r\nhi")
		answers(fmt.Sprintf("head of many lines of %d", size), "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: v\r\n", size/6)+"Content-Length: 2\r\n\r\nhi")
	}
	answers("nothing", hangUp)
	answers("nothing, broken", breakOff)
	for i := range len(ok) {
		answers(fmt.Sprintf("EOF after %d bytes", i), ok[:i], hangUp)
		if i%4 == 0 {
			answers(fmt.Sprintf("reset after %d bytes", i), ok[:i], breakOff)
		}
	}
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
	for i := strings.Index(chunked, "\r\n\r\n"); i < len(chunked); i++ {
		answers(fmt.Sprintf("chunked, EOF after %d bytes", i), chunked[:i], hangUp)
	}
	// The same head again, with one change.
	turns := func(texts ...string) func(int, int) []any {
		return func(_, request int) []any { return []any{texts[request%len(texts)]} }
	}
	four := []call{{body: "1"}, {body: "2"}, {body: "3"}, {body: "4"}}
	bases := []string{
		ok, "HTTP/1.1 200 OK\r\nX: 1\r\ncontent-length:\t2 \r\nX: 2\r\n\r\nhi", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 200 OK\nContent-Length: 6\n\n\r\n\r\nhi", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTrailer: X\r\n\r\nhi",
	}
	for i, length := range []string{
		"2", "1", "3", "0", "02", "+2", "-2", "0x2", "", " 2", "2 ", "2\t", "2 2", "2, 2", "2;", "99999999999999999999",
		"2\r\nX: a", "2\r\nContent-Length: 2", "2\r\nContent-Length: 3", "2\r\nTransfer-Encoding: chunked", "2\nX: a", "2\r\n\r\nhi", "2\r", "\r\n 2",
	} {
		for _, base := range bases[:3] {
			other := strings.Replace(base[17:], "2", length, 1)
			add(fmt.Sprintf("again %d %q in %q", i, length, base), scene{script: turns(base, base[:17]+other), calls: four})
		}
	}
	for i, base := range bases {
		for j, other := range slices.Concat(bases, []string{
			strings.Replace(ok, "200", "201", 1), strings.Replace(ok, "200 OK", "200 O", 1), strings.Replace(ok, "1.1", "1.0", 1),
			strings.Replace(ok, "plain", "other", 1), strings.Replace(ok, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1),
			strings.Replace(ok, "Content-Length: 2", "Transfer-Encoding: chunked", 1), "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + ok,
			strings.Replace(bases[2], "2\r\n\r\n", "3\r\n\r\n", 1), ok[:len(ok)-1],
		}) {
			add(fmt.Sprintf("another head %d %d", i, j), scene{script: turns(base, base, other), calls: four})
		}
	}
	// Kept connections.
	first := func(steps ...any) func(int, int) []any {
		return func(_, request int) []any {
			if request == 0 {
				return []any{ok}
			}
			return steps
		}
	}
	three := []call{{body: "one"}, {body: "two"}, {body: "three"}}
	add("kept", scene{script: always(ok), calls: three})
	add("kept, the second breaks", scene{script: first(breakOff), calls: three})
	add("kept, the second ends", scene{script: first(hangUp), calls: three})
	add("kept, the second ends in the head", scene{script: first("HTTP/1.1 200", hangUp), calls: three})
	add("kept, the second ends in the body", scene{script: first(ok[:len(ok)-1], hangUp), calls: three})
	add("kept, the second breaks in the body", scene{script: first(ok[:len(ok)-1], breakOff), calls: three})
	add("kept for a minute", scene{script: always(ok), calls: []call{{body: "one"}, {body: "two", after: 59 * time.Second}, {body: "three", after: 61 * time.Second}}})
	add("ended by the server meanwhile", scene{
		script: func(int, int) []any { return []any{ok, time.Second, hangUp} }, calls: []call{{body: "one"}, {body: "two", after: 2 * time.Second}},
	})
	add("reset by the server meanwhile", scene{
		script: func(int, int) []any { return []any{ok, time.Second, breakOff} }, calls: []call{{body: "one"}, {body: "two", after: 2 * time.Second}},
	})
	add("words of the server meanwhile", scene{
		script: func(int, int) []any { return []any{ok, time.Second, "HTTP/1.1 408 Request Timeout\r\n\r\n", hangUp} },
		calls:  []call{{body: "one"}, {body: "two", after: 2 * time.Second}},
	})
	add("closed meanwhile", scene{script: always(ok), calls: two, close: true})
	add("not kept", scene{script: always(ok), calls: two, change: func(t *http.Transport) { t.DisableKeepAlives = true }})
	add("none kept", scene{script: always(ok), calls: two, change: func(t *http.Transport) { t.MaxIdleConnsPerHost = -1 }})
	add("two servers", scene{script: always(ok), calls: []call{{body: "1"}, {body: "2", url: "http://b.example:81/"}, {body: "3"}, {body: "4", url: "http://b.example:81/"}}})
	add("one kept of two servers", scene{
		script: always(ok), calls: []call{
			{body: "1"}, {body: "2", url: "http://b.example:81/", after: 1}, {body: "3", url: "http://b.example:81/", after: 1}, {body: "4", after: 1},
		},
		change: func(t *http.Transport) { t.MaxIdleConns = 1 },
	})
	add("answer not read", scene{script: always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhi"), calls: []call{{body: "1", read: 1}, {body: "2", read: 2}}})
	add("answer read but for its end", scene{script: always(chunked), calls: []call{{body: "1", read: 2}, {body: "2", read: 2}}})
	// Patience.
	slow := []call{{body: "1", patience: 100 * time.Millisecond}, {body: "2"}}
	caused := []call{{body: "1", patience: 100 * time.Millisecond, cause: recourse.Cancelled()}, {body: "2"}}
	for name, script := range map[string]func(int, int) []any{
		"no answer":             always(time.Second, ok),
		"half a head":           always("HTTP/1.1 200 OK\r\nX", time.Second, ok),
		"half a body":           always(ok[:len(ok)-1], time.Second, "!"),
		"half a chunk":          always(chunked[:len(chunked)-9], time.Second, "!"),
		"end at the same time":  always(100*time.Millisecond, ok),
		"answer that has ended": always(ok),
	} {
		if name != "end at the same time" { // either may come first
			add("patience: "+name, scene{script: script, calls: slow})
			add("patience with a cause: "+name, scene{script: script, calls: caused})
		}
	}
	add("over before it begins", scene{script: always(ok), calls: []call{{body: "1", patience: 1}}})
	// Requests.
	add("nobody", scene{script: always(ok), calls: []call{{body: "1", url: "http://nobody.example/"}, {body: "2", url: "http://nobody.example:81/"}}})
	for i, c := range []call{
		{method: http.MethodGet},
		{method: http.MethodDelete},
		{method: http.MethodPut, body: "x"},
		{method: http.MethodHead},
		{method: "post", body: "x"},
		{body: ""},
		{body: strings.Repeat("b", 15<<10)},
		{body: strings.Repeat("b", 16<<10)},
		{body: strings.Repeat("b", 64<<10)},
		{body: strings.Repeat("b", 64<<10+1)},
		{body: "x", url: "http://a.example"},
		{body: "x", url: "http://a.example:8080/a%20b?c#d"},
		{body: "x", url: "http://[::1]:80/"},
		{body: "x", url: "http://ä.example/"},
		{body: "x", url: "http://u:p@a.example/"},
		{body: "x", url: "HTTP://A.example/"},
		{body: "x", url: "http://a.example//x"},
		{body: "x", url: "ftp://a.example/"},
		{body: "x", url: "http:opaque"},
		{body: "x", url: "http://[fe80::1%25en0]/"},
		{body: "x", url: "http://a.example:/"},
		{body: "x", url: "http://a.example?x"},
		{body: "x", header: http.Header{}},
		{body: "x", header: http.Header{"User-Agent": {""}}},
		{body: "x", header: http.Header{"User-Agent": {" a "}}},
		{body: "x", header: http.Header{"User-Agent": nil}},
		{body: "x", header: http.Header{"user-agent": {"a"}}},
		{body: "x", header: http.Header{"X": {"a", " b\t"}, "lower": {"c"}, "Y": {}}},
		{body: "x", header: http.Header{"X": {"a\r\nY: b"}}},
		{body: "x", header: http.Header{"X": {"a\x00"}}},
		{body: "x", header: http.Header{"X Y": {"a"}}},
		{body: "x", header: http.Header{"": {"a"}}},
		{body: "x", header: http.Header{"Host": {"b"}}},
		{body: "x", header: http.Header{"Content-Length": {"7"}}},
		{body: "x", header: http.Header{"content-length": {"1"}}},
		{body: "x", header: http.Header{"Transfer-Encoding": {"chunked"}}},
		{body: "x", header: http.Header{"Connection": {"close"}}},
		{body: "x", header: http.Header{"Connection": {"keep-alive"}}},
		{body: "x", header: http.Header{"Upgrade": {"x"}}},
		{body: "x", header: http.Header{"Trailer": {"X"}}},
		{body: "x", header: http.Header{"Accept-Encoding": {"gzip"}}},
		{body: "x", header: http.Header{"Range": {"bytes=0-1"}}},
		{body: "x", header: http.Header{"X": {"\xff"}}},
		{body: "x", change: func(r *http.Request) { r.Host = "b.example" }},
		{body: "x", change: func(r *http.Request) { r.Host = "b/c d" }},
		{body: "x", change: func(r *http.Request) { r.Close = true }},
		{body: "x", change: func(r *http.Request) { r.GetBody = nil }},
		{body: "x", change: func(r *http.Request) { r.ContentLength = -1 }},
		{body: "x", change: func(r *http.Request) { r.ContentLength = 0 }},
		{body: "x", change: func(r *http.Request) { r.Trailer = http.Header{"X": nil} }},
		{body: "x", change: func(r *http.Request) { r.TransferEncoding = []string{"chunked"} }},
		{body: "x", change: func(r *http.Request) { r.Body = io.NopCloser(io.LimitReader(strings.NewReader("x"), 1)) }},
		{body: "x", change: func(r *http.Request) { r.URL.Path = "/\x00 \x7f" }},
		{body: "x", change: func(r *http.Request) { r.URL.RawQuery = "a b\n" }},
		{body: "x", change: func(r *http.Request) { r.URL.Host = "" }},
		{body: "x", change: func(r *http.Request) { r.Proto, r.ProtoMinor = "HTTP/1.0", 0 }},
	} {
		add(fmt.Sprintf("request %d", i), scene{script: always(ok), calls: []call{c}})
	}
	add("proxy", scene{script: always(ok), calls: two, change: func(t *http.Transport) {
		t.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example:3128"})
	}})
	add("early answer", scene{script: always(ok, hangUp), calls: []call{{body: strings.Repeat("b", 40<<10)}, {body: "x"}}})
	return all
}

// Our transport gives its caller the same results as net/http's, whatever the server does.
func TestTransportLikeStandard(t *testing.T) {
	t.Parallel()
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := s.said(t, theirs)
			if diff := cmp.Diff(want, s.said(t, ours)); diff != "" {
				t.Errorf("net/http (-), ours (+):\n%s", diff)
			}
		})
	}
}
