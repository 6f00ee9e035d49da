package toollist_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// pointers returns the pointers of all violations.
func pointers(e *recourse.Error) []string {
	var pointers []string
	for _, v := range e.Violations {
		pointers = append(pointers, v.Pointer)
	}
	return pointers
}

// All violations are reported at once, and the call does not reach the server.
func TestViolations(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"n":{"type":"integer","maximum":5},
		"s":{"type":"string","minLength":3}},"not":{"required":["a","b"]},"required":["s"],"additionalProperties":false}`
	var many, items []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`"x%02d":1`, i))
		items = append(items, fmt.Sprintf(`/x%02d`, i))
	}
	tool := testkit.Tool{Name: "pick", Definition: `{"name":"pick","inputSchema":` + schema + `}`}
	for _, c := range []struct {
		name, tool, arguments string
		kind                  recourse.Kind
		pointers              []string
	}{
		{"missing before all", "pick", `{"a":"1","b":2,"n":9,"u":1}`, recourse.KindMissingParam, []string{"/s", "/a", "/a", "/n", "/u"}},
		{"type before conflict", "pick", `{"a":"1","b":2,"n":9,"s":"abc","u":1}`, recourse.KindInvalidType, []string{"/a", "/a", "/n", "/u"}},
		{"conflict before value", "pick", `{"a":1,"b":2,"n":9,"s":"abc","u":1}`, recourse.KindConflictingParams, []string{"/a", "/n", "/u"}},
		{"value before unknown", "pick", `{"n":9,"s":"ab","u":1}`, recourse.KindInvalidValue, []string{"/n", "/s", "/u"}},
		{"unknown", "pick", `{"s":"abc","u":1}`, recourse.KindUnknownParam, []string{"/u"}},
		{"no arguments", "pick", ``, recourse.KindMissingParam, []string{"/s"}},
		{"not an object", "pick", `[]`, recourse.KindInvalidType, []string{""}},
		{"at most 20", "pick", `{"s":"abc",` + strings.Join(many, ",") + `}`, recourse.KindUnknownParam, items[:20]},
		{
			"inside lists", testkit.OrderCreate, `{"reference":"A","amount":0,"items":[{"sku":"a","quantity":0},{"sku":1}]}`,
			recourse.KindMissingParam,
			[]string{"/items/1/quantity", "/amount", "/items/0/quantity", "/items/1/sku"},
		},
	} {
		for _, era := range testkit.Eras {
			t.Run(c.name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithTools(tool))
				client := gatewaytest.Start(t, srv.URL()).Client(t, era)
				a, err := client.Call(t.Context(), c.tool, c.arguments)
				if err != nil {
					t.Fatal(err)
				}
				e := gatewaytest.Record(t, a)
				if e.Kind != c.kind || e.Origin != recourse.OriginCaller || e.Effect != recourse.EffectNone || a.Status != http.StatusOK {
					t.Errorf("got HTTP %d, %s of %s, effect %s; want %s of the caller", a.Status, e.Kind, e.Origin, e.Effect, c.kind)
				}
				if diff := cmp.Diff(c.pointers, pointers(e)); diff != "" {
					t.Errorf("pointers (-want +got):\n%s", diff)
				}
				if result, err := a.ToolResult(); err != nil || !result.IsError {
					t.Errorf("got %s, want a tool result", a.Body)
				}
				if got := srv.Attempts(c.tool); got != 0 {
					t.Errorf("got %d calls at the server", got)
				}
			})
		}
	}
}

// fieldmcp names the parameter, the provided value and the expected type, but never shows a secret.
func TestViolationsInFieldmcp(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"limit":{"type":"integer"},"password":{"type":"string","minLength":50},
		"pin":{"type":"string","writeOnly":true,"pattern":"^x"},"code":{"type":"string","format":"password","maxLength":1}}}`
	tool := testkit.Tool{Name: "search", Definition: `{"name":"search","inputSchema":` + schema + `}`}
	srv := testkit.NewServer(t, testkit.WithTools(tool))
	f := gatewaytest.Start(t, srv.URL(), "contract: fieldmcp")
	client := f.Client(t, testkit.Legacy)
	a, err := client.Call(t.Context(), "search", `{"limit":"ten","password":"hunter2-s3cr3t","pin":"p1n-s3cr3t","code":"c0de-s3cr3t"}`)
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.ToolResult()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(result.Text()), &got); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]any{
		"error": true, "code": "INVALID_PARAM_TYPE", "retryable": false, "param": "limit", "providedValue": "ten", "expectedType": "an integer",
		"requestId": a.Header.Get("X-Request-Id"),
	} {
		if diff := cmp.Diff(want, got[member]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	if strings.Contains(string(a.Body), "s3cr3t") || strings.Contains(f.Log.String(), "s3cr3t") {
		t.Errorf("a secret is shown: %s\n%s", a.Body, f.Log)
	}
	if e := gatewaytest.Record(t, a); len(e.Violations) != 4 {
		t.Errorf("got %d violations, want 4", len(e.Violations))
	}
}

// The failure for an unknown tool suggests a tool with a similar name.
func TestUnknownTool(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL()).Client(t, era)
			for name, near := range map[string]string{"get_feild": "get_field", "order-create": "order_create", "zzzzzzzz": "", "": ""} {
				a, err := client.Call(t.Context(), name, `{}`)
				if era == testkit.Modern && name == "" {
					continue // a missing Mcp-Name is another failure
				}
				if err != nil {
					t.Fatal(err)
				}
				result := a.Result(t)
				if !result.IsError {
					t.Fatalf("%q: got %s", name, a.Body)
				}
				if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnknownTool || e.Effect != recourse.EffectNone {
					t.Errorf("%q: got %s, effect %s", name, e.Kind, e.Effect)
				}
				if near != "" && !strings.Contains(result.Text(), near) || near == "" && strings.Contains(result.Text(), "mean") {
					t.Errorf("%q: got %s", name, result.Text())
				}
				if srv.Attempts(name) != 0 {
					t.Errorf("%q: the call reached the server", name)
				}
			}
		})
	}
}

// If a schema cannot be compiled, calls pass, and the log says so once.
func TestUncompilableSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":5}`, `{"$ref":"#/nowhere"}`, `{"$ref":"http://127.0.0.1:1/schema.json"}`, `{"$ref":"file:///etc/passwd"}`, `"text"`, `null`,
		`{"properties":{"a":{"minimum":"x"}}}`,
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			tool := testkit.Tool{Name: "odd", Definition: `{"name":"odd","inputSchema":` + schema + `}`}
			srv := testkit.NewServer(t, testkit.WithTools(tool))
			f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]")
			for i := range 3 { // each session has its own list
				client := testkit.NewClient(t, f.URL, testkit.Modern)
				client.Header = http.Header{"Authorization": {fmt.Sprintf("Bearer %d", i)}}
				if a, err := client.Call(t.Context(), "odd", `{"any":1}`); err != nil || !a.Succeeded() {
					t.Fatalf("got %s, %v", a.Body, err)
				}
			}
			complaints := slices.DeleteFunc(f.Log.Lines(t), func(l gatewaytest.LogLine) bool { return !strings.Contains(l.Msg, "inputSchema") })
			if len(complaints) != 1 || complaints[0].Tool != "odd" || complaints[0].Cause == "" {
				t.Errorf("got complaints %+v", complaints)
			}
		})
	}
}

// A lister is a server of the modern era. Its list of tools may depend on the caller, and tests may change it.
type lister struct {
	mu    sync.Mutex
	tools func(caller, cursor string) (tools, next string)
	ttl   string // ttlMs of lists; "": none
	lists int
	calls int
	after string // a message before the answer of a call
	tell  chan string
}

func (s *lister) set(tools func(caller, cursor string) (string, string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *lister) count() (lists, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.calls
}

func one(tools string) func(string, string) (string, string) {
	return func(string, string) (string, string) { return tools, "" }
}

func (s *lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Cursor string `json:"cursor"`
		} `json:"params"`
	}
	if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &msg) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", "text/event-stream")
	switch msg.Method {
	case "server/discover":
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}\n\n", msg.ID)
	case "subscriptions/listen":
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case message := <-s.tell:
				fmt.Fprintf(w, "data: %s\n\n", message)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case "tools/list":
		s.mu.Lock()
		s.lists++
		tools, next := s.tools(r.Header.Get("Authorization"), msg.Params.Cursor)
		s.mu.Unlock()
		ttl := ""
		if s.ttl != "" {
			ttl = `,"ttlMs":` + s.ttl
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[%s],\"nextCursor\":%q%s}}\n\n", msg.ID, tools, next, ttl)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls++
		if s.after != "" {
			fmt.Fprintf(w, "data: %s\n\n", s.after)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", msg.ID)
	}
}

const (
	toolA       = `{"name":"a","inputSchema":{"type":"object","required":["x"]}}`
	toolB       = `{"name":"b","inputSchema":{"type":"object"}}`
	listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// refused reports whether the gateway refused the call.
func refused(t *testing.T, a *testkit.Answer, err error) bool {
	t.Helper()
	if err != nil || a.Message == nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	return a.Message.Error != nil || !a.Succeeded()
}

// All pages of a list are fetched with the caller's credentials, and kept for those credentials.
func TestListsByCredentials(t *testing.T) {
	t.Parallel()
	s := &lister{tools: func(caller, cursor string) (string, string) {
		switch {
		case caller == "Bearer alice" && cursor == "":
			return toolA, `a "cursor"`
		case caller == "Bearer alice" && cursor == `a "cursor"`:
			return `{"name":"alices"}`, ""
		default:
			return toolB, ""
		}
	}}
	f := gatewaytest.Start(t, testkit.Serve(t, s)+"/mcp", "forward: [authorization]")
	client := func(name string) *testkit.Client {
		c := testkit.NewClient(t, f.URL, testkit.Modern)
		c.Header = http.Header{"Authorization": {"Bearer " + name}}
		return c
	}
	alice, bob := client("alice"), client("bob")
	for range 3 {
		for _, c := range []struct {
			client    *testkit.Client
			tool, arg string
			refused   bool
		}{
			{alice, "a", `{"x":1}`, false},
			{alice, "a", `{}`, true},
			{alice, "alices", `{}`, false},
			{alice, "b", `{}`, true},
			{bob, "b", `{}`, false},
			{bob, "a", `{"x":1}`, true},
		} {
			a, err := c.client.Call(t.Context(), c.tool, c.arg)
			if got := refused(t, a, err); got != c.refused {
				t.Errorf("%s %s of %s: got refused %t: %s", c.tool, c.arg, c.client.Header, got, a.Body)
			}
		}
	}
	if lists, _ := s.count(); lists != 3 {
		t.Errorf("got %d pages, want 3", lists)
	}
}

// The gateway notices a list_changed notification on every kind of stream.
func TestListChanged(t *testing.T) {
	t.Parallel()
	t.Run("stream of a call", func(t *testing.T) {
		t.Parallel()
		s := &lister{tools: one(toolA), after: listChanged}
		client := gatewaytest.Start(t, testkit.Serve(t, s)+"/mcp").Client(t, testkit.Modern)
		if a, err := client.Call(t.Context(), "a", `{"x":1}`); refused(t, a, err) || len(a.Events) != 2 {
			t.Fatalf("got %s", a.Body)
		}
		s.set(one(toolB))
		if a, err := client.Call(t.Context(), "b", `{}`); refused(t, a, err) {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("subscriptions/listen", func(t *testing.T) {
		t.Parallel()
		s := &lister{tools: one(toolA), tell: make(chan string)}
		client := gatewaytest.Start(t, testkit.Serve(t, s)+"/mcp").Client(t, testkit.Modern)
		if a, err := client.Call(t.Context(), "a", `{"x":1}`); refused(t, a, err) {
			t.Fatalf("got %s", a.Body)
		}
		stream, err := client.Open(t.Context(), "subscriptions/listen", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		s.set(one(toolB))
		s.tell <- listChanged
		if _, err := stream.Next(); err != nil {
			t.Fatal(err)
		}
		if a, err := client.Call(t.Context(), "b", `{}`); refused(t, a, err) {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("GET stream", func(t *testing.T) {
		t.Parallel()
		srv := testkit.NewServer(t)
		client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
		stream, err := client.Listen(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if a, err := client.Call(t.Context(), "new", `{}`); !refused(t, a, err) {
			t.Fatalf("got %s", a.Body)
		}
		srv.SetTools(testkit.Tool{Name: "new"})
		if _, err := stream.Next(); err != nil {
			t.Fatal(err)
		}
		if a, err := client.Call(t.Context(), "new", `{}`); refused(t, a, err) {
			t.Errorf("got %s", a.Body)
		}
	})
}

// If the list cannot be fetched, calls pass.
func TestListFails(t *testing.T) {
	t.Parallel()
	endless := faults.Reply("endless", `"result":{"tools":[],"nextCursor":"again"}`)
	for _, fault := range []testkit.Fault{
		faults.Status(http.StatusInternalServerError, faults.Plain), faults.Status(http.StatusForbidden, faults.RPC),
		faults.Hang(), faults.HTMLWith200(), faults.Empty200(), faults.WrongID(testkit.SSE), faults.ResetInBody(), faults.TruncatedJSON(),
		faults.RPCError("RPC error", -32601, "Method not found", ""), faults.Reply("a number as list", `"result":{"tools":7}`),
		faults.Large(testkit.JSON, 9<<20, faults.Whole), faults.EndWithoutAnswer(), faults.CutEvent(), endless,
	} {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			srv.Always("tools/list", fault)
			f := gatewaytest.Start(t, srv.URL(), "timeout: 4s")
			client := f.Client(t, testkit.Modern)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if a, err := client.Call(t.Context(), testkit.Echo, `{"message":7}`); err != nil || !a.Succeeded() {
						t.Errorf("got %+v, %v", a, err)
					}
				})
			}
			wg.Wait()
			if got := srv.Messages("tools/list"); got != 1 && fault.Name != endless.Name || got > 100 {
				t.Errorf("got %d requests for the list", got)
			}
			if lines := f.Log.Lines(t); len(lines) != 1 || lines[0].Cause == "" {
				t.Errorf("got log %s", f.Log)
			}
		})
	}
}

// Headers that mirror arguments must match them.
func TestMirroredArguments(t *testing.T) {
	t.Parallel()
	tool := testkit.Tool{Name: "query", Definition: `{"name":"query","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"}}}}`}
	srv := testkit.NewServer(t, testkit.WithTools(tool))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Modern)
	for _, c := range []struct {
		arguments string
		header    []string
		fits      bool
	}{
		{`{"region":"eu"}`, []string{"eu"}, true},
		{`{}`, nil, true},
		{`{"region":"eu"}`, []string{"us"}, false},
		{`{"region":"eu"}`, nil, false},
		{`{}`, []string{"eu"}, false},
		{`{"region":"eu"}`, []string{"eu", "us"}, false},
	} {
		client.Header = http.Header{"Mcp-Param-Region": c.header}
		before := srv.Attempts("query")
		a, err := client.Call(t.Context(), "query", c.arguments)
		if err != nil || a.Message == nil {
			t.Fatalf("got %+v, %v", a, err)
		}
		mismatch := a.Status == http.StatusBadRequest && a.Message.Error != nil && a.Message.Error.Code == -32020
		if mismatch == c.fits || (srv.Attempts("query") > before) != c.fits {
			t.Errorf("%s with %q: got HTTP %d %s", c.arguments, c.header, a.Status, a.Body)
		}
	}
}
