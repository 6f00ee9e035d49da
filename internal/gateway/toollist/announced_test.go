package toollist_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Clients that listen are told when somebody accepts what a server has changed, at all replicas, and only then.
func TestAcceptedPinsAreAnnounced(t *testing.T) {
	t.Parallel()
	for _, e := range testkit.EraPairs {
		for way, config := range pinWays {
			t.Run(way+"/"+e.String(), func(t *testing.T) {
				t.Parallel()
				s := gatewaytest.OpenStore(t, "sqlite:"+filepath.Join(t.TempDir(), "pins.db"))
				srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(e.Server), testkit.WithTools(described("pay", "Pays.")))
				var clients []*testkit.Client
				for range 2 {
					front := pinFront(t, s.Pins(), "/farm/mcp", fmt.Sprintf(config, srv.URL()))
					clients = append(clients, front.Client(t, e.Client))
				}
				for _, description := range []string{"Pays.", "Pays. Really."} {
					srv.SetTools(described("pay", description))
					for _, c := range clients {
						if got := descriptions(t, c)["pay"]; got != "Pays." {
							t.Fatalf("got %q", got)
						}
					}
				}
				var streams []*testkit.Stream
				for _, c := range clients {
					stream := c.MustListen(t.Context(), t)
					t.Cleanup(stream.Close)
					if e.Client == testkit.Modern {
						stream.MustNext(t) // what it will hear
					}
					streams = append(streams, stream)
				}
				accept(t, s.Pins(), "", "pay")
				for i, stream := range streams {
					if m := stream.MustNext(t); m.Method != protocol.NotifyToolsChanged {
						t.Errorf("got %s %s", m.Method, m.Params)
					}
					if got := descriptions(t, clients[i])["pay"]; got != "Pays. Really." {
						t.Errorf("got %q", got)
					}
				}
			})
		}
	}
}

// A server whose own list never changes is one whose list may, if it is pinned.
func TestPinsAreDeclared(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"x":1}},`+
			`"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
	}))
	defer upstream.Close()
	for yaml, want := range map[string]string{"pin: true\n": `"tools":{"x":1,"listChanged":true}`, "": `"tools":{"x":1}`} {
		s := gatewaytest.OpenStore(t, "sqlite:"+filepath.Join(t.TempDir(), "pins.db"))
		front := pinFront(t, s.Pins(), "/farm/mcp", yaml+"servers: {farm: {url: "+upstream.URL+"/mcp}}\n")
		c := testkit.NewClient(t, front.URL, testkit.Legacy)
		if a, err := c.Initialize(t.Context()); err != nil || !strings.Contains(string(a.Body), want) {
			t.Errorf("got %+v, %v, want %s", a, err, want)
		}
	}
}
