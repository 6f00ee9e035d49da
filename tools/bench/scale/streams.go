package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"time"
)

// streams are sessions of the 2025 era, each with its GET stream open, as SDK clients have it. listens are what the era from 2026-07-28
// has in their place.
var (
	streams = subject{name: "streams", of: "open GET streams", sizes: []int{1000, 9000}, most: 9500, measure: legacy.measure}
	listens = subject{name: "listens", of: "open subscriptions", sizes: []int{1000, 9000}, most: 9500, measure: modern.measure}

	legacy = era{openSession, serveStreams, http.MethodGet, "", echo}
	modern = era{openModern, serveModern, http.MethodPost, listen, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + meta +
		`,"name":"echo","arguments":{}}}`}
)

// An era is how its clients connect, listen and call.
type era struct {
	open   func(ctx context.Context, address string) (*sessionClient, error)
	server http.HandlerFunc

	method, listen, call string
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"scale","version":"1"}}}`
	echo     = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`
	meta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	listen   = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + meta + `,"notifications":{"toolsListChanged":true}}}`
	echoTool = `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
)

func (e era) measure(ctx context.Context, n int) (figures []figure, err error) {
	bare, err := e.measureBare(ctx, n) // before the others: files are limited
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(e.server)
	g, err := startGateway(ctx, func(string) string { return "servers: {it: {url: '" + server.URL + "'}}\n" })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()); server.CloseClientConnections(); server.Close() }()
	caller, err := e.open(ctx, g.address)
	if err != nil {
		return nil, err
	}
	before, err := caller.cost(g, e.call, 1000)
	if err != nil {
		return nil, err
	}
	each, shut, err := e.openStreams(ctx, g, n)
	defer shut()
	if err != nil {
		return nil, err
	}
	during, err := caller.cost(g, e.call, 1000)
	return []figure{
		{"heap a stream, KB", each.heap / 1024},
		{"of net/http alone", bare.heap / 1024},
		{"stacks a stream, KB", each.stacks / 1024},
		{"of net/http alone", bare.stacks / 1024},
		{"goroutines a stream", each.goroutines},
		{"of net/http alone", bare.goroutines},
		{"a call meanwhile, us", during.median},
		{"against without streams", during.median / before.median},
		{"its processor time, us", during.processor},
		{"against without streams", during.processor / before.processor},
	}, err
}

// measureBare measures what a stream takes of net/http's server, whose handler does nothing but wait.
func (e era) measureBare(ctx context.Context, n int) (each held, err error) {
	g, err := startBare(ctx)
	if err != nil {
		return each, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	each, shut, err := e.openStreams(ctx, g, n)
	shut()
	return each, err
}

// openStreams opens as many, and returns what each takes. shut closes them.
func (e era) openStreams(ctx context.Context, g *gatewayProcess, n int) (each held, shut func(), err error) {
	open := make([]*sessionClient, 0, n)
	shut = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	empty, err := g.holds()
	for len(open) < n && err == nil {
		var c *sessionClient
		if c, err = e.open(ctx, g.address); err == nil {
			open = append(open, c)
			err = c.do(e.method, e.listen)
		}
	}
	if err != nil {
		return each, shut, err
	}
	full, err := g.holds()
	each = held{full.heap - empty.heap, full.stacks - empty.stacks, full.goroutines - empty.goroutines}
	each.heap, each.stacks, each.goroutines = each.heap/float64(n), each.stacks/float64(n), each.goroutines/float64(n)
	return each, shut, err
}

// sessions numbers the server's.
var sessions atomic.Int64

// serveStreams is a server of the 2025 era with a tool, whose streams say nothing.
func serveStreams(w http.ResponseWriter, r *http.Request) { serve(w, r, echoTool) }

// serveModern is one of the modern era.
func serveModern(w http.ResponseWriter, r *http.Request) {
	switch r.Header.Get("Mcp-Method") {
	case "subscriptions/listen":
		_, _ = io.Copy(io.Discard, r.Body)
		stream(w, r, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{`+
			`"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}}`+"\n\n")
	case "server/discover":
		body, _ := io.ReadAll(r.Body)
		answer(w, body, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,`+
			`"cacheScope":"private"}`)
	default:
		serve(w, r, echoTool)
	}
}

// serve is one with other tools.
func serve(w http.ResponseWriter, r *http.Request, tools string) {
	body, _ := io.ReadAll(r.Body) // what cannot be read is no call
	w.Header().Set("Content-Type", "application/json")
	var result string
	switch {
	case r.Method == http.MethodGet:
		stream(w, r, "")
		return
	case bytes.Contains(body, []byte(`"initialize"`)):
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"it","version":"1"}}`
	case bytes.Contains(body, []byte(`"tools/list"`)):
		result = tools
	case bytes.Contains(body, []byte(`"tools/call"`)):
		result = `{"content":[]}`
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer(w, body, result)
}

// answer answers a request.
func answer(w http.ResponseWriter, body []byte, result string) {
	id, _, _ := bytes.Cut(bytes.SplitN(append(body, `"id":0,`...), []byte(`"id":`), 3)[1], []byte(","))
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, bytes.TrimRight(id, "}"), result)
}

// stream begins a stream with a text, and then says nothing.
func stream(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// A sessionClient has a session, unless it is of the modern era, and one connection.
type sessionClient struct {
	net.Conn

	in      *bufio.Reader
	address string
	session string
	modern  bool
	said    []byte // the last answer
}

func openSession(ctx context.Context, address string) (*sessionClient, error) {
	c, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := c.do(http.MethodPost, initialize); err != nil {
		return nil, err
	}
	err = c.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, err
}

// openModern connects. The modern era has no sessions.
func openModern(ctx context.Context, address string) (*sessionClient, error) {
	c, err := connect(ctx, address)
	if err == nil {
		c.modern = true
	}
	return c, err
}

func connect(ctx context.Context, address string) (*sessionClient, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	until, _ := ctx.Deadline()
	_ = conn.SetDeadline(until) // a connection that is closed needs none
	return &sessionClient{Conn: conn, in: bufio.NewReaderSize(conn, 1<<10), address: address}, nil
}

// do makes a request, and reads the answer unless it is a stream.
func (c *sessionClient) do(method, body string) error {
	head := fmt.Sprintf("%s /it/mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream, application/json\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n", method, c.address, len(body))
	switch {
	case c.modern && body == listen:
		head += "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
	case c.modern:
		head += "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
	case c.session != "":
		head += "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: " + c.session + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	if c.session == "" {
		c.session = answer.Header.Get("Mcp-Session-Id")
	}
	if answer.StatusCode == http.StatusOK && answer.Header.Get("Content-Type") == "text/event-stream" {
		return nil // it has no end
	}
	defer answer.Body.Close()
	c.said, err = io.ReadAll(answer.Body)
	if answer.StatusCode > http.StatusAccepted || bytes.Contains(c.said, []byte(`"error"`)) {
		err = fmt.Errorf("%s: HTTP %d: %.1000s", method, answer.StatusCode, c.said)
	}
	return err
}

// A cost is that of a call, in microseconds.
type cost struct{ median, processor float64 }

// cost measures it. Of the processor, what the gateway does beside the calls counts as well.
func (c *sessionClient) cost(g *gatewayProcess, call string, calls int) (cost, error) {
	times, before := make([]float64, calls), g.processor()
	for i := range times {
		began := time.Now()
		if err := c.do(http.MethodPost, call); err != nil {
			return cost{}, err
		}
		times[i] = float64(time.Since(began).Microseconds())
	}
	slices.Sort(times)
	return cost{times[calls/2], float64((g.processor() - before).Microseconds()) / float64(calls)}, nil
}
