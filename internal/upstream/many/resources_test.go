package many_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A library is a server of the modern era with resources and prompts.
type library struct {
	name      string
	resources []string
	template  string
	knows     []string // resources beyond the listed ones

	mu   sync.Mutex
	news chan string // resources that have changed
	read []string
}

func (l *library) serve(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name          string          `json:"name"`
			URI           string          `json:"uri"`
			Notifications json.RawMessage `json:"notifications"`
			Ref           struct {
				Name string `json:"name"`
				URI  string `json:"uri"`
			} `json:"ref"`
		} `json:"params"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	answer := func(result string) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, result)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Method {
	case "server/discover":
		answer(fmt.Sprintf(`"supportedVersions":["2026-07-28"],"instructions":"Ask %s.","capabilities":`+
			`{"resources":{"subscribe":true},"prompts":{},"completions":{}}`, l.name))
	case "resources/list":
		items := make([]string, len(l.resources))
		for i, uri := range l.resources {
			items[i] = fmt.Sprintf(`{"uri":%q,"name":"n"}`, uri)
		}
		answer(`"resources":[` + strings.Join(items, ",") + `],"ttlMs":5000,"cacheScope":"public"`)
	case "resources/templates/list":
		answer(fmt.Sprintf(`"resourceTemplates":[{"uriTemplate":%q,"name":"n"}]`, l.template))
	case "resources/read":
		if !slices.Contains(l.resources, m.Params.URI) && !slices.Contains(l.knows, m.Params.URI) && !strings.HasPrefix(m.Params.URI, l.name+"://") {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Resource not found"}}`, m.ID)
			return
		}
		l.read = append(l.read, m.Params.URI)
		answer(fmt.Sprintf(`"contents":[{"uri":%q,"text":"from %s"}]`, m.Params.URI, l.name))
	case "prompts/list":
		answer(`"prompts":[{"name":"summary"}]`)
	case "prompts/get":
		answer(fmt.Sprintf(`"messages":[{"role":"user","content":{"type":"text","text":"%s of %s"}}]`, m.Params.Name, l.name))
	case "completion/complete":
		answer(fmt.Sprintf(`"completion":{"values":["%s%s of %s"]}`, m.Params.Ref.Name, m.Params.Ref.URI, l.name))
	case "subscriptions/listen":
		l.listen(w, r, m.ID, m.Params.Notifications)
	}
}

func (l *library) listen(w http.ResponseWriter, r *http.Request, id, wanted json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(method, members string) {
		_, _ = fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s},%s}}\n\n",
			method, id, members)
		_ = http.NewResponseController(w).Flush() // net/http can flush
	}
	say(protocol.NotifyListening, `"notifications":`+string(wanted))
	l.mu.Unlock()
	defer l.mu.Lock()
	for {
		select {
		case uri := <-l.news:
			say("notifications/resources/updated", fmt.Sprintf(`"uri":%q`, uri))
		case <-r.Context().Done():
			return
		}
	}
}

func startLibraries(tb testing.TB, endpoint string) (a, b *library, f *gatewaytest.Front) {
	tb.Helper()
	a = &library{name: "one", resources: []string{"one://a", "shared://x"}, template: "one://{id}", news: make(chan string)}
	b = &library{name: "two", resources: []string{"shared://x", "two://b"}, template: "file:///{+path}", knows: []string{"odd:it"}, news: make(chan string)}
	serve := func(l *library) string { return testkit.ServeInMemory(tb, http.HandlerFunc(l.serve)) + "/mcp" }
	return a, b, gatewaytest.StartAt(tb, "/mcp", fmt.Sprintf("servers:\n  one: {url: %q}\n  two: {url: %q, title: The second}\nendpoints:\n  all: {path: /mcp, title: Both, %s}\n",
		serve(a), serve(b), endpoint))
}

func TestManyServersHaveResources(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		one, two, f := startLibraries(t, `servers: [one, {name: two, prefix: t_, deny: ["two://secret*"]}]`)
		c := f.Client(t, era)
		request := func(method, params string) string {
			var named struct {
				Name string `json:"name"`
				URI  string `json:"uri"`
			}
			if c.Header = nil; era == testkit.Modern && json.Unmarshal([]byte(params), &named) == nil && named.Name+named.URI != "" {
				c.Header = http.Header{"Mcp-Name": {named.Name + named.URI}}
			}
			a, err := c.Request(t.Context(), method, params)
			if err != nil || a.Message == nil {
				t.Fatalf("%s: got %+v, %v", method, a, err)
			}
			return string(a.Message.Raw)
		}
		if got := request("resources/list", `{}`); strings.Count(got, "shared://x") != 2 || !strings.Contains(got, `"shadowed":["shared://x"]`) {
			t.Errorf("resources: got %s", got) // once listed, once as shadowed
		} else if era == testkit.Modern && (!strings.Contains(got, `"ttlMs":5000`) || !strings.Contains(got, `"cacheScope":"public"`)) {
			t.Errorf("resources: got %s", got)
		}
		for uri, want := range map[string]string{
			"one://a": "from one", "shared://x": "from one", "two://b": "from two", // listed
			"one://9": "from one", "odd:it": "from two", // found by a template, and by asking the servers
			"nobody:has": "not found", "two://secret": "no",
		} {
			if got := request("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.Contains(got, want) || strings.Contains(want, "no") && !strings.Contains(got, `"error"`) {
				t.Errorf("%s: got %s", uri, got)
			}
		}
		if slices.Contains(two.read, "two://secret") || slices.Contains(two.read, "shared://x") || len(one.read) != 3 {
			t.Errorf("got %v read at one and %v at two", one.read, two.read)
		}
		if got := request("prompts/get", `{"name":"t_summary"}`); !strings.Contains(got, "summary of two") {
			t.Errorf("prompts/get: got %s", got)
		}
		for ref, want := range map[string]string{
			`{"type":"ref/prompt","name":"t_summary"}`:     "summary of two",
			`{"type":"ref/resource","uri":"one://{id}"}`:   "one://{id} of one",
			`{"type":"ref/prompt","name":"summary"}`:       "summary of one",
			`{"type":"ref/resource","uri":"file:///a/b/"}`: "file:///a/b/ of two",
		} {
			if got := request("completion/complete", `{"ref":`+ref+`,"argument":{"name":"a","value":"v"}}`); !strings.Contains(got, want) {
				t.Errorf("completion for %s: got %s", ref, got)
			}
		}
		if got := request("prompts/get", `{"name":"t_sumary"}`); !strings.Contains(got, "error") {
			t.Errorf("an unknown prompt: got %s", got)
		}
	})
}

func TestManyServersIntroduceThemselves(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		_, _, f := startLibraries(t, "servers: [one, {name: two, prefix: t_}]")
		c := testkit.NewClient(t, f.URL, era)
		var a *testkit.Answer
		var err error
		if era == testkit.Legacy {
			a, err = c.Initialize(t.Context())
		} else {
			a, err = c.Request(t.Context(), "server/discover", `{}`)
		}
		if err != nil || a.Message == nil {
			t.Fatalf("got %+v, %v", a, err)
		}
		var hello struct {
			Capabilities map[string]json.RawMessage `json:"capabilities"`
			Instructions string                     `json:"instructions"`
		}
		if err := json.Unmarshal(a.Message.Result, &hello); err != nil {
			t.Fatal(err)
		}
		want := map[string]json.RawMessage{
			"completions": json.RawMessage(`{}`), "prompts": json.RawMessage(`{"listChanged":true}`),
			"resources": json.RawMessage(`{"listChanged":true,"subscribe":true}`),
		}
		if diff := cmp.Diff(want, hello.Capabilities); diff != "" {
			t.Errorf("capabilities (-want +got):\n%s", diff)
		}
		if want := "# one\n\nAsk one.\n\n# The second (tools and prompts begin with t_)\n\nAsk two."; hello.Instructions != want {
			t.Errorf("got instructions %q", hello.Instructions)
		}
		if !strings.Contains(string(a.Message.Result), `"name":"Both"`) {
			t.Errorf("got another name: %s", a.Message.Result)
		}
	})
}

// A subscription to a resource reaches only the server that has it.
func TestManyServersAnnounceResources(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		one, two, f := startLibraries(t, "servers: [one, two]")
		c := f.Client(t, testkit.Modern)
		s, err := c.Open(t.Context(), "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["one://a","two://b"]}}`)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m, err := s.NextMessage()
		if err != nil || !strings.Contains(string(m.Params), `"resourceSubscriptions":["one://a","two://b"]`) {
			t.Fatalf("agreed: got %s, %v", m.Params, err)
		}
		synctest.Wait()
		for _, news := range []struct {
			from *library
			uri  string
		}{{two, "two://b"}, {one, "one://a"}} {
			news.from.news <- news.uri
			if m, err := s.NextMessage(); err != nil || !strings.Contains(string(m.Params), news.uri) ||
				!strings.Contains(string(m.Params), `"io.modelcontextprotocol/subscriptionId":1`) {
				t.Errorf("got %s, %v", m.Raw, err)
			}
		}
	})
}
