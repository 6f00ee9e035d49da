package terra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

var eras = []testkit.Era{testkit.Legacy, testkit.Modern}

// newSystem starts a system.
func newSystem(tb testing.TB, options terra.Options) *terra.System {
	tb.Helper()
	if options.Logger == nil {
		options.Logger = systemtest.Quiet()
	}
	s, err := terra.New(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// send makes a call over HTTP.
func send(tb testing.TB, s *terra.System, era testkit.Era, at systems.Entrance, tool, arguments string) *testkit.Answer {
	tb.Helper()
	client := testkit.NewClient(tb, testkit.Serve(tb, s.Handler())+at.Path, era)
	client.Header = at.Header
	answer, err := client.Call(tb.Context(), tool, arguments)
	if err != nil {
		tb.Fatal(err)
	}
	return answer
}

// read returns the result of a call, and its record, if any.
func read(tb testing.TB, answer *testkit.Answer) (testkit.ToolResult, *recourse.Error) {
	tb.Helper()
	result, err := answer.ToolResult()
	if err != nil {
		tb.Fatalf("%v: HTTP %d: %s", err, answer.Status, answer.Body)
	}
	e := new(recourse.Error)
	if raw, ok := result.Meta[recourse.MetaKey]; ok {
		if err := json.Unmarshal(raw, e); err != nil {
			tb.Fatal(err)
		}
	}
	return result, e
}

// The scenes show every code of the contract, except the one that only stdio has, and the one that Terra itself never
// sends.
func TestScenes(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"A query that works.":                         "",
		"Neither fields nor select.":                  "fields-or-select",
		"Both of them.":                               "fields-and-select",
		"A list without IN.":                          "list-without-in",
		"An IN of nothing.":                           "empty-in",
		"An invalid timestamp.":                       "bad-timestamp",
		"A list for a field that is not a timestamp.": "list-not-timestamp",
		"An and of nothing.":                          "empty-and",
		"An or of nothing.":                           "empty-or",
		"A not of nothing.":                           "empty-not",
		"A field that the tool does not have, of which the contract says nothing.": "other",
		"Half of the credentials.":                           "credentials-missing",
		"A wrong API key.":                                   "credentials-invalid",
		"No user in the path.":                               "user-missing",
		"A user id that is not a UUID.":                      "user-invalid",
		"A user of another developer.":                       "user-invalid",
		"The directory of users cannot be read.":             "before-tool",
		"No MCP server is configured for the user's region.": "proxy-misconfigured",
		"The MCP server of the user's region is down.":       "upstream-down",
		"The MCP server of the user's region never answers.": "unanswered",
		"A proxy on the way loses the user.":                 "no-user-header",

		"A proxy in front of the MCP server of the user's region answers 502.": "upstream-down",
		"The MCP server of the user's region answers 503.":                     "upstream-down",
	}
	s := newSystem(t, terra.Options{})
	hasty := newSystem(t, terra.Options{Timeout: 100 * time.Millisecond})
	c := contract.MustBuiltin("terra")
	shown := map[string]bool{"no-context": true, "server-error": true}
	for _, scene := range s.Scenes() {
		code, known := want[scene.Title]
		if !known {
			t.Errorf("no code for the scene %q", scene.Title)
		}
		shown[code] = true
		at := s.Entrance()
		if scene.Entrance != nil {
			at = *scene.Entrance
		}
		for _, era := range eras {
			t.Run(scene.Title+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				asked := s
				if code == "unanswered" {
					asked = hasty
				}
				answer := send(t, asked, era, at, scene.Tool, scene.Arguments)
				var got *recourse.Error
				if answer.Status == http.StatusOK {
					_, got = read(t, answer)
				} else {
					reader := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
					got = reader.HTTP(answer.Status, answer.Header, answer.Body).Error()
				}
				if got.Code != code {
					t.Errorf("code %q, want %q: HTTP %d, %s", got.Code, code, answer.Status, answer.Body)
				}
				again := code == "upstream-down" || code == "unanswered" // reads are repeated after transient failures
				if code != "" && c.Retryable(got, &contract.Call{Method: "tools/call", Tool: scene.Tool, HTTP: true}) != again {
					t.Errorf("by the table, %s is retryable: %t", code, !again)
				}
			})
		}
	}
	for _, code := range contractdoc.Translate(c, c).Codes {
		if !shown[code.Code] {
			t.Errorf("no scene shows %s", code.Code)
		}
	}
}

// The seven answers before a tool runs, byte for byte, in the order of the checks.
func TestSession(t *testing.T) {
	t.Parallel()
	const public = "https://api.example.com"
	s := newSystem(t, terra.Options{PublicURL: public})
	problem := func(title, detail string) string {
		return `{"type":"about:blank","title":"` + title + `","instance":"URL","detail":"` + detail + `"}`
	}
	const unauthorized, notFound = "unauthorized", "not found"
	both := func(key string) http.Header { return http.Header{"Dev-Id": {terra.DevID}, "X-Api-Key": {key}} }
	good := both(terra.APIKey)
	user := func(n string) string { return "/" + strings.TrimSuffix(terra.Ada, "1") + n }
	tests := []struct {
		name     string
		header   http.Header
		path     string
		status   int
		body     string
		promises []string
	}{
		{
			name: "neither credentials nor user", header: http.Header{}, status: 401,
			body:     problem(unauthorized, "dev-id or x-api-key headers are missing"),
			promises: []string{"terra/http-credentials-missing", "terra/order-credentials-first"},
		},
		{
			name: "half of the credentials, and wrong", header: http.Header{"X-Api-Key": {"another"}}, path: "/alice", status: 401,
			body: problem(unauthorized, "dev-id or x-api-key headers are missing"), promises: []string{"terra/order-credentials-first"},
		},
		{
			name: "wrong credentials and no user", header: both("another"), status: 401, body: problem(unauthorized, "unauthorized"),
			promises: []string{"terra/http-credentials-invalid", "terra/order-credentials-first"},
		},
		{
			name: "an unknown developer", header: http.Header{"Dev-Id": {"who"}, "X-Api-Key": {terra.APIKey}}, path: "/alice", status: 401,
			body: problem(unauthorized, "unauthorized"),
		},
		{
			name: "no user", header: good, status: 404, body: problem(notFound, "missing user_id parameter"),
			promises: []string{"terra/http-user-missing", "terra/order-user-last"},
		},
		{
			name: "no user after the slash", header: good, path: "/", status: 404, body: problem(notFound, "missing user_id parameter"),
			promises: []string{"terra/order-user-last"},
		},
		{
			name: "a malformed user", header: good, path: "/alice", status: 404, body: problem(notFound, "invalid user id"),
			promises: []string{"terra/http-user-malformed", "terra/order-user-last"},
		},
		{
			name: "a foreign user", header: good, path: user("5"), status: 404, body: problem(notFound, "invalid user id"),
			promises: []string{"terra/http-user-not-authorised", "terra/order-user-last"},
		},
		{name: "an unknown user", header: good, path: user("9"), status: 404, body: problem(notFound, "invalid user id")},
		{
			name: "a directory that cannot be read", header: good, path: user("6"), status: 500,
			body:     problem("internal server error", "something went wrong"),
			promises: []string{"terra/http-something-went-wrong"},
		},
		{name: "more than a user", header: good, path: user("1") + "/", status: 404, body: problem(notFound, "invalid user id")},
		{name: "a path below that of a user", header: good, path: user("1") + "/tools", status: 404, body: problem(notFound, "invalid user id")},
		{
			name: "no credentials, and a path below that of a user", header: http.Header{}, path: user("1") + "/tools", status: 401,
			body: problem(unauthorized, "dev-id or x-api-key headers are missing"), promises: []string{"terra/order-credentials-first"},
		},
		{name: "more digits than a user has", header: good, path: user("1") + "1", status: 404, body: problem(notFound, "invalid user id")},
		{name: "something before a user", header: good, path: "/x" + user("1")[1:], status: 404, body: problem(notFound, "invalid user id")},
		{name: "a region whose server answers 502", header: good, path: user("8"), status: 502, promises: []string{"terra/http-upstream-down-status"}},
		{name: "a region whose server answers 503", header: good, path: user("a"), status: 502, promises: []string{"terra/http-upstream-down-status"}},
		{name: "a region that is not configured", header: good, path: user("3"), status: 500, promises: []string{"terra/http-misconfigured", "terra/empty-body"}},
		{name: "a region that is down", header: good, path: user("2"), status: 502, promises: []string{"terra/http-upstream-down", "terra/http-upstream-down-reset", "terra/empty-body"}},
	}
	for _, tt := range tests {
		for _, era := range eras {
			t.Run(tt.name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				promises.Covers(t, tt.promises...)
				path := "/api/v2/mcp" + tt.path
				answer := send(t, s, era, systems.Entrance{Path: path, Header: tt.header}, "get_sleep_data", `{}`)
				type reply struct {
					Status       int
					Type, Length []string
					Body         string
				}
				want := reply{Status: tt.status, Length: []string{"0"}}
				if tt.body != "" {
					want = reply{Status: tt.status, Type: []string{"application/problem+json"}, Body: strings.Replace(tt.body, "URL", public+path, 1)}
				}
				got := reply{answer.Status, answer.Header["Content-Type"], answer.Header["Content-Length"], string(answer.Body)}
				if tt.body != "" {
					got.Length = nil
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// The MCP servers get the user of the path, whatever the client sends, and no credentials.
func TestForwarded(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/user-header", "terra/user-header-dropped")

	s := newSystem(t, terra.Options{})
	seen := make(chan http.Header, 1)
	s.MCPServer().AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				seen <- req.GetExtra().Header
			}
			return next(ctx, method, req)
		}
	})
	at := s.Entrance()
	at.Header.Set("Provider-User-Id", "somebody-else")
	answer := send(t, s, testkit.Modern, at, "get_sleep_data", `{"fields":["awakenings"]}`)
	if result, _ := read(t, answer); result.IsError {
		t.Error(result.Text())
	}
	header := <-seen
	got := [][]string{header.Values("Provider-User-Id"), header.Values("Dev-Id"), header.Values("X-Api-Key")}
	if diff := cmp.Diff([][]string{{terra.Ada}, nil, nil}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The log tells the operator about failures that are not the caller's fault; data that a tool lacks are not a mistake
// in the query.
func TestServerSide(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/server-side-500", "terra/server-side-502", "terra/detail-no-user-header", "terra/context-is-server-side", "terra/tool-context-server")

	tests := []struct {
		user, text string
		status     int
		want       []string // parts of the log
	}{
		{"6", "", 500, []string{"level=ERROR", "origin=gateway", "status=500", "checksum mismatch"}},
		{"3", "", 500, []string{"level=ERROR", "origin=gateway", "status=500", "ap-south"}},
		{"2", "", 502, []string{"level=WARN", "origin=gateway", "status=502"}},
		{"4", "Provider-User-Id header is required", 200, []string{"level=ERROR", "origin=server"}},
	}
	for _, tt := range tests {
		t.Run(tt.user, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := newSystem(t, terra.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			srv := httptest.NewServer(s.Handler())
			client := testkit.NewClient(t, srv.URL+strings.TrimSuffix(s.Entrance().Path, "1")+tt.user, testkit.Modern)
			client.Header = s.Entrance().Header
			answer, err := client.Call(t.Context(), "get_sleep_data", `{"fields":["awakenings"]}`)
			srv.Close() // now the log is complete
			if err != nil {
				t.Fatal(err)
			}
			if answer.Status != tt.status {
				t.Errorf("HTTP %d, want %d", answer.Status, tt.status)
			}
			if tt.text != "" {
				if result, e := read(t, answer); result.Text() != tt.text || e.Origin != recourse.OriginServer {
					t.Errorf("%s of %s", result.Text(), e.Origin)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s in the log: %s", want, &log)
				}
			}
		})
	}
}

// Clients cannot find out whether another developer's user exists. The operator's log says what was wrong with the id.
func TestUserIsAUUID(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/http-user-malformed")

	short := terra.Ada[:len(terra.Ada)-1]
	for user, malformed := range map[string]bool{short: true, short + "12": true, strings.ReplaceAll(terra.Ada, "-", ""): true, short + "9": false} {
		var log bytes.Buffer
		s := newSystem(t, terra.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		srv := httptest.NewServer(s.Handler())
		client := testkit.NewClient(t, srv.URL+strings.TrimSuffix(s.Entrance().Path, terra.Ada)+user, testkit.Modern)
		client.Header = s.Entrance().Header
		answer, err := client.Call(t.Context(), "get_sleep_data", `{}`)
		srv.Close() // now the log is complete
		if err != nil || answer.Status != http.StatusNotFound {
			t.Fatalf("%s: %v, HTTP %d", user, err, answer.Status)
		}
		if got := strings.Contains(log.String(), "not a UUID"); got != malformed {
			t.Errorf("%s: %s", user, &log)
		}
	}
}

// Without HTTP, the same failures are their sentences.
func TestStdio(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/stdio-text", "terra/detail-no-context", "terra/order-credentials-first", "terra/order-user-last")

	tests := []struct {
		name, want string
		client     *terra.Developer
		origin     recourse.Origin
	}{
		{"nobody", "request context is unavailable", nil, recourse.OriginServer},
		{"no credentials", "dev-id or x-api-key headers are missing", &terra.Developer{User: "alice", APIKey: "another"}, recourse.OriginCaller},
		{"wrong credentials", "unauthorized", &terra.Developer{DevID: terra.DevID, APIKey: "another"}, recourse.OriginCaller},
		{"no user", "missing user_id parameter", &terra.Developer{DevID: terra.DevID, APIKey: terra.APIKey}, recourse.OriginCaller},
		{"a malformed user", "invalid user id", &terra.Developer{DevID: terra.DevID, APIKey: terra.APIKey, User: "alice"}, recourse.OriginCaller},
		{
			"a directory that cannot be read", "something went wrong",
			&terra.Developer{DevID: terra.DevID, APIKey: terra.APIKey, User: strings.TrimSuffix(terra.Ada, "1") + "6"}, recourse.OriginServer,
		},
		{"Ada", `{"data":[{"awakenings":2},{"awakenings":4},{"awakenings":1},{"awakenings":5},{"awakenings":2},{"awakenings":3}]}`, terra.DemoClient(), ""},
	}
	c := contract.MustBuiltin("terra")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, terra.Options{Client: tt.client})
			r := systemtest.Stdio(t, s.MCPServer()).Call(t, "get_sleep_data", `{"fields":["awakenings"]}`)
			if result := r.Tool(t); result.Text() != tt.want || result.IsError != (tt.origin != "") {
				t.Errorf("isError %t: %s, want %s", result.IsError, result.Text(), tt.want)
			}
			if tt.origin != "" && r.Record(t).Origin != tt.origin {
				t.Errorf("origin %s, want %s", r.Record(t).Origin, tt.origin)
			}
			if e := r.Read(t, c); e != nil && c.Retryable(e, &contract.Call{Method: "tools/call"}) {
				t.Errorf("by the table, %v is retryable", e)
			}
		})
	}
}

// A UUID is the same in capitals, and a part of a condition that is null is not there.
func TestSpellings(t *testing.T) {
	t.Parallel()
	s := newSystem(t, terra.Options{})
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	const whole = `{"fields":["awakenings"],"where":{"field":"awakenings","operator":"GTE","value":2}}`
	texts := map[string]string{}
	for name, test := range map[string][2]string{
		"as it is":    {terra.Ada, whole},
		"in capitals": {strings.ToUpper(terra.Ada), whole},
		"with nulls":  {terra.Ada, `{"fields":["awakenings"],"select":null,"where":{"and":null,"or":null,"not":null,"field":"awakenings","operator":"GTE","value":2}}`},
	} {
		client := testkit.NewClient(t, srv.URL+strings.TrimSuffix(s.Entrance().Path, terra.Ada)+test[0], testkit.Modern)
		client.Header = s.Entrance().Header
		a, err := client.Call(t.Context(), "get_sleep_data", test[1])
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.ToolResult()
		if err != nil || result.IsError {
			t.Fatalf("%s: HTTP %d %s, %v", name, a.Status, a.Body, err)
		}
		texts[name] = result.Text()
	}
	if texts["in capitals"] != texts["as it is"] || texts["with nulls"] != texts["as it is"] {
		t.Errorf("got %v", texts)
	}
}
