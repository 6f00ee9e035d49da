package account_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A notification of the gateway on a client's stream does not split an event of the server that is still arriving.
func TestNoticeBetweenEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 600<<10) + `"}}`
		connected := make(chan struct{})
		server := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodGet:
				w.Header().Set("Content-Type", wire.TypeEventStream)
				_, _ = io.WriteString(w, "data: "+large[:500<<10])
				_ = http.NewResponseController(w).Flush()
				select {
				case <-connected:
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, large[500<<10:]+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			case http.MethodPost:
				w.Header().Set("Mcp-Session-Id", "s")
				w.Header().Set("Content-Type", wire.TypeJSON)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
			}
		}))
		f := startBefore(t, "url: '"+server+"'", "api_key", "", "redact: off")
		client := f.linkClient(t, testkit.Legacy)
		stream, err := client.Listen(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		enterKey(t, f.shownIn(t, a).URL)
		synctest.Wait() // until the gateway has done what it does when an account is connected
		close(connected)
		if event, err := stream.Next(); err != nil || event.Data != large {
			t.Fatalf("got %d bytes of %d, %v", len(event.Data), len(large), err)
		}
		if event, err := stream.Next(); err != nil || !strings.Contains(event.Data, "elicitation/complete") {
			t.Errorf("got %.200s, %v", event.Data, err)
		}
	})
}
