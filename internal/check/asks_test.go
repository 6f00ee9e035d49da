//go:build unix

package check_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// askingServer is the fixture until a client has sent too many requests of one method. From then on it answers these with asks.
type askingServer struct {
	wildServer

	stdio  bool
	method string
	after  int64
	asks   server.Reply // with ID for the request's id
	sent   *atomic.Int64
}

func (s askingServer) Open(context.Context) (server.Conn, error) { return s, nil }
func (s askingServer) Stdio() bool                               { return s.stdio }

func (s askingServer) Send(_ context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	if said.Method == s.method && s.sent.Add(1) > s.after {
		asks := s.asks
		if asks.Text != nil {
			asks.Text = []byte(strings.Replace(string(asks.Text), "ID", m.ID, 1))
		}
		return asks
	}
	answer := server.Reply{Status: 200}
	if m.Head.Get("Mcp-Protocol-Version") == "2099-01-01" {
		answer.Status = 400
	}
	if answers := new(fixture).answer(string(m.Text)); len(answers) > 0 && m.ID != "" {
		answer.Text = []byte(answers[0])
	}
	return answer
}

// refusal is an answer over HTTP that is none of JSON-RPC.
func refusal(status int, wait string) server.Reply {
	return server.Reply{Status: status, Head: http.Header{"Retry-After": {wait}}, Body: []byte("Not now."), Err: server.ErrEnded}
}

// A server that asks to wait or to sign in is not called any more, wherever the check is, and nothing is held against it.
func TestServerAsks(t *testing.T) {
	t.Parallel()

	inWords := server.Reply{Status: 200, Text: []byte(`{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[` +
		`{"type":"text","text":"Rate limit exceeded. Retry after 5 seconds."}]}}`)}
	for name, c := range map[string]struct {
		asks    server.Reply
		stdio   bool
		stopped string
	}{
		"in words":       {inWords, true, "the server asked to wait 5s"},
		"429":            {refusal(429, "5"), false, "the server asked to wait 5s"},
		"429 without":    {refusal(429, ""), false, "the server asked for fewer requests (HTTP 429)"},
		"503 with":       {refusal(503, "5"), false, "the server asked to wait 5s"},
		"401":            {refusal(401, ""), false, "the server asks to sign in (HTTP 401)"},
		"in words, HTTP": {inWords, false, "the server asked to wait 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for method, afters := range map[string][]int64{
				"tools/call": {2, 8, 14, 20}, "tools/list": {1, 4, 6, 10, 26, 36}, // in each step
			} {
				for _, after := range afters {
					s := askingServer{stdio: c.stdio, method: method, after: after, asks: c.asks, sent: new(atomic.Int64)}
					report := check.Check(t.Context(), s, check.Options{Mode: check.Safe})
					asked := s.sent.Load() - after
					if most := map[string]int64{"tools/call": 1, "tools/list": 20}[method]; asked > most || asked > 0 && report.Stopped != c.stopped {
						t.Errorf("%s, after %d: asked %d times, stopped: %q", method, after, asked, report.Stopped)
					}
					if letter := report.Letter(); asked > 0 && letter != "" && letter != report.Grade+" so far" {
						t.Errorf("stopped, and the grade is %s", letter)
					}
					said := brokenIn(report)
					if said = slices.DeleteFunc(said, func(rule string) bool { return rule == "limit-says-wait" }); len(said) > 0 {
						t.Errorf("%s, after %d: broken: %v: %v", method, after, said, sentences(report, said[0]))
					}
				}
			}
		})
	}
}

// A limit over HTTP says how long to wait in its header.
func TestLimitOverHTTP(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]bool{"5": true, "": false} {
		s := askingServer{method: "tools/call", after: 2, asks: refusal(429, wait), sent: new(atomic.Int64)}
		report := check.Check(t.Context(), s, check.Options{Mode: check.Safe})
		if kept := slices.Contains(report.Kept, "limit-says-wait"); kept != want || kept == slices.Contains(brokenIn(report), "limit-says-wait") {
			t.Errorf("%q: kept: %t, broken: %v", wait, kept, brokenIn(report))
		}
	}
}
