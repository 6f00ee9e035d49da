package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// A clientMessage is a JSON-RPC message of a client.
type clientMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string         `json:"name"`
		Arguments       map[string]any `json:"arguments"`
		ProtocolVersion string         `json:"protocolVersion"`
	} `json:"params"`
}

// tools are what the server lists.
const tools = `[{"name":"order_create","description":"Creates an order.","inputSchema":{"type":"object",` +
	`"properties":{"reference":{"type":"string"},"amount":{"type":"number"}},"required":["reference"]}},` +
	`{"name":"order_get","description":"Returns an order.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object",` +
	`"properties":{"reference":{"type":"string"}},"required":["reference"]}}]`

// reply is what every server answers to a message, over HTTP and stdio, if nothing goes wrong.
func reply(m *clientMessage) string {
	switch m.Method {
	case "initialize":
		return result(m, `{"protocolVersion":`+quoted(m.Params.ProtocolVersion)+
			`,"capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1.0.0"}}`)
	case "ping":
		return result(m, `{}`)
	case "tools/list":
		return result(m, `{"tools":`+tools+`}`)
	case "tools/call":
		return call(m)
	}
	return failure(m, -32601, "Method not found", `null`)
}

func call(m *clientMessage) string {
	if m.Params.Name != write && m.Params.Name != read {
		return failure(m, -32602, "Unknown tool: "+m.Params.Name, `null`)
	}
	switch reference := m.Params.Arguments["reference"].(type) {
	case nil:
		return toolError(m, "Input validation error: 'reference' is a required property")
	case string:
		return result(m, `{"content":[{"type":"text","text":`+quoted("Order "+reference+" is confirmed.")+`}]}`)
	default:
		return toolError(m, "Input validation error: 17 is not of type 'string'")
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func result(m *clientMessage, value string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + value + `}`
}

func toolError(m *clientMessage, text string) string {
	return result(m, `{"content":[{"type":"text","text":`+quoted(text)+`}],"isError":true}`)
}

func failure(m *clientMessage, code int, text, data string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":` + strconv.Itoa(code) + `,"message":` + quoted(text) +
		`,"data":` + data + `}}`
}

// A failingServer is an MCP server over HTTP, with sessions, that fails as its class says.
type failingServer struct {
	class *class
	http  http.Server
	url   string

	mu       sync.Mutex
	sessions int // the last session that was started; all before are lost
	arrived  int // calls of tools
	conns    map[net.Conn]bool
}

func newServer(ctx context.Context, c *class) (*failingServer, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &failingServer{class: c, url: "http://" + ln.Addr().String() + "/mcp", conns: map[net.Conn]bool{}}
	s.http.Handler = s
	s.http.ConnState = s.watch
	go func() { _ = s.http.Serve(ln) }() // until stop
	return s, nil
}

func (s *failingServer) watch(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(s.conns, conn)
	} else {
		s.conns[conn] = true
	}
}

// stop makes the server unreachable.
func (s *failingServer) stop() { _ = s.http.Close() }

// restart breaks all connections, and forgets all sessions.
func (s *failingServer) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += 100
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// forget forgets all sessions.
func (s *failingServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += 100
}

func (s *failingServer) arrivals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// arrive counts a message if it is a call of a tool, and returns how many there were.
func (s *failingServer) arrive(m *clientMessage) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Method == "tools/call" {
		s.arrived++
	}
	return s.arrived
}

// session returns the session that a message belongs to: that which it starts, or the one that it names, if the server knows it.
func (s *failingServer) session(m *clientMessage, named string) (id string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Method == "initialize" {
		s.sessions++
		return "session-" + strconv.Itoa(s.sessions), true
	}
	number, err := strconv.Atoi(named[min(len("session-"), len(named)):])
	return named, err == nil && number <= s.sessions && number > s.sessions-100
}

func (s *failingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := new(clientMessage)
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	id, known := s.session(m, r.Header.Get("Mcp-Session-Id"))
	switch {
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case !known && id == "":
		answer(w, http.StatusBadRequest, failure(m, -32000, "Bad Request: No valid session ID provided", `null`))
	case !known:
		answer(w, http.StatusNotFound, failure(m, -32001, "Session not found", `null`))
	default:
		w.Header().Set("Mcp-Session-Id", id)
		if n := s.arrive(m); m.Method != "tools/call" || s.class.fault == nil || !s.class.fault(w, r, m, n) {
			answer(w, http.StatusOK, reply(m))
		}
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the client may have gone
}
