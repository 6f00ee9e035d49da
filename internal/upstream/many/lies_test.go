package many_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A tool name that two servers use is not listed, and a call of it says what the operator should do.
func TestManyServersCollide(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, `servers: [farm, {name: shop, deny: ["order_*", ask, progress]}]`, "")
		c := f.Client(t, era)
		for range 2 { // the second time with known lists
			a, err := c.Call(t.Context(), "echo", `{"message":"hello"}`)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(a.Body); !strings.Contains(text, "farm and shop both have a tool echo") {
				t.Errorf("the call: got %s", text)
			}
		}
		a := c.MustListTools(t)
		if diff := cmp.Diff([]string{"order_create", "order_get", "ask", "progress"}, a.ToolNames(t)); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"echo", "get_field"}, targets(t, a)["shop"].Collisions); diff != "" {
			t.Errorf("collisions (-want +got):\n%s", diff)
		}
		if n := strings.Count(f.Log.String(), "give one of them a prefix"); n != 2 {
			t.Errorf("got %d lines in the log, want one for each server:\n%s", n, f.Log)
		}
		c.MustCall(t, "order_create", `{"reference":"A","amount":1}`).Result(t)
		if n, m := f.Farm.Orders("A"), f.Shop.Orders("A"); n != 1 || m != 0 {
			t.Errorf("got %d orders at farm and %d at shop", n, m)
		}
		f.Shop.Stop() //nolint:errcheck // in memory
		if got := c.MustCall(t, "order_get", `{"reference":"A"}`).Result(t); got.IsError {
			t.Errorf("farm: got %s", got.Text())
		}
	})
}

// A tool that is not offered is neither listed nor called, under any name.
func TestManyServersOfferWhatIsAllowed(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, `servers: [{name: farm, allow: ["order_*", echo], deny: [order_get], rename: {echo: say}}, {name: shop, prefix: shop_, deny: ["*"]}]`, "")
		c := f.Client(t, era)
		if diff := cmp.Diff([]string{"order_create", "say"}, c.MustListTools(t).ToolNames(t)); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
		if got := c.MustCall(t, "say", `{"message":"hello"}`).Result(t).Text(); got != "hello" {
			t.Errorf("say: got %q", got)
		}
		for _, tool := range []string{"echo", "order_get", "get_field", "shop_echo", "order_create ", "SAY"} {
			a, err := c.Call(t.Context(), tool, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			refused := a.Message != nil && a.Message.Error != nil // a name that is not the header's
			if result, err := a.ToolResult(); !refused && (err != nil || !result.IsError) {
				t.Errorf("%q: got HTTP %d %s", tool, a.Status, a.Body)
			}
		}
		if n, m := f.Farm.Attempts("get_field")+f.Farm.Attempts("order_get"), f.Shop.Attempts("echo"); n+m != 0 {
			t.Errorf("got %d and %d calls at the servers", n, m)
		}
	})
}

// Advice uses the tool names that clients see, and a failure has the form of the server's contract.
func TestManyServersAdvise(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		verify := "timeout: 1s, tools: {order_create: {verify: {tool: order_get, from: {reference: /reference}, look_at: status}}}"
		f := gatewaytest.StartMany(t, `servers: [farm, {name: shop, prefix: shop_, rename: {order_get: find_order}}]`, verify)
		c := f.Client(t, testkit.Modern)
		f.Shop.Always("order_create", faults.Hang())
		result := c.MustCall(t, "shop_order_create", `{"reference":"A","amount":1}`).Result(t)
		if want := "find_order(reference='A')"; !strings.Contains(result.Text(), want) {
			t.Errorf("got %s, want %s in it", result.Text(), want)
		}
		var record recourse.Error
		if err := json.Unmarshal(result.Meta["io.github.recoursehq/error"], &record); err != nil {
			t.Fatal(err)
		}
		if record.Verify == nil || record.Verify.Tool != "find_order" || record.Effect != recourse.EffectUnknown {
			t.Errorf("got record %+v", record)
		}
		a, err := c.Call(t.Context(), "shop_order_craete", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(a.Body); !strings.Contains(text, "shop_order_craete") || !strings.Contains(text, "Did you mean shop_order_create") {
			t.Errorf("an unknown tool: got %s", text)
		}
		result = c.MustCall(t, "shop_order_create", `{"amount":1}`).Result(t)
		if text := result.Text(); !strings.Contains(text, "reference") || strings.Contains(strings.ReplaceAll(text, "shop_order_create", ""), "order_create") {
			t.Errorf("bad arguments: got %s", text)
		}
		for _, line := range f.Log.Failures(t) {
			if line.Server == "shop" && line.Tool != "order_create" || line.Server == "all" && line.Tool != "shop_order_craete" {
				t.Errorf("got %s of %s in the log", line.Tool, line.Server)
			}
		}
		gatewaytest.Reload(t, f.Gateway, f.Config(`servers: [farm, {name: shop, prefix: shop_, deny: [order_get]}]`, verify))
		result = c.MustCall(t, "shop_order_create", `{"reference":"A","amount":1}`).Result(t)
		if strings.Contains(result.Text(), "order_get") || strings.Contains(string(result.Meta["io.github.recoursehq/error"]), "order_get") {
			t.Errorf("got advice to call a tool that is not offered: %s", result.Text())
		}
	})
}

// A liar is a server whose list of tools is wrong, in a way that tests choose.
type liar struct {
	mu   sync.Mutex
	list string // the result of tools/list, without braces
	id   string // of the answer; "": the request's
	seen []http.Header
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	l.mu.Lock()
	defer l.mu.Unlock()
	result, id := `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}`, string(m.ID)
	switch m.Method {
	case "tools/list":
		l.seen = append(l.seen, r.Header.Clone())
		if result = l.list; l.id != "" {
			id = l.id
		}
		if auth := r.Header.Get("Authorization"); auth != "" {
			result = fmt.Sprintf(`"tools":[{"name":"of_%s","inputSchema":{"type":"object"}}]`, strings.TrimPrefix(auth, "Bearer "))
		}
	case "tools/call":
		result = `"content":[{"type":"text","text":"called"}]`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, id, result)
}

func (l *liar) says(list, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list, l.id = list, id
}

func startLiar(tb testing.TB, keys string) (*liar, *gatewaytest.Many) {
	tb.Helper()
	l := &liar{}
	url := testkit.ServeInMemory(tb, http.HandlerFunc(l.serve)) + "/mcp"
	f := &gatewaytest.Many{Farm: testkit.NewServer(tb, testkit.InMemory())}
	f.Front = gatewaytest.StartAt(tb, "/mcp", fmt.Sprintf("servers:\n  farm: {url: %q}\n  liar: {url: %q%s}\nendpoints:\n  all: {path: /mcp, servers: [farm, {name: liar, prefix: l_}]}\n",
		f.Farm.URL(), url, keys))
	return l, f
}

func TestManyServerLies(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		l, f := startLiar(t, "")
		c := f.Client(t, testkit.Modern)
		tool := func(name string) string { return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name) }
		huge := make([]string, 3000)
		for i := range huge {
			huge[i] = tool(fmt.Sprintf("t%d", i))
		}
		for _, test := range []struct {
			name, list, id, outcome string
			listed                  int
			truncated               bool
		}{
			{"a name twice", `"tools":[` + tool("a") + "," + tool("b") + "," + tool("a") + `]`, "", "ok", 2, false},
			{"too many tools", `"tools":[` + strings.Join(huge, ",") + `]`, "", "ok", 2000, true},
			{"no names", `"tools":[{},{"name":7},{"name":""},5,` + tool("a") + `]`, "", "ok", 1, false},
			{"another id", `"tools":[]`, "77", "bad_response", 1, false},
			{"an object as list", `"tools":{}`, "", "bad_response", 1, false},
			{"a result without a list", `"x":1`, "", "bad_response", 1, false},
			{"a long text", `"tools":[],"x":"` + strings.Repeat("x", 5<<20) + `"`, "", "bad_response", 1, false},
			{"the same page for ever", `"tools":[` + tool("a") + `],"nextCursor":"1"`, "", "ok", 1, true},
		} {
			l.says(test.list, test.id)
			time.Sleep(fresh)
			names, _, a := allPages(t, c)
			if got := targets(t, a)["liar"]; got.Outcome != test.outcome || got.Listed != test.listed || got.Truncated != test.truncated {
				t.Errorf("%s: got %+v", test.name, got)
			}
			if got := targets(t, a)["farm"]; got.Outcome != "ok" || got.Listed != 6 || len(names) != 6+test.listed {
				t.Errorf("%s: got %+v of farm, %d tools in all", test.name, got, len(names))
			}
		}
	})
}

// A list that depends on the caller is never shown to another caller, even while the server is down.
func TestManyListsArePrivate(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		l, f := startLiar(t, ", forward: [authorization]")
		l.says(`"tools":[]`, "")
		listFor := func(who string) ([]string, target) {
			c := f.Client(t, testkit.Modern)
			c.Header = http.Header{"Authorization": {"Bearer " + who}}
			a := c.MustListTools(t)
			return a.ToolNames(t)[6:], targets(t, a)["liar"]
		}
		var group sync.WaitGroup
		for _, who := range []string{"ada", "bob"} {
			group.Go(func() {
				if got, _ := listFor(who); len(got) != 1 || got[0] != "l_of_"+who {
					t.Errorf("%s: got %v", who, got)
				}
			})
		}
		group.Wait()
		l.says(`"tools":[]`, "7")
		l.mu.Lock()
		for _, h := range l.seen {
			if h.Get("Authorization") == "" {
				t.Errorf("a list was requested without credentials: %v", h)
			}
		}
		l.mu.Unlock()
		for who, want := range map[string]string{"ada": "[l_of_ada]", "eve": "[l_of_eve]"} {
			if got, about := listFor(who); fmt.Sprint(got) != want && about.Outcome == "ok" || strings.Contains(fmt.Sprint(got), "bob") {
				t.Errorf("%s: got %v, %+v", who, got, about)
			}
		}
	})
}

// The last lists outlive a restart. An unusable file of lists is ignored.
func TestManyListsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "lists.json")
	endpoint := fmt.Sprintf("%s, lists: %q", gatewaytest.BothPrefixed, path)
	farm, shop := testkit.NewServer(t), testkit.NewServer(t)
	begin := func(url string) (*gatewaytest.Many, func()) {
		f := &gatewaytest.Many{Farm: farm, Shop: shop}
		text := f.Config(endpoint, "")
		if url != "" {
			text = strings.Replace(text, shop.URL(), url, 1)
		}
		g, log := gatewaytest.New(t, text)
		f.Front = &gatewaytest.Front{URL: testkit.Serve(t, g) + "/mcp", Gateway: g, Log: log}
		return f, g.Close
	}
	f, end := begin("")
	if got := len(f.Client(t, testkit.Modern).MustListTools(t).ToolNames(t)); got != 12 {
		t.Fatalf("got %d tools", got)
	}
	end()
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v", about, err)
	}
	if err := shop.Stop(); err != nil {
		t.Fatal(err)
	}
	f, end = begin("")
	for _, era := range testkit.Eras {
		a := f.Client(t, era).MustListTools(t)
		if got := targets(t, a)["shop"]; got.Outcome != "unreachable" || got.Listed != 6 || got.AsOf == "" {
			t.Errorf("after the restart: got %+v", got)
		}
	}
	end()
	f, end = begin("http://127.0.0.1:1/mcp") // another URL: the kept tools are of another server
	if got := targets(t, f.Client(t, testkit.Modern).MustListTools(t))["shop"]; got.Listed != 0 {
		t.Errorf("at another URL: got %+v", got)
	}
	end()
	for what, text := range map[string]string{"half of a file": "{", "another form": `{"v":7}`, "nonsense": `{"v":1,"lists":[{"server":"shop"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, end = begin("")
		if got := targets(t, f.Client(t, testkit.Modern).MustListTools(t))["farm"]; got.Outcome != "ok" || got.Listed != 6 {
			t.Errorf("%s: got %+v", what, got)
		}
		end()
	}
}

// A reload can name another file for the lists.
func TestManyListsMove(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		folder := t.TempDir()
		endpoint := func(file string) string {
			return fmt.Sprintf("%s, lists: %q", gatewaytest.BothPrefixed, filepath.Join(folder, file))
		}
		f := gatewaytest.StartMany(t, endpoint("a"), "")
		gatewaytest.Reload(t, f.Gateway, f.Config(endpoint("b"), ""))
		if got := len(f.Client(t, testkit.Modern).MustListTools(t).ToolNames(t)); got != 12 {
			t.Errorf("got %d tools", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if files, err := os.ReadDir(folder); err != nil || len(files) != 1 || files[0].Name() != "b" {
			t.Errorf("got files %v, %v", files, err)
		}
	})
}

// If the file cannot be written, the log says so, and calls go on.
func TestManyListsCannotBeKept(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(folder, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f := gatewaytest.StartMany(t, fmt.Sprintf("%s, lists: %q", gatewaytest.BothPrefixed, filepath.Join(folder, "lists.json")), "")
		if got := len(f.Client(t, testkit.Modern).MustListTools(t).ToolNames(t)); got != 12 {
			t.Errorf("got %d tools", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.Contains(f.Log.String(), "cannot be kept across a restart") && !strings.Contains(f.Log.String(), "cannot be read") {
			t.Errorf("no line about the file in the log: %s", f.Log)
		}
	})
}
