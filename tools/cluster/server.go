//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A server is an MCP server of the 2025 era that counts what it did. Of its writes, a few are slow, and the answers to a few are lost.
type server struct {
	sessions atomic.Int64

	mu      sync.Mutex
	written map[string]int             // by reference
	metered map[string]map[string]bool // the calls of a caller that it got
}

func newServer() *server {
	return &server{written: map[string]int{}, metered: map[string]map[string]bool{}}
}

const toolDefinitions = `{"tools":[
{"name":"order_create","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},
{"name":"note_add","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},
{"name":"order_get","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
{"name":"meter","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string `json:"name"`
			Arguments struct {
				Reference string `json:"reference"`
				Caller    string `json:"caller"`
			} `json:"arguments"`
		} `json:"params"`
	}
	body, _ := io.ReadAll(r.Body) // what cannot be read is no message
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", s.sessions.Add(1)))
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}`
	case "tools/list":
		result = toolDefinitions
	case "tools/call":
		a := m.Params.Arguments
		known := s.call(m.Params.Name, a.Reference, a.Caller)
		if m.Params.Name != "order_get" && m.Params.Name != "meter" && lucky(w) {
			return
		}
		if known {
			result = fmt.Sprintf(`{"content":[],"structuredContent":{"reference":%q}}`, a.Reference)
		} else {
			result = `{"content":[],"structuredContent":{}}`
		}
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// call does what a call asks for, and reports whether the reference is known then.
func (s *server) call(tool, reference, caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch tool {
	case "order_create", "note_add":
		s.written[reference]++
	case "meter":
		if s.metered[caller] == nil {
			s.metered[caller] = map[string]bool{}
		}
		s.metered[caller][reference] = true
		return true
	}
	return s.written[reference] > 0
}

// lucky reports whether the answer was lost, which happens to one in fifty. As many are late.
func lucky(w http.ResponseWriter) bool {
	switch rand.IntN(50) {
	case 0:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
			return true
		}
	case 1:
		<-time.After(200 * time.Millisecond)
	}
	return false
}

// times returns how often a reference was written.
func (s *server) times(reference string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written[reference]
}
