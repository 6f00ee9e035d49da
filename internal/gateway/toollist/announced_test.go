package toollist_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
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

// So are those of a server that announces nothing, in whichever way it says so.
func TestAcceptedPinsOfASilentServerAreAnnounced(t *testing.T) {
	t.Parallel()
	for _, e := range testkit.EraPairs {
		for _, way := range []string{"agrees to nothing", "does not know the method"} {
			t.Run(way+"/"+e.String(), func(t *testing.T) {
				t.Parallel()
				s := gatewaytest.OpenStore(t, "sqlite:"+filepath.Join(t.TempDir(), "pins.db"))
				srv := testkit.NewServer(t, testkit.WithEra(e.Server), testkit.WithTools(described("pay", "Pays.")))
				front := pinFront(t, s.Pins(), "/farm/mcp", "pin: true\nservers: {farm: {url: "+silent(t, srv, way)+"}}\n")
				c := front.Client(t, e.Client)
				for _, description := range []string{"Pays.", "Pays. Really."} {
					srv.SetTools(described("pay", description))
					if got := descriptions(t, c)["pay"]; got != "Pays." {
						t.Fatalf("got %q", got)
					}
				}
				stream := c.MustListen(t.Context(), t)
				defer stream.Close()
				if e.Client == testkit.Modern {
					if m := stream.MustNext(t); m.Method != protocol.NotifyListening || !strings.Contains(string(m.Params), `"toolsListChanged":true`) {
						t.Errorf("got %s %s", m.Method, m.Params)
					}
				}
				accept(t, s.Pins(), "", "pay")
				if m := stream.MustNext(t); m.Method != protocol.NotifyToolsChanged {
					t.Errorf("got %s %s", m.Method, m.Params)
				}
				if got := descriptions(t, c)["pay"]; got != "Pays. Really." {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

// silent returns the URL of a server that has no stream, and whose list of tools never changes.
func silent(t *testing.T, srv *testkit.Server, way string) string {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(srv.URL(), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		body = bytes.ReplaceAll(body, []byte(`"listChanged":true`), []byte(`"x":1`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		switch {
		case r.Method == http.MethodGet:
			http.Error(w, "no stream", http.StatusMethodNotAllowed)
		case r.Header.Get("Mcp-Method") != protocol.MethodListen:
			proxy.ServeHTTP(w, r)
		case json.NewDecoder(r.Body).Decode(&m) != nil:
			http.Error(w, "no message", http.StatusBadRequest)
		case way == "agrees to nothing":
			w.Header().Set("Content-Type", protocol.TypeSSE)
			fmt.Fprint(w, protocol.Event("", protocol.Subscribed(protocol.NotifyListening, m.ID, `,"notifications":{}`)),
				protocol.Event("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, m.ID)))
		default:
			w.Header().Set("Content-Type", protocol.TypeJSON)
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL + "/mcp"
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
