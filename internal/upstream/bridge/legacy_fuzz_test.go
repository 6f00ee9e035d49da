package bridge_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
)

// Any bytes of a modern client reach the server as a legacy message, or are answered without it.
func FuzzRequestToLegacyServer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1,"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{},"requestState":"x","inputResponses":{"question":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{},"notifications":{"toolsListChanged":true,"resourceSubscriptions":[""]}}}`,
		`{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":1}}`, `{"jsonrpc":"2.0","method":"x"}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		synctest.Test(t, func(t *testing.T) {
			o := newLegacyEra(t, func(c *serverCall) {
				if bytes.Contains(c.m.Meta, []byte("clientCapabilities\"")) && bytes.Contains(c.m.Meta, []byte(`"io.modelcontextprotocol/`)) {
					t.Errorf("the server got the modern message %s", c.m.Raw)
				}
				c.answer(`{}`)
			})
			b := newBridge(t, o, bridge.Options{})
			header := http.Header{"Content-Type": {wire.TypeJSON}, wire.HeaderVersion: {wire.Version20260728}, wire.HeaderMethod: {"x"}}
			resp, err := b.Send(t.Context(), http.MethodPost, header, body)
			if err != nil {
				return
			}
			if bytes.Contains(body, []byte("listen")) { // a subscription has no end
				_ = resp.Close()
				return
			}
			_, _ = io.Copy(io.Discard, resp)
			_ = resp.Close()
		})
	})
}

// Whatever a legacy server writes on the stream of a call, the client's request ends, and only an answer to it
// is passed on as its answer.
func FuzzAnswerOfLegacyServer(f *testing.F) {
	for _, seed := range []string{
		"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"result\":{}}\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3}}\n\ndata: {\n\ndata: }\n\n",
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}\n\n",
		"id: 1\nretry: 1\ndata:\n\n", "data: {\"id\"", "data: \xff\n\n", "", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		synctest.Test(t, func(t *testing.T) {
			var sent wire.ID
			o := newLegacyEra(t, func(c *serverCall) {
				sent = c.m.ID
				_, _ = c.out.Write(text)
			})
			o.silent = true
			b := newBridge(t, o, bridge.Options{})
			header, body := modernRequest("tools/call", "t", "", "")
			resp, err := b.Send(t.Context(), http.MethodPost, header, body)
			if err != nil {
				return
			}
			defer resp.Close()
			got, _ := io.ReadAll(resp)
			if answers(got, wire.ID(`"mine"`)) && !answers(text, sent) && !bytes.Contains(got, []byte("input_required")) {
				t.Errorf("%q became %q", text, got)
			}
		})
	})
}

// answers reports whether an event stream holds an answer to a request with that id.
func answers(text []byte, id wire.ID) bool {
	events := wire.NewEventReader(bytes.NewReader(text), len(text)+1)
	for {
		event, err := events.Next()
		if err != nil {
			return false
		}
		var scan wire.Scanner
		if _, err := scan.Write(event.Data); err == nil && scan.Close() == nil &&
			scan.Signs().Message() == wire.Response && scan.Signs().ID.Equal(id) {
			return true
		}
	}
}
