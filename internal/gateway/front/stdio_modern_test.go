package front_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A subscription of the modern era that the server ends is over, even if its events have ids: there is nothing to resume.
func TestStdioResumesNothingOfTheModernEra(t *testing.T) {
	t.Parallel()
	srv := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body) // what is no message is told apart below
		switch _ = json.Unmarshal(body, &msg); {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case msg.Method == "subscriptions/listen":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":"+
				"{\"io.modelcontextprotocol/subscriptionId\":%s},\"notifications\":{\"toolsListChanged\":true}}}\n\n", msg.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"tools":[]}}`, msg.ID)
		}
	})
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+testkit.Serve(t, srv)+"/mcp'}}\n")
	h := gatewaytest.StartHost(t, g)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	h.Send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
	if m := h.Next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("got %+v", m)
	}
	if m := h.Next(); m.Error == nil || string(m.ID) != `"s"` {
		t.Errorf("the end: got %+v", m)
	}
	h.Send(`{"jsonrpc":"2.0","id":"t","method":"tools/list","params":{` + meta + `}}`)
	if m := h.Next(); m.Outcome() != `"t" result` {
		t.Errorf("the next request: got %s", m.Outcome())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
