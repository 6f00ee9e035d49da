package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// wantRefusal checks an HTTP error of the gateway: a JSON-RPC error with the request's id, if known, and the record and
// the members of a problem document in its data.
func wantRefusal(t *testing.T, a *testkit.Answer, status, code int, id string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("got HTTP %d, want %d: %s", a.Status, status, a.Body)
	}
	var message, rpcError map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &message); err != nil || string(message["jsonrpc"]) != `"2.0"` || string(message["id"]) != id {
		t.Fatalf("got %s, want a JSON-RPC error with id %q", a.Body, id)
	}
	if delete(message, "id"); len(message) != 2 {
		t.Errorf("got more than the error: %s", a.Body)
	}
	if a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got Content-Type %s", a.Header.Get("Content-Type"))
	}
	if err := json.Unmarshal(message["error"], &rpcError); err != nil || len(rpcError) != 3 {
		t.Fatalf("got error %s", message["error"])
	}
	if string(rpcError["code"]) != strconv.Itoa(code) {
		t.Errorf("got code %s, want %d: %s", rpcError["code"], code, a.Body)
	}
	var data struct {
		V         int    `json:"v"`
		Kind      string `json:"kind"`
		Origin    string `json:"origin"`
		Effect    string `json:"effect"`
		RequestID string `json:"requestId"`
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
	}
	if err := json.Unmarshal(rpcError["data"], &data); err != nil || data.V != 1 || data.Kind == "" || data.Origin != "caller" ||
		data.Effect != "none" || data.RequestID != a.Header.Get("X-Request-Id") ||
		data.Type != "about:blank" || data.Title != http.StatusText(status) || data.Status != status || data.Detail == "" {
		t.Errorf("got data %s", rpcError["data"])
	}
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestBadMessages(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"empty":                   {``, -32700},
		"space":                   {" \n", -32700},
		"word":                    {`hello`, -32700},
		"cut":                     {`{"jsonrpc":"2.0","id":1,"method":"pi`, -32700},
		"two":                     {ping + ping, -32700},
		"trailing comma":          {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, -32700},
		"not UTF-8":               {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
		"byte order mark":         {"\ufeff" + ping, -32700},
		"HTML":                    {`<html>`, -32700},
		"batch":                   {`[` + ping + `]`, -32600},
		"empty batch":             {`[]`, -32600},
		"string":                  {`"x"`, -32600},
		"null":                    {`null`, -32600},
		"duplicate member":        {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, -32600},
		"duplicate, escaped":      {`{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/call"}`, -32600},
		"duplicate, far inside":   {`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[{"b":1,"b":2}]}}`, -32600},
		"id null":                 {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
		"id fractional":           {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
		"id with exponent":        {`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, -32600},
		"id boolean":              {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600},
		"id object":               {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		"id array":                {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600},
		"no version":              {`{"id":1,"method":"ping"}`, -32600},
		"version 1.0":             {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		"no method":               {`{"jsonrpc":"2.0","id":1}`, -32600},
		"method number":           {`{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
		"params string":           {`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, -32600},
		"method and result":       {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600},
		"result and error":        {`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, -32600},
		"depth of a million":      {`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + `}`, -32600},
		"depth of a million, cut": {strings.Repeat(`{"a":`, 700_000), -32600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := client.Post(t.Context(), []byte(c.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			wantRefusal(t, a, http.StatusBadRequest, c.code, "")
		})
	}
	t.Cleanup(func() { // after all subtests
		if got := srv.Messages("ping") + srv.Messages("x") + srv.Messages("tools/call"); got != 0 {
			t.Errorf("got %d messages at the server, want none", got)
		}
	})
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startConfig(t, "public_url: https://gw.example.com\norigins: [https://app.example.com]\nhosts: [mcp.example.com, 'other.example.com:8443']\n"+
		"servers: {farm: {url: '"+srv.URL()+"'}}\n")
	h := func(pairs ...string) http.Header {
		header := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			header[pairs[i]] = append(header[pairs[i]], pairs[i+1])
		}
		return header
	}
	modern := func(m map[string]string) http.Header {
		header := h("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
		for name, value := range m {
			header.Set(name, value)
		}
		return header
	}
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"m"}` + meta + `}}`
	}
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for name, c := range map[string]struct {
		method, body string
		header       http.Header
		status, code int
	}{
		"content type missing":       {http.MethodPost, ping, http.Header{"Content-Type": nil}, 415, -32600},
		"content type text":          {http.MethodPost, ping, h("Content-Type", "text/plain"), 415, -32600},
		"content type almost":        {http.MethodPost, ping, h("Content-Type", "application/json-rpc"), 415, -32600},
		"content encoding":           {http.MethodPost, ping, h("Content-Encoding", "gzip"), 415, -32600},
		"accept JSON only":           {http.MethodPost, ping, h("Accept", "application/json"), 406, -32600},
		"accept events only":         {http.MethodPost, ping, h("Accept", "text/event-stream"), 406, -32600},
		"accept refuses":             {http.MethodPost, ping, h("Accept", "*/*, text/event-stream;q=0"), 406, -32600},
		"accept of GET":              {http.MethodGet, "", h("Accept", "application/json"), 406, -32600},
		"PUT":                        {http.MethodPut, ping, nil, 405, -32600},
		"OPTIONS without origin":     {http.MethodOptions, "", nil, 405, -32600},
		"unknown version":            {http.MethodPost, ping, h("Mcp-Protocol-Version", "2027-01-01"), 400, -32022},
		"version of another era":     {http.MethodPost, ping, h("Mcp-Protocol-Version", "2024-11-05"), 400, -32022},
		"hostile version":            {http.MethodPost, ping, h("Mcp-Protocol-Version", "\U000e0001\"\\\u200b"), 400, -32022},
		"version twice":              {http.MethodPost, ping, h("Mcp-Protocol-Version", "2025-11-25", "Mcp-Protocol-Version", "2025-06-18"), 400, -32020},
		"_meta missing":              {http.MethodPost, call(""), modern(nil), 400, -32602},
		"_meta without capabilities": {http.MethodPost, call(`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), modern(nil), 400, -32602},
		"method header missing":      {http.MethodPost, call(meta), h("Mcp-Protocol-Version", "2026-07-28", "Mcp-Name", "echo"), 400, -32020},
		"method header of another":   {http.MethodPost, call(meta), modern(map[string]string{"Mcp-Method": "ping"}), 400, -32020},
		"name header of another":     {http.MethodPost, call(meta), modern(map[string]string{"Mcp-Name": "get_field"}), 400, -32020},
		"name header broken":         {http.MethodPost, call(meta), modern(map[string]string{"Mcp-Name": "=?base64?%%?="}), 400, -32020},
		"version header missing":     {http.MethodPost, call(meta), nil, 400, -32020},
		"version header of another":  {http.MethodPost, call(meta), modern(map[string]string{"Mcp-Protocol-Version": "2025-11-25"}), 400, -32020},
		"unknown host":               {http.MethodPost, ping, h("Host", "evil.example.com"), 403, -32603},
		"port of no known host":      {http.MethodPost, ping, h("Host", "other.example.com:1"), 403, -32603},
		"unknown origin":             {http.MethodPost, ping, h("Origin", "https://evil.example.com"), 403, -32603},
		"null origin":                {http.MethodPost, ping, h("Origin", "null"), 403, -32603},
		"origin with another port":   {http.MethodPost, ping, h("Origin", "https://app.example.com:444"), 403, -32603},
		"origin of another scheme":   {http.MethodPost, ping, h("Origin", "http://app.example.com"), 403, -32603},
		"origin of a GET":            {http.MethodGet, "", h("Origin", "https://evil.example.com"), 403, -32603},
		"preflight of an unknown origin": {
			http.MethodOptions, "", h("Origin", "https://evil.example.com", "Access-Control-Request-Method", "POST"), 403, -32603,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := testkit.NewClient(t, f.URL, testkit.Legacy)
			a, err := client.Send(t.Context(), c.method, strings.NewReader(c.body), c.header)
			if err != nil {
				t.Fatal(err)
			}
			id := ""
			if c.status == http.StatusBadRequest { // others are refused before the body is read
				id = "1"
			}
			wantRefusal(t, a, c.status, c.code, id)
			switch {
			case c.status == 405 && a.Header.Get("Allow") != "GET, POST, DELETE":
				t.Errorf("got Allow: %q", a.Header.Get("Allow"))
			case c.code == -32022:
				var data struct {
					Supported []string `json:"supported"`
					Requested string   `json:"requested"`
				}
				if err := json.Unmarshal(a.Message.Error.Data, &data); err != nil || len(data.Supported) != 4 ||
					data.Requested != c.header.Get("Mcp-Protocol-Version") {
					t.Errorf("got data %s", a.Message.Error.Data)
				}
			case c.status == 403 && a.Header.Get("Access-Control-Allow-Origin") != "":
				t.Error("a page of an unknown origin may read the refusal")
			}
		})
	}
	for _, good := range []http.Header{
		h("Host", "mcp.example.com"), h("Host", "MCP.example.com:99"), h("Host", "other.example.com:8443"), h("Host", "gw.example.com"), h("Host", "[::1]:80"),
		h("Host", "localhost"), h("Origin", "https://app.example.com"), h("Origin", "https://gw.example.com"),
		h("Accept", "*/*"), h("Accept", "application/json;q=0.5, text/*"),
		{"Accept": nil},
		h("Content-Type", "Application/JSON; charset=utf-8"),
	} {
		client := testkit.NewClient(t, f.URL, testkit.Legacy)
		a, err := client.Send(t.Context(), http.MethodPost, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), good)
		if err != nil || a.Status != http.StatusOK {
			t.Errorf("%v: got %+v, %v", good, a, err)
		}
	}
	client := testkit.NewClient(t, f.URL+"/more", testkit.Legacy)
	a, err := client.Post(t.Context(), []byte(ping), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, a, http.StatusNotFound, -32600, "")
}

// The refusal of a too large message has its id, wherever that stands.
func TestTooLargeWithID(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := startConfig(t, "max_request: 1KiB\nservers: {farm: {url: '"+srv.URL()+"'}}\n").Client(t, testkit.Legacy)
	filler := strings.Repeat("a", 2000)
	for body, id := range map[string]string{
		`{"jsonrpc":"2.0","id":"x-1","method":"x","params":{"a":"` + filler + `"}}`:    `"x-1"`,
		`{"jsonrpc":"2.0","method":"x","params":{"a":"` + filler + `"},"id":7}`:        `7`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"a":"` + filler + `"`: `8`,
		`{"jsonrpc":"2.0","id":{},"method":"x","params":{"a":"` + filler + `"}}`:       ``,
		`{"jsonrpc":"2.0","id":null,"method":"x","params":{"a":"` + filler + `"}}`:     ``,
	} {
		a, err := client.Post(t.Context(), []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, a, http.StatusRequestEntityTooLarge, -32600, id)
	}
}

// A browser sends a preflight request before it calls.
func TestPreflight(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startConfig(t, "origins: [https://app.example.com]\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
	client := testkit.NewClient(t, f.URL, testkit.Legacy)
	origin := http.Header{"Origin": {"https://app.example.com"}}
	a, err := client.Send(t.Context(), http.MethodOptions, nil, http.Header{
		"Origin": origin["Origin"], "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type, mcp-session-id"},
	})
	if err != nil || a.Status != http.StatusNoContent || a.Size != 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://app.example.com", "Access-Control-Allow-Methods": "GET, POST, DELETE",
		"Access-Control-Allow-Headers": "content-type, mcp-session-id", "Vary": "Origin", "Access-Control-Allow-Credentials": "",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	client.Header = origin
	if a, err = client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
		t.Errorf("got headers %v", a.Header)
	}
}

// A flood is a body of a given size. It counts how much of it is read.
type flood struct {
	pattern string
	left    int64
	taken   atomic.Int64
}

func (f *flood) Read(p []byte) (int, error) {
	left := f.left - f.taken.Load()
	if left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), left)
	for i := range n {
		p[i] = f.pattern[(f.taken.Load()+i)%int64(len(f.pattern))]
	}
	f.taken.Add(n)
	return int(n), nil
}

// Large requests are refused before they are read to the end, and no bad input takes more than 64 MiB of memory.
func TestBadInputMemory(t *testing.T) {
	srv := testkit.NewServer(t)
	f := startConfig(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
	for _, c := range []struct {
		name    string
		pattern string
		size    int64
		chunked bool
		status  int
		code    int
	}{
		{"100 MB", "a", 100 << 20, false, 413, -32600},
		{"100 MB, chunked", "a", 100 << 20, true, 413, -32600},
		{"100 MB of brackets", "[", 100 << 20, true, 413, -32600},
		{"just over the limit", "[", 4<<20 + 1, true, 413, -32600},
		{"4 million levels", "[", 4 << 20, true, 400, -32600},
		{"objects, 4 MiB deep", `{"a":`, 4 << 20, false, 400, -32600},
		{"many members", `{"a":1,"`, 4 << 20, false, 400, -32700},
		{"many strings", `["a","b",`, 4 << 20, false, 400, -32600},
	} {
		t.Run(c.name, func(t *testing.T) {
			runtime.GC()
			body := &flood{pattern: c.pattern, left: c.size}
			client := testkit.NewClient(t, f.URL, testkit.Legacy)
			peak := peakHeap(func() {
				a, err := sendSized(t.Context(), client, body, c.size, c.chunked)
				if err != nil {
					t.Fatal(err)
				}
				wantRefusal(t, a, c.status, c.code, "")
			})
			if c.status == 413 && body.taken.Load() > 16<<20 { // more than the kernel may buffer
				t.Errorf("%d MiB of a refused request were read", body.taken.Load()>>20)
			}
			if peak > 64<<20 {
				t.Errorf("got %d MiB of memory", peak>>20)
			}
		})
	}
}

// sendSized posts a body of a known length, or a chunked one.
func sendSized(ctx context.Context, c *testkit.Client, body io.Reader, size int64, chunked bool) (*testkit.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if !chunked {
		req.ContentLength = size
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return &testkit.Answer{Status: resp.StatusCode, Header: resp.Header, Body: raw}, err
}

// peakHeap returns the largest amount of memory in use while f runs.
func peakHeap(f func()) uint64 {
	done, finished := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		var stats runtime.MemStats
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&stats)
			peak = max(peak, stats.HeapAlloc)
			select {
			case <-done:
				finished <- peak
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(done)
	return <-finished
}

// A client that sends its message too slowly, or never, is refused.
func TestSlowBody(t *testing.T) {
	for name, c := range map[string]struct {
		head         string
		status, code int
	}{
		"POST":         {"POST /farm/mcp HTTP/1.1\r\nContent-Type: application/json", http.StatusBadRequest, -32700},
		"not JSON":     {"POST /farm/mcp HTTP/1.1\r\nContent-Type: text/plain", http.StatusUnsupportedMediaType, -32600},
		"bad origin":   {"POST /farm/mcp HTTP/1.1\r\nOrigin: https://evil.example.com", http.StatusForbidden, -32603},
		"unknown path": {"POST /nowhere HTTP/1.1\r\nContent-Type: application/json", http.StatusNotFound, -32600},
		"PUT":          {"PUT /farm/mcp HTTP/1.1\r\nContent-Type: application/json", http.StatusMethodNotAllowed, -32600},
		"GET":          {"GET /farm/mcp HTTP/1.1\r\nAccept: text/event-stream", http.StatusBadRequest, -32700},
		"DELETE":       {"DELETE /farm/mcp HTTP/1.1\r\nAccept: */*", http.StatusBadRequest, -32700},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := gatewaytest.New(t, "servers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n")
				client, stop := dialPipe(g)
				defer stop()
				begun := time.Now()
				go func() {
					_, _ = io.WriteString(client, c.head+"\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
					for tick := time.Tick(time.Second); ; <-tick {
						if _, err := io.WriteString(client, " "); err != nil {
							return
						}
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				wantRefusal(t, &testkit.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, c.status, c.code, "")
				if took := time.Since(begun); took > 61*time.Second {
					t.Errorf("got the answer after %v", took)
				}
			})
		})
	}
}

// dialPipe serves g on a connection in memory, and returns the client's end.
func dialPipe(g http.Handler) (client net.Conn, stop func()) {
	client, server := net.Pipe()
	listener := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conn <- server
	front := &http.Server{Handler: g, ReadHeaderTimeout: time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = front.Serve(listener) }) // http.ErrServerClosed
	return client, func() {
		_ = client.Close()
		_ = front.Close()
		served.Wait()
		time.Sleep(2 * time.Second) // until the goroutines of the connection have ended
	}
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
