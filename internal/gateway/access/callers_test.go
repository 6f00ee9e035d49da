package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A value from a caller's own arguments is shown to that caller, but masked for the next one.
func TestArgumentsOfOneCallerDoNotUnmaskForAnother(t *testing.T) {
	t.Parallel()

	const address = "10.20.30.40:5432"
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s")
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"cannot reach %s"}}`, address)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"initialize"`) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":false}}`)
	}))
	f := gatewaytest.Start(t, server, "redact: all")
	c := testkit.DialClient(f.URL, testkit.Legacy)
	defer c.Close()
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	a, err := c.Post(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), h)
	if err != nil {
		t.Fatal(err)
	}
	h.Set("Mcp-Session-Id", a.Header.Get("Mcp-Session-Id"))
	for range 20 {
		if _, err := c.Post(context.Background(), []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"dial","arguments":{"to":"`+address+`"}}}`), h); err != nil {
			t.Fatal(err)
		}
		a, err := c.Send(context.Background(), http.MethodGet, nil, http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": h["Mcp-Session-Id"]})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(a.Body), "10.20.30.40") {
			t.Fatalf("the address of another caller's arguments is shown: %s", a.Body)
		}
	}
}

// If each session has its own tools, calls are checked against the list of their own session.
func TestEachSessionHasItsOwnToolList(t *testing.T) {
	t.Parallel()

	for name, begin := range map[string]func() *gatewaytest.Front{
		"a program for each client": func() *gatewaytest.Front {
			return gatewaytest.Start(t, "", append(gatewaytest.Command(t, child.NewProgram(t), "own-tools"), "share: client")...)
		},
		"a server that lists by session": func() *gatewaytest.Front { return gatewaytest.Start(t, testkit.Serve(t, &listsBySession{})) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := begin()
			clients := []*testkit.Client{f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)}
			tools := make([]string, len(clients))
			for i, c := range clients {
				a, err := c.ListTools(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, rest, _ := strings.Cut(string(a.Body), `"own-`)
				name, _, ok := strings.Cut(rest, `"`)
				if tools[i] = "own-" + name; !ok {
					t.Fatalf("got %.300s, want a tool of its own", a.Body)
				}
			}
			for range 2 {
				for i, c := range clients {
					if a, err := c.Call(t.Context(), tools[i], `{"mine":1}`); err != nil || !a.Succeeded() {
						t.Errorf("client %d calls its own tool: got %v, %.300s", i, err, a.Body)
					}
					other := tools[(i+1)%len(tools)]
					a, err := c.Call(t.Context(), other+"x", `{}`)
					if err != nil || a.Succeeded() || strings.Contains(string(a.Body), other+"?") {
						t.Errorf("client %d calls another's tool: got %v, %.300s", i, err, a.Body)
					}
				}
			}
		})
	}
}

// listsBySession is a server of the legacy era with a different tool in each session.
type listsBySession struct{ sessions atomic.Int64 }

func (l *listsBySession) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	own := "own-" + r.Header.Get("Mcp-Session-Id")
	result := `{"content":[]}`
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", strconv.FormatInt(1000*l.sessions.Add(1), 10))
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	case m.Method == "tools/list":
		result = fmt.Sprintf(`{"tools":[{"name":%q,"inputSchema":{"type":"object","required":["mine"]}}]}`, own)
	case m.Params.Name != own:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Unknown tool"}}`, m.ID)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}
