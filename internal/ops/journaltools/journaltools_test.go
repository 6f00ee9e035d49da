package journaltools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/ops/journaltools"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// A world is a gateway with a journal, and the tools that read it.
type world struct {
	t       *testing.T
	server  *testkit.Server
	calls   *testkit.Client // of the gateway
	store   *store.Store
	journal *journal.Journal
	url     string // of the tools
}

func begin(t *testing.T) *world {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, server: testkit.NewServer(t, testkit.InMemory()), store: s}
	set, quiet := contract.Builtin(), slog.New(slog.DiscardHandler)
	cfg, err := config.Parse("recourse.yaml", []byte("servers:\n  farm: {url: "+w.server.URL()+"}\n"), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.NewReaching(gateway.Reach{Dial: testkit.Dial, Pause: time.Millisecond}, cfg, set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	w.journal = journal.New(s.Journal(), &config.Journal{
		Failures: true, Keep: time.Hour, MaxSize: 1 << 30, Arguments: config.ArgumentsMasked,
	}, quiet)
	g.Observe(w.journal)
	t.Cleanup(func() {
		g.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		w.journal.Close(ctx)
		_ = s.Close() // the test may have closed it
	})
	w.calls = testkit.NewClient(t, testkit.ServeInMemory(t, g)+"/farm/mcp", testkit.Modern)
	tools := journaltools.New(journaltools.Options{Journal: s.Journal(), Contracts: g.Contracts}, "1.0.0", quiet)
	w.url = testkit.Serve(t, tools) + "/mcp"
	return w
}

// fail makes a call through the gateway fail with a text, and returns the request id.
func (w *world) fail(text string) string {
	w.t.Helper()
	w.server.Next(testkit.GetField, faults.ToolError("", text))
	a, err := w.calls.Call(w.t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Header.Get("X-Request-Id")
}

// written waits until the journal has n calls.
func (w *world) written(n uint64) {
	w.t.Helper()
	if !testkit.Until(func() bool { return w.journal.Stats().Written >= n }) {
		w.t.Fatalf("got stats %+v", w.journal.Stats())
	}
}

// ask calls a tool like a modern client without an SDK.
func (w *world) ask(tool, arguments string) testkit.ToolResult {
	w.t.Helper()
	a, err := testkit.NewClient(w.t, w.url, testkit.Modern).Call(w.t.Context(), tool, arguments)
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := a.ToolResult()
	if err != nil {
		w.t.Fatalf("%v: HTTP %d, %s", err, a.Status, a.Body)
	}
	return result
}

// record returns the record of a failure.
func record(t *testing.T, r testkit.ToolResult) *recourse.Error {
	t.Helper()
	var e recourse.Error
	if err := json.Unmarshal(r.Meta["io.github.recoursehq/error"], &e); err != nil || !r.IsError {
		t.Fatalf("got no failure (%v): %s", err, r.Text())
	}
	return &e
}

type list struct {
	Failures []struct {
		RequestID string `json:"requestId"`
		Server    string `json:"server"`
		Tool      string `json:"tool"`
		Kind      string `json:"kind"`
		Origin    string `json:"origin"`
		Message   string `json:"message"`
		Attempts  int    `json:"attempts"`
	} `json:"failures"`
	NextCursor string `json:"nextCursor"`
}

func listed(t *testing.T, structured []byte) (l list) {
	t.Helper()
	if err := json.Unmarshal(structured, &l); err != nil {
		t.Fatalf("%v: %s", err, structured)
	}
	return l
}

// Clients of both eras list failures and explain them, with the official SDK and without it.
func TestClientsOfBothEras(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.fail("the barn is closed")
	id := w.fail("there is no field F-1")
	w.written(2)

	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 2 {
		t.Fatalf("%v: %v", tools, err)
	}
	for _, tool := range tools.Tools {
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s is %+v", tool.Name, tool.Annotations)
		}
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "recourse_failures", Arguments: map[string]any{"server": "farm"}})
	if err != nil || result.IsError {
		t.Fatalf("%v: %+v", err, result)
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if l := listed(t, structured); len(l.Failures) != 2 || l.Failures[0].RequestID != id || l.Failures[0].Message != "there is no field F-1" ||
		l.Failures[0].Server != "farm" || l.Failures[0].Tool != testkit.GetField || l.Failures[0].Attempts != 1 || l.NextCursor != "" {
		t.Errorf("got list %s", structured)
	}

	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		raw := testkit.NewClient(t, w.url, era)
		if era == testkit.Legacy {
			if _, err := raw.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a, err := raw.Call(t.Context(), "recourse_explain", `{"request_id":"`+id+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.ToolResult()
		if err != nil || result.IsError {
			t.Fatalf("%v: HTTP %d, %s", err, a.Status, a.Body)
		}
		for _, want := range []string{"request    " + id, "sent to farm", "there is no field F-1", "told as    "} {
			if !strings.Contains(result.Text(), want) {
				t.Errorf("%v: no %q in\n%s", era, want, result.Text())
			}
		}
		if !strings.Contains(string(result.StructuredContent), `"requestId":"`+id+`"`) {
			t.Errorf("%v: got structuredContent %s", era, result.StructuredContent)
		}
	}
}

// A list continues where the previous page ended: each call once, the latest first.
func TestPages(t *testing.T) {
	t.Parallel()
	w := begin(t)
	var want, got []string
	for i := range 7 {
		want = append([]string{w.fail(fmt.Sprintf("fault %d", i))}, want...)
	}
	w.written(7)
	for cursor, calls := "", 0; calls < 4; calls++ {
		r := w.ask("recourse_failures", `{"limit":3,"cursor":"`+cursor+`"}`)
		l := listed(t, r.StructuredContent)
		for _, f := range l.Failures {
			got = append(got, f.RequestID)
		}
		if cursor = l.NextCursor; cursor == "" {
			break
		}
		if !strings.Contains(r.Text(), `cursor="`+cursor+`"`) {
			t.Errorf("the text does not say how to get the next page:\n%s", r.Text())
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("listed: %q, want %q", got, want)
	}
}

// Filters select calls; an invalid value is refused with a list of the valid ones.
func TestFilters(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.fail("the barn is closed")
	w.written(1)
	of := listed(t, w.ask("recourse_failures", `{}`).StructuredContent).Failures[0]
	for filter, found := range map[string]int{
		`{"server":"farm"}`: 1, `{"server":"barn"}`: 0, `{"tool":"get_field"}`: 1, `{"tool":"no"}`: 0,
		`{"kind":"` + of.Kind + `"}`: 1, `{"kind":"timeout"}`: 0, `{"origin":"` + of.Origin + `"}`: 1, `{"origin":"gateway"}`: 0,
		`{"caller":"ada"}`: 0, `{"since":"1h"}`: 1, `{"since":"2999-01-01T00:00:00Z"}`: 0, `{"cursor":"1"}`: 0,
	} {
		if n := len(listed(t, w.ask("recourse_failures", filter).StructuredContent).Failures); n != found {
			t.Errorf("%s: got %d, want %d", filter, n, found)
		}
	}
	for bad, says := range map[string]string{
		`{"kind":"tiemout"}`: "kind must be one of", `{"origin":"me"}`: "provider", `{"since":"yesterday"}`: "30m", `{"since":"-1h"}`: "30m",
		`{"limit":0}`: "limit", `{"limit":101}`: "limit", `{"limit":"all"}`: "limit", `{"cursor":"here!"}`: "nextCursor",
		`{"sever":"farm"}`: "sever", `{"server":7}`: "server",
	} {
		r := w.ask("recourse_failures", bad)
		if e := record(t, r); e.Kind.Class() != recourse.ClassInput || e.Effect != recourse.EffectNone || !strings.HasPrefix(r.Text(), "["+e.Code+"] ") ||
			!strings.Contains(r.Text(), says) {
			t.Errorf("%s: %s", bad, r.Text())
		}
	}
}

// An answer from any source is explained, together with the journal's entry for its request.
func TestPastedAnswers(t *testing.T) {
	t.Parallel()
	w := begin(t)
	id := w.fail("the barn is closed")
	w.written(1)
	quote := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for answer, says := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: x"}}`:                     "unknown_tool",
		"HTTP/1.1 503 Service Unavailable\nRetry-After: 7\n\n":                                             "at least 7 s",
		"[rate_limited] Too many calls.":                                                                   "rate_limited",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"42"}]}}`:                      "a success",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x","data":{"requestId":"` + id + `"}}}`: "sent to farm",
	} {
		r := w.ask("recourse_explain", `{"answer":`+quote(answer)+`}`)
		if r.IsError || !strings.Contains(r.Text(), says) {
			t.Errorf("%s: no %q in\n%s", answer, says, r.Text())
		}
	}
	writes := w.ask("recourse_explain", `{"writes":true,"answer":`+quote("HTTP/1.1 502 Bad Gateway\n\n")+`}`)
	if !strings.Contains(string(writes.StructuredContent), `"effect":"unknown"`) {
		t.Errorf("a tool that writes: %s", writes.StructuredContent)
	}
	for bad, kind := range map[string]recourse.Kind{
		`{}`:                              recourse.KindMissingParam,
		`{"request_id":"a","answer":"b"}`: recourse.KindConflictingParams,
		`{"request_id":"req-none"}`:       recourse.KindNotFound,
		`{"request_id":"' OR 1=1 --"}`:    recourse.KindNotFound,
		`{"answer":"{\"jsonrpc\":"}`:      recourse.KindInvalidValue,
		`{"answer":` + quote(strings.Repeat("x", 300<<10)) + `}`: recourse.KindInvalidValue,
	} {
		r := w.ask("recourse_explain", bad)
		if e := record(t, r); e.Kind != kind || !strings.HasPrefix(r.Text(), "["+e.Code+"] ") {
			t.Errorf("%.80s: %s", bad, r.Text())
		}
	}
}

// Texts of servers can neither hide anything in an answer nor make it large.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	w := begin(t)
	id := w.fail("\u202eno barn\u2069\U000e0041 <script>alert(1)</script>\x1b[2J" + strings.Repeat("long ", 5000))
	for range 110 {
		w.fail(strings.Repeat("wide ", 200))
	}
	w.written(111)
	seen := 0
	for cursor := ""; ; {
		r := w.ask("recourse_failures", `{"limit":100,"cursor":"`+cursor+`"}`)
		if len(r.Text()) > 26<<10 || len(r.StructuredContent) > 100<<10 {
			t.Errorf("the list has %d bytes, its structuredContent %d", len(r.Text()), len(r.StructuredContent))
		}
		checkVisible(t, r)
		l := listed(t, r.StructuredContent)
		seen += len(l.Failures)
		if cursor = l.NextCursor; cursor == "" {
			break
		}
	}
	if seen != 111 {
		t.Errorf("listed %d calls", seen)
	}
	story := w.ask("recourse_explain", `{"request_id":"`+id+`"}`)
	checkVisible(t, story)
	if len(story.Text()) > 26<<10 || len(story.StructuredContent) > 120<<10 {
		t.Errorf("the explanation has %d bytes, its structuredContent %d", len(story.Text()), len(story.StructuredContent))
	}
	pasted := w.ask("recourse_explain", `{"answer":"[timeout] \u202eevil\u001b[2J"}`)
	checkVisible(t, pasted)
}

// checkVisible checks that a result has no invisible or disguising characters.
func checkVisible(t *testing.T, r testkit.ToolResult) {
	t.Helper()
	var values any
	if err := json.Unmarshal(r.StructuredContent, &values); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{r.Text(), fmt.Sprint(values)} {
		if strings.ContainsAny(text, "\u202e\u2069\U000e0041\x1b") {
			t.Errorf("invisible characters in %.300q", text)
		}
	}
}

// An unreadable store is reported without its address.
func TestStoreIsGone(t *testing.T) {
	t.Parallel()
	w := begin(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for tool, arguments := range map[string]string{"recourse_failures": `{}`, "recourse_explain": `{"request_id":"req-1"}`} {
		r := w.ask(tool, arguments)
		if e := record(t, r); e.Kind != recourse.KindUnavailable || e.Origin != recourse.OriginGateway || strings.Contains(r.Text(), "sql") {
			t.Errorf("%s: %s", tool, r.Text())
		}
	}
}

// Pages of other sites cannot call the tools.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := begin(t)
	client := testkit.NewClient(t, w.url, testkit.Modern)
	client.Header = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	a, err := client.Call(t.Context(), "recourse_failures", `{}`)
	if err != nil || a.Status != http.StatusForbidden {
		t.Errorf("%v, HTTP %d", err, a.Status)
	}
}

// Without access control, the tools are limited to this machine: a request through a proxy is refused.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	w := begin(t)
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via"} {
		client := testkit.NewClient(t, w.url, testkit.Modern)
		client.Header = http.Header{name: {"for=192.0.2.7"}}
		a, err := client.Call(t.Context(), "recourse_failures", `{}`)
		if err != nil || a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), "console_access") {
			t.Errorf("with %s: %v, HTTP %d %s", name, err, a.Status, a.Body)
		}
	}
}
