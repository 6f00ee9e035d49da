package testkit

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
)

// keep is how many of the last requests a server remembers.
const keep = 1024

// A Received is one HTTP request as it reached the server.
type Received struct {
	Method string      // of HTTP
	Path   string      // with the query
	Header http.Header // a copy
	Body   []byte      // as it came
	Era    Era

	RPC  string          // the message's method; empty for a response, or without a message
	ID   json.RawMessage // the message's id, as spelled by the client; nil without one
	Tool string          // params.name of tools/call
}

// tallies count what happened to a server.
type tallies struct {
	requests   []Received
	attempts   map[string]int
	executions map[string]int
	cancelled  map[string]int
	messages   map[string]int
	inFlight   int
	restarts   int
}

func newLedger() tallies {
	return tallies{
		attempts:   make(map[string]int),
		executions: make(map[string]int),
		cancelled:  make(map[string]int),
		messages:   make(map[string]int),
	}
}

func (l *tallies) record(r Received) {
	if len(l.requests) == keep {
		l.requests = slices.Delete(l.requests, 0, 1)
	}
	l.requests = append(l.requests, r)
	if r.RPC != "" {
		l.messages[r.RPC]++
	}
	if r.Tool != "" {
		l.attempts[r.Tool]++
	}
}

// Attempts returns how many tools/call requests for the tool reached the server, including refused ones.
func (s *Server) Attempts(tool string) int {
	return s.number(func() int { return s.ledger.attempts[tool] })
}

// Executions returns how many times the tool started to run.
func (s *Server) Executions(tool string) int {
	return s.number(func() int { return s.ledger.executions[tool] })
}

// Cancellations returns how many calls of the tool ended unanswered because the client closed the response or
// sent notifications/cancelled. Calls whose connection the server itself closed do not count.
func (s *Server) Cancellations(tool string) int {
	return s.number(func() int { return s.ledger.cancelled[tool] })
}

// Messages returns how many requests and notifications with this JSON-RPC method reached the server.
func (s *Server) Messages(method string) int {
	return s.number(func() int { return s.ledger.messages[method] })
}

// InFlight returns how many HTTP requests the server is handling, including open streams.
func (s *Server) InFlight() int {
	return s.number(func() int { return s.ledger.inFlight })
}

// Restarts returns how many times the server has come back after [Server.Restart] or [Server.RestartSoon].
func (s *Server) Restarts() int {
	return s.number(func() int { return s.ledger.restarts })
}

// Sessions returns how many sessions of the legacy era are alive.
func (s *Server) Sessions() int {
	return s.number(func() int { return len(s.sessions) })
}

// Streams returns how many streams for the server's own messages are open: GET in the legacy era,
// subscriptions/listen in the modern.
func (s *Server) Streams() int {
	return s.number(func() int {
		open := len(s.streams)
		for sess := range maps.Values(s.sessions) {
			open += sess.readers
		}
		return open
	})
}

// Orders returns how many times order_create has created an order with this reference: two means a duplicate
// write.
func (s *Server) Orders(reference string) int {
	return s.number(func() int { return s.orders[reference] })
}

// Requests returns the last requests (at most 1024), oldest first.
func (s *Server) Requests() []Received {
	var requests []Received
	s.read(func() { requests = slices.Clone(s.ledger.requests) })
	return requests
}

// RequestsFor returns those of the last requests that have this JSON-RPC method, oldest first.
func (s *Server) RequestsFor(method string) []Received {
	return slices.DeleteFunc(s.Requests(), func(r Received) bool { return r.RPC != method })
}

// Calls returns those of the last requests that call this tool, oldest first.
func (s *Server) Calls(tool string) []Received {
	return slices.DeleteFunc(s.Requests(), func(r Received) bool { return r.Tool != tool })
}

func (s *Server) number(look func() int) int {
	var n int
	s.read(func() { n = look() })
	return n
}
