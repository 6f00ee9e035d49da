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

// streams are sessions of the 2025 era, each with its GET stream open, as SDK clients have it.
var streams = subject{name: "streams", of: "open GET streams", sizes: []int{1000, 9000}, most: 9500, measure: measureStreams}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"scale","version":"1"}}}`
	echo     = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`
	echoTool = `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
)

func measureStreams(ctx context.Context, n int) (figures []figure, err error) {
	bare, err := measureBare(ctx, n) // before the others: files are limited
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(http.HandlerFunc(serveStreams))
	g, err := startGateway(ctx, func(string) string { return "servers: {it: {url: '" + server.URL + "'}}\n" })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()); server.CloseClientConnections(); server.Close() }()
	caller, err := openSession(ctx, g.address)
	if err != nil {
		return nil, err
	}
	before, err := caller.cost(g, 1000)
	if err != nil {
		return nil, err
	}
	each, shut, err := openStreams(ctx, g, n)
	defer shut()
	if err != nil {
		return nil, err
	}
	during, err := caller.cost(g, 1000)
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
func measureBare(ctx context.Context, n int) (each held, err error) {
	g, err := startBare(ctx)
	if err != nil {
		return each, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	each, shut, err := openStreams(ctx, g, n)
	shut()
	return each, err
}

// openStreams opens as many, and returns what each takes. shut closes them.
func openStreams(ctx context.Context, g *gatewayProcess, n int) (each held, shut func(), err error) {
	open := make([]*sessionClient, 0, n)
	shut = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	empty, err := g.holds()
	for len(open) < n && err == nil {
		var c *sessionClient
		if c, err = openSession(ctx, g.address); err == nil {
			open = append(open, c)
			err = c.do(http.MethodGet, "")
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

// serve is one with other tools.
func serve(w http.ResponseWriter, r *http.Request, tools string) {
	body, _ := io.ReadAll(r.Body) // what cannot be read is no call
	w.Header().Set("Content-Type", "application/json")
	var result string
	switch {
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
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
	id, _, _ := bytes.Cut(bytes.SplitN(append(body, `"id":0,`...), []byte(`"id":`), 3)[1], []byte(","))
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, bytes.TrimRight(id, "}"), result)
}

// A sessionClient has a session, and one connection.
type sessionClient struct {
	net.Conn

	in      *bufio.Reader
	address string
	session string
	said    []byte // the last answer
}

func openSession(ctx context.Context, address string) (*sessionClient, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	until, _ := ctx.Deadline()
	_ = conn.SetDeadline(until) // a connection that is closed needs none
	c := &sessionClient{Conn: conn, in: bufio.NewReaderSize(conn, 1<<10), address: address}
	if err := c.do(http.MethodPost, initialize); err != nil {
		return nil, err
	}
	err = c.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, err
}

// do makes a request, and reads the answer unless it is a stream.
func (c *sessionClient) do(method, body string) error {
	head := fmt.Sprintf("%s /it/mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream, application/json\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n", method, c.address, len(body))
	if c.session != "" {
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
	if method == http.MethodGet && answer.StatusCode == http.StatusOK {
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
func (c *sessionClient) cost(g *gatewayProcess, calls int) (cost, error) {
	times, before := make([]float64, calls), g.processor()
	for i := range times {
		began := time.Now()
		if err := c.do(http.MethodPost, echo); err != nil {
			return cost{}, err
		}
		times[i] = float64(time.Since(began).Microseconds())
	}
	slices.Sort(times)
	return cost{times[calls/2], float64((g.processor() - before).Microseconds()) / float64(calls)}, nil
}
