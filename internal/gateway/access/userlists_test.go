package access_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A list that a server gives to one user is not shown to another.
func TestListsOfUsers(t *testing.T) {
	t.Parallel()
	for _, contractName := range []string{"recourse", "terra"} {
		testkit.Virtual(t, contractName, func(t *testing.T) {
			var hangs atomic.Bool
			srv := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if hangs.Load() {
					<-r.Context().Done()
					return
				}
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				body, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(body, &m)
				user := r.Header.Get("Provider-User-Id")
				if user == "" {
					user = strings.Split(r.URL.Path, "/")[1]
				}
				result := `{"resultType":"complete","ttlMs":600000,"cacheScope":"public","tools":[{"name":"of_` + user + `","inputSchema":{"type":"object"}}]}`
				if m.Method == "server/discover" {
					result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
				}
				testkit.WriteJSON(w, http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			}))
			place := map[string]string{"recourse": "{user_id}", "terra": "mcp"}[contractName]
			g, _ := gatewaytest.New(t, fmt.Sprintf("servers:\n  farm: {url: '%s/%s', contract: %s, path: none}\n"+
				"endpoints:\n  all: {path: '/all/{user_id}', servers: [farm], lists: none, deadline: 100ms}\n", srv, place, contractName))
			root := gatewaytest.Open(t, g, true) + "/all/"
			for range 2 {
				for _, user := range []string{"u-1", "u-2"} {
					c := testkit.NewClient(t, root+user, testkit.Modern)
					c.Header = keys()
					a, err := c.ListTools(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if text := string(a.Body); !strings.Contains(text, `"of_`+user+`"`) {
						t.Errorf("%s, %s: got %s", contractName, user, text)
					}
				}
			}
			hangs.Store(true) // what is then shown is the last list
			c := testkit.NewClient(t, root+"u-3", testkit.Modern)
			c.Header = keys()
			if a, err := c.ListTools(t.Context()); err != nil || strings.Contains(string(a.Body), `"of_u-`) {
				t.Errorf("%s: got %s, %v", contractName, a.Body, err)
			}
		})
	}
}
