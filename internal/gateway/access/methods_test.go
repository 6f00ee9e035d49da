package access_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// What each method of the protocol needs, whether its server is alone or one of several: a caller with a grant for one
// thing gets nothing else, and what is refused reaches no server.
func TestGrantsOfEveryMethod(t *testing.T) {
	t.Parallel()
	const tools, prompts, resources, all, some = "tools", "prompts", "resources", "all", "some"
	callers := map[string]string{
		tools: "{callers: [tools], tools: ['*']}", prompts: "{callers: [prompts], prompts: true}",
		resources: "{callers: [resources], resources: true}", all: "{callers: [all], tools: ['*'], prompts: true, resources: true}",
		some: "{callers: [some], tools: ['*'], when: 'read_only'}",
	}
	everybody := []string{tools, prompts, resources, all, some}
	requests := []struct {
		method, params string
		may            []string
	}{
		{"ping", `{}`, everybody},
		{"tools/list", `{}`, everybody},
		{"tools/call", `{"name":"order_create","arguments":{"reference":"A-17","amount":1}}`, []string{tools, all}},
		{"prompts/list", `{}`, []string{prompts, all}},
		{"prompts/get", `{"name":"p"}`, []string{prompts, all}},
		{"resources/list", `{}`, []string{resources, all}},
		{"resources/templates/list", `{}`, []string{resources, all}},
		{"resources/read", `{"uri":"file:///a"}`, []string{resources, all}},
		{"resources/subscribe", `{"uri":"file:///a"}`, []string{resources, all}},
		{"resources/unsubscribe", `{"uri":"file:///a"}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, everybody},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":[]}}`, everybody},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":["file:///a"]}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":"file:///a"}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":{"uri":"file:///a"}}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"toolsListChanged":false,"promptsListChanged":true,"resourcesListChanged":true}}`, everybody},
		{"subscriptions/listen", `{}`, everybody},
		{"subscriptions/listen", `{"notifications":{"toolsListChanged":"file:///a"}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{"anything":true}}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":["file:///a"]}`, []string{resources, all}},
		{"subscriptions/listen", `{"notifications":{},"resources":["file:///a"]}`, []string{resources, all}},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}`, []string{prompts, all}},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"file:///{a}"},"argument":{"name":"a","value":"v"}}`, []string{resources, all}},
		{"completion/complete", `{"ref":{"type":"ref/prompt","uri":"file:///{a}"},"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"completion/complete", `{"ref":{"type":"ref/resource","name":"p"},"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"completion/complete", `{"ref":{"uri":"file:///{a}"},"argument":{"name":"a","value":"v"}}`, []string{resources, all}},
		{"completion/complete", `{"ref":{"type":"x"},"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"completion/complete", `{"ref":{"type":"ref/tool","name":"p"},"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"completion/complete", `{"ref":{"type":"ref/prompt ","name":"p"},"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"completion/complete", `{"argument":{"name":"a","value":"v"}}`, []string{all}},
		{"tasks/get", `{"taskId":"t"}`, []string{tools, all}},
		{"tasks/list", `{}`, []string{tools, all}},
		{"tasks/result", `{"taskId":"t"}`, []string{tools, all}},
		{"tasks/update", `{"taskId":"t"}`, []string{tools, all}},
		{"tasks/cancel", `{"taskId":"t"}`, []string{tools, all}},
		{"tasks/anything", `{}`, []string{tools, all}},
	}
	var keys, grants []string
	for name, grant := range callers {
		keys = append(keys, "{name: "+name+", hash: "+auth.HashOf(name+" key").String()+"}")
		grants = append(grants, grant)
	}
	rule := "access: [team], grants: [" + strings.Join(grants, ", ") + "]"
	for _, era := range testkit.Eras {
		for _, path := range []string{"/farm/mcp", "/mcp"} {
			t.Run(era.String()+" "+path, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.InMemory())
				d := &door{gatewaytest.StartAt(t, path, "access: {team: {keys: ["+strings.Join(keys, ", ")+"]}}\n"+
					fmt.Sprintf("servers:\n  farm: {url: %q, %s}\n", srv.URL(), rule)+
					"endpoints:\n  all: {path: /mcp, servers: [farm], "+rule+"}\n"), srv}
				for name := range callers {
					client := d.member(t, era, name)
					for _, r := range requests {
						before := srv.Messages(r.method)
						body, header := client.Message("7", r.method, r.params)
						if uri := `"uri":"file:///a"`; strings.Contains(r.params, uri) && era == testkit.Modern {
							header.Set("Mcp-Name", "file:///a")
						}
						status, said := firstWords(t, client, body, header)
						refused := strings.Contains(said, "permission_denied")
						if refused == slices.Contains(r.may, name) {
							t.Errorf("%s: %s %s: got HTTP %d %s", name, r.method, r.params, status, said)
						}
						if reached := srv.Messages(r.method) > before; reached && refused && r.method != "tools/list" {
							t.Errorf("%s: %s %s reached the server", name, r.method, r.params)
						}
					}
					checkNotifications(t, d, client, name, name == resources || name == all, path == "/farm/mcp")
				}
			})
		}
	}
}

// checkNotifications sends notifications of a caller: those that the gateway does not know need what unknown methods need.
func checkNotifications(t *testing.T, d *door, client *testkit.Client, name string, may, passes bool) {
	t.Helper()
	for method, free := range map[string]bool{
		"notifications/anything": false, "notifications/tools/call": false, "notifications/roots/list_changed": true,
	} {
		before := d.server.Messages(method)
		_, header := client.Message("7", "ping", `{}`)
		if client.Era == testkit.Modern {
			header.Set("Mcp-Method", method)
		}
		status, said := firstWords(t, client, []byte(`{"jsonrpc":"2.0","method":"`+method+`","params":{}}`), header)
		reached := d.server.Messages(method) > before
		if !may && !free && (reached || !strings.Contains(said, "permission_denied")) || (may || free) && status != http.StatusAccepted {
			t.Errorf("%s: %s: got HTTP %d %s, reached the server: %v", name, method, status, said, reached)
		}
		if passes && client.Era == testkit.Legacy && reached != (may || free) {
			t.Errorf("%s: %s reached the server: %v", name, method, reached)
		}
	}
}

// firstWords posts a message, and returns the status and the beginning of the answer, which may be a stream without an end.
func firstWords(t *testing.T, client *testkit.Client, body []byte, header http.Header) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, client.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", client.Header.Get("Authorization"))
	r.Header.Set("Mcp-Protocol-Version", map[testkit.Era]string{testkit.Legacy: "2025-11-25", testkit.Modern: "2026-07-28"}[client.Era])
	if client.Session != "" {
		r.Header.Set("Mcp-Session-Id", client.Session)
	}
	transport := &http.Transport{DialContext: testkit.Dial, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 4096)
	n, _ := resp.Body.Read(first)
	return resp.StatusCode, string(first[:n])
}

// A caller is an entry of access control and a name: somebody of the same name whom another entry lets in is somebody else.
func TestGrantsOfCallersOfSeveralEntries(t *testing.T) {
	t.Parallel()
	entry := func(name string, keys ...string) string {
		var list []string
		for _, key := range keys {
			list = append(list, "{name: "+key+", hash: "+auth.HashOf(name+" "+key).String()+"}")
		}
		return "  " + name + ": {keys: [" + strings.Join(list, ", ") + "]}\n"
	}
	access := "access:\n" + entry("team", "alice", "bob") + entry("staff", "alice", "carol")
	for callers, want := range map[string][]string{
		"[team/alice]":              {"team alice"},
		"[staff/alice]":             {"staff alice"},
		"[bob]":                     {"team bob"},
		"[carol, team/alice]":       {"staff carol", "team alice"},
		"[team/carol]":              nil,
		"[staff/alice, team/alice]": {"team alice", "staff alice"},
	} {
		t.Run(callers, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, access, "access: [team, staff]", "grants: [{callers: "+callers+", tools: [echo]}]")
			for _, key := range []string{"team alice", "team bob", "staff alice", "staff carol"} {
				a := echoed(t, d.As(t, testkit.Modern, "Authorization", "Bearer "+key))
				if wasCalled(a) != slices.Contains(want, key) {
					t.Errorf("%s: got HTTP %d %s", key, a.Status, a.Body)
				}
			}
		})
	}
	t.Run("through an endpoint", func(t *testing.T) {
		t.Parallel()
		srv := testkit.NewServer(t, testkit.InMemory())
		d := &door{Front: gatewaytest.StartAt(t, "/mcp", access+fmt.Sprintf("servers:\n  farm: {url: %q, access: [team], grants: [{callers: [alice], tools: [echo]}]}\n", srv.URL())+
			"endpoints:\n  all: {path: /mcp, servers: [farm], access: [team, staff]}\n")}
		for _, key := range []string{"team alice", "team bob", "staff alice"} {
			if a := echoed(t, d.As(t, testkit.Modern, "Authorization", "Bearer "+key)); wasCalled(a) != (key == "team alice") {
				t.Errorf("%s: got HTTP %d %s", key, a.Status, a.Body)
			}
		}
	})
	t.Run("a condition", func(t *testing.T) {
		t.Parallel()
		d := openDoor(t, access, "access: [team, staff]", "grants: [{tools: [echo], when: \"caller.entry == 'staff' && caller.name == 'alice'\"}]")
		for _, key := range []string{"team alice", "staff alice"} {
			if a := echoed(t, d.As(t, testkit.Modern, "Authorization", "Bearer "+key)); wasCalled(a) != (key == "staff alice") {
				t.Errorf("%s: got HTTP %d %s", key, a.Status, a.Body)
			}
		}
	})
}

// What an endpoint offers of a server's resources cannot be left by another spelling of a URI.
func TestOfferedResourcesInEverySpelling(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	reached := map[string]int{} // by method
	url := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		reached[m.Method]++
		mu.Unlock()
		result := map[string]string{
			"server/discover": `"supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true},"completions":{}}`,
			"resources/list":  `"resources":[]`, "resources/templates/list": `"resourceTemplates":[]`, "resources/read": `"contents":[]`,
			"completion/complete": `"completion":{"values":[]}`,
		}[m.Method]
		testkit.WriteJSON(w, http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, result))
	}))
	client := gatewaytest.StartAt(t, "/mcp", fmt.Sprintf("servers:\n  farm: {url: %q}\n", url)+
		"endpoints:\n  all: {path: /mcp, servers: [{name: farm, allow: ['file:///public/*', 'https://*'], deny: ['file:///public/secret/*', 'HTTPS://*.Private.example/*', 'https://Inner*']}]}\n").Client(t, testkit.Modern)
	for uri, allowed := range map[string]bool{
		"file:///public/a": true, "file:///public/a%20b": true, "file:///public/b/../a": true, "FILE:///public/a": true,
		"file:///etc/passwd": false, "file:///public/../etc/passwd": false, "file:///public/%2e%2e/etc/passwd": false,
		"file:///public/..%2fetc/passwd": false, `file:///public/..\etc\passwd`: false, "file:///public/%252e%252e/etc/passwd": false,
		"file:///public/secret/a": false, "file:///public/x/../secret/a": false, "file:///public/%73ecret/a": false,
		"file:///public/./secret/a": false, "file:///public/%2e/secret/a": false, "file:///public%2f..%2f..%2fetc": false,
		"file:///%25252525252e%2e/public/a": false, "file:///public//../etc/passwd": false, "file:///public/..;/etc/passwd": false,
		"file:///public/%5c..%5cetc": false, "file:///public/b//../a": true, "file:///public//secret/a": false,
		"file:///public//a": true, "file:///public/%C3%A9": true, "file:///public/ a": true,
		"file:///public/%c0%ae%c0%ae/etc": false, "file:///public/a%c0%afb": false, "file:///public/a%00": false,
		"file:///public/a%2500.txt": false, "file:///public/ ../etc": false, "file:///public/..%20/etc": false,
		"file:///public/x/%20..;a/secret/b": false, "file:///public/a%0d%0ab": false, "file:///public/%EF%BC%8E%EF%BC%8E/etc": false,
		"file:///public/.%E2%80%8D./etc": false, "file:///public/x/..%E2%88%95secret/b": false, "file:///public/%EF%BC%91%EF%BC%8F2": true,
		"https://www.example/a": true, "https://a.Private.example/a": false, "https://a.private.example/a": false, "HTTPS://A.PRIVATE.EXAMPLE/a": false,
		"https://a.private.example//x/../a": false, "https://inner.example/a": false, "https://www.example/Inner": true,
	} {
		for method, params := range map[string]string{
			"resources/read":      fmt.Sprintf(`{"uri":%q}`, uri),
			"completion/complete": fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"a","value":"v"}}`, uri),
		} {
			mu.Lock()
			reached[method] = 0
			mu.Unlock()
			body, header := client.Message("7", method, params)
			if method == "resources/read" {
				header.Set("Mcp-Name", uri)
			}
			a, err := client.Post(t.Context(), body, header)
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if n := reached[method]; n > 0 != allowed {
				t.Errorf("%s of %s reached the server %d times: %s", method, uri, n, a.Body)
			}
			mu.Unlock()
		}
	}
}

// A header that mirrors an argument reaches a server only if the tool declares it, and then it has been compared.
func TestParamHeadersThatNobodyDeclares(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"direct", "many"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
			url := f.URL
			if way == "direct" {
				url = strings.TrimSuffix(f.URL, "/mcp") + "/farm/mcp"
			}
			client := testkit.NewClient(t, url, testkit.Modern)
			client.Header = http.Header{"Mcp-Param-Region": {"admin"}, "Mcp-Param-Message": {"other"}}
			client.MustCall(t, testkit.Echo, `{"message":"hi"}`).Result(t)
			for _, method := range []string{"tools/list", "ping", "foo/bar"} {
				if _, err := client.Request(t.Context(), method, `{}`); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range f.Farm.Requests() {
				for name := range r.Header {
					if strings.HasPrefix(name, "Mcp-Param-") {
						t.Errorf("%s got %s", r.RPC, name)
					}
				}
			}
		})
	}
}
