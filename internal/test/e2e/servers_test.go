package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A step is one request of a program to a server, and the expected answer.
type step struct {
	tool, arguments string
	method, params  string // of any request other than tools/call
	era             string // the only version of the protocol with this request; "" means all

	want  []string // parts of the result
	heard string   // an expected notification: its method, a space, and a part of its params

	kind   recourse.Kind   // of the failure that the result reports
	origin recourse.Origin // of that failure; "" means any
	effect recourse.Effect // of that failure, if origin is set
	code   string          // of the JSON-RPC error that is thrown; with a kind, either may come
}

// name identifies the step in failure messages.
func (s step) name() string { return s.tool + s.method }

// A server is a real server and the steps to take with it.
type server struct {
	name  string
	era   testkit.Era             // of its clients
	front func(testing.TB) *front // starts the server behind its own gateway
	steps []step
}

const legacyVersion = "2025-11-25"

// servers are the servers in Go.
func servers() []server { return serversAt(at) }

// serversAt returns the servers, with at deciding what stands in front of each.
func serversAt(at func(serve func(testing.TB) string) func(testing.TB) *front) []server {
	const legacy, modern = testkit.Legacy, testkit.Modern
	return []server{
		{"Go SDK, with sessions", legacy, at(goSDK(legacy)), realSteps(recourse.KindUnknown)},
		{"Go SDK, stateless", modern, at(goSDK(modern)), realSteps(recourse.KindUnknown)},
		{"Go SDK, stateless, client of the legacy era", legacy, at(goSDK(modern)), realSteps(recourse.KindUnknown)},
		{"mcp-go", modern, at(mcpGoServer), realSteps(recourse.KindInternal)},
		{"mcp-go, client of the legacy era", legacy, at(mcpGoServer), realSteps(recourse.KindInternal)},
		{"Go SDK, modern era only, client of the legacy era", legacy, at(goModernServer), modernSteps()},
		{"testkit, modern era only, client of the legacy era", legacy, at(modernOnly), testkitSteps()},
		{"Go SDK, with sessions, client of the modern era", modern, at(goLegacyServer), legacySteps()},
		{"testkit, legacy era only, client of the modern era", modern, at(legacyOnly), testkitSteps()},
		{"testkit", modern, at(streaming), testkitSteps()},
		{"testkit, client of the legacy era", legacy, at(streaming), testkitSteps()},
	}
}

// at returns the front of a server at the URL that serve returns.
func at(serve func(testing.TB) string) func(testing.TB) *front {
	return func(tb testing.TB) *front {
		tb.Helper()
		return start(tb, serve(tb))
	}
}

func streaming(tb testing.TB) string {
	tb.Helper()
	return testkit.NewServer(tb, testkit.WithForm(testkit.SSE)).URL()
}

func modernOnly(tb testing.TB) string {
	tb.Helper()
	return testkit.NewServer(tb, testkit.WithEra(testkit.Modern)).URL()
}

func legacyOnly(tb testing.TB) string {
	tb.Helper()
	return testkit.NewServer(tb, testkit.WithEra(testkit.Legacy), testkit.WithForm(testkit.SSE)).URL()
}

func goSDK(era testkit.Era) func(testing.TB) string {
	return func(tb testing.TB) string {
		tb.Helper()
		return goServer(tb, era)
	}
}

// realSteps are the steps for the testkit's real servers. raised is the kind of a tool's error, which some SDKs turn
// into a result, and others into a JSON-RPC error.
func realSteps(raised recourse.Kind) []step {
	return []step{
		{method: "tools/list", want: []string{`"name":"order"`, `"outputSchema"`}},
		{method: "ping", era: legacyVersion},
		{tool: toolEcho, arguments: `{"message":"grüß \" 1.0"}`, want: []string{`"structuredContent":{"message":"grüß \" 1.0"}`}},
		{tool: toolAdd, arguments: `{"a":1,"b":2}`, want: []string{`"structuredContent":{"sum":3}`}},
		{tool: toolSlow, arguments: `{"ms":1}`, want: []string{`"done"`}},
		{tool: toolProgress, arguments: `{"count":2}`, want: []string{`"done"`}, heard: `notifications/progress "progress":`},
		{tool: toolOrder, arguments: `{"reference":"A-17","amount":12.5}`, want: []string{"order A-17 created"}},
		{tool: toolOrder, arguments: `{"reference":7,"colour":"red"}`, kind: recourse.KindMissingParam, want: []string{"amount is required", "colour"}},
		{tool: toolFail, arguments: `{}`, kind: raised, want: []string{failText}},
		{tool: toolLeak, arguments: `{}`, kind: recourse.KindUnreachable, want: []string{"[stack trace]"}},
		{tool: "ordr", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean order?"}},
	}
}

// legacySteps are the steps for clients of the modern era across the bridge.
func legacySteps() []step {
	return append(acrossTheBridge(realSteps(recourse.KindUnknown)), step{tool: toolConsult, arguments: `{}`, want: []string{"Ada sampled"}})
}

// modernSteps are the steps for clients of the legacy era across the bridge.
func modernSteps() []step {
	return append(realSteps(recourse.KindUnknown), []step{
		{tool: toolAsk, arguments: `{}`, want: []string{"Ada sampled"}},
		{method: "logging/setLevel", params: `{"level":"info"}`},
		{tool: toolLog, arguments: `{}`, want: []string{"done"}, heard: "notifications/message logged"},
		{method: "resources/list", want: []string{noteURI}},
		{method: "resources/read", params: `{"uri":"` + noteURI + `"}`, want: []string{"a note"}},
		{method: subscribe, params: noteURI},
		{tool: toolTouch, arguments: `{}`, want: []string{"touched"}, heard: "notifications/resources/updated " + noteURI},
		{method: "resources/read", params: `{"uri":"demo://nowhere"}`, code: "-32602"},
	}...)
}

// everythingSteps are the steps for the reference server that covers the whole protocol.
func everythingSteps() []step {
	const resource = "demo://resource/dynamic/text/1"
	return []step{
		{method: "tools/list", want: []string{`"trigger-sampling-request"`, `"trigger-elicitation-request"`}},
		{method: "ping"},
		{method: "logging/setLevel", params: `{"level":"debug"}`},
		{tool: "echo", arguments: `{"message":"m"}`, want: []string{"Echo: m"}},
		{tool: "get-sum", arguments: `{"a":1,"b":2}`, want: []string{"is 3"}},
		{tool: "get-structured-content", arguments: `{"location":"New York"}`, want: []string{`"structuredContent":{`, `"temperature"`}},
		{tool: "get-tiny-image", arguments: `{}`, want: []string{`"image/png"`}},
		{tool: "get-annotated-message", arguments: `{"messageType":"error","includeImage":true}`, want: []string{`"priority":1`, `"image/png"`}},
		{tool: "get-resource-links", arguments: `{"count":2}`, want: []string{`"resource_link"`}},
		{tool: "get-resource-reference", arguments: `{"resourceType":"Text","resourceId":1}`, want: []string{resource}},
		{tool: "trigger-long-running-operation", arguments: `{"duration":0.02,"steps":2}`, want: []string{"completed"}, heard: `notifications/progress "progress":2`},
		{tool: "trigger-elicitation-request", arguments: `{}`, want: []string{"Name: Ada"}},
		{tool: "trigger-sampling-request", arguments: `{"prompt":"p"}`, want: []string{"sampled"}},
		{tool: "toggle-simulated-logging", arguments: `{}`, want: []string{"Started"}, heard: "notifications/message -level message"},
		{tool: "toggle-simulated-logging", arguments: `{}`, want: []string{"Stopped"}},
		{method: "prompts/list", want: []string{`"args-prompt"`}},
		{method: "prompts/get", params: `{"name":"args-prompt","arguments":{"city":"Oslo"}}`, want: []string{"Oslo"}},
		{method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}`, want: []string{`"Sales"`}},
		{method: "resources/list", want: []string{`"demo://resource/`}},
		{method: "resources/templates/list", want: []string{`"demo://resource/dynamic/text/{resourceId}"`}},
		{method: "resources/read", params: `{"uri":"` + resource + `"}`, want: []string{`"text/plain"`}},
		{method: subscribe, params: resource},
		{tool: "toggle-subscriber-updates", arguments: `{}`, want: []string{"tarted"}, heard: "notifications/resources/updated " + resource},
		{tool: "toggle-subscriber-updates", arguments: `{}`, want: []string{"topped"}},
		{tool: "get-sum", arguments: `{"a":"x"}`, kind: recourse.KindMissingParam, want: []string{"b is required", "a must be a number"}},
		{tool: "get-summ", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean get-sum?"}},
		{method: "resources/read", params: `{"uri":"demo://resource/nowhere"}`, code: "-32602"},
		{method: "prompts/get", params: `{"name":"nothing"}`, code: "-32602"},
	}
}

// acrossTheBridge leaves the steps that a modern client can take with a legacy server: a modern client has no ping, and
// asks for log messages only with a call.
func acrossTheBridge(steps []step) []step {
	var bridged []step
	for _, step := range steps {
		if step.method == "ping" || step.method == "logging/setLevel" {
			continue
		}
		if strings.HasPrefix(step.heard, "notifications/message") {
			step.heard = ""
		}
		bridged = append(bridged, step)
	}
	return bridged
}

// subscribe marks a step that subscribes to a resource, in the way of its era.
const subscribe = "resources/subscribe"

// testkitSteps are the additional steps for the testkit's own server: questions to the user in both eras.
func testkitSteps() []step {
	return []step{
		{method: "tools/list", want: []string{`"order_create"`}},
		{tool: testkit.Ask, arguments: `{}`, want: []string{"Ada"}},
		{tool: testkit.Progress, arguments: `{"count":2}`, want: []string{`"done"`}, heard: `notifications/progress "progress":2`},
	}
}

// forClient returns the server with the steps that the client can take.
func (s server) forClient(c client) server {
	if c.era == testkit.Modern && s.era == testkit.Legacy {
		s.steps = acrossTheBridge(s.steps)
	}
	return s
}

// Everything that works without the gateway works through it, in one session.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, client := range clients() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			tour(t, client)
		})
	}
}

// tour takes a program to all servers in turn.
func tour(t *testing.T, c client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := c.open(t)
	for _, server := range servers() {
		if server.era == c.era {
			t.Run(server.name, func(t *testing.T) { visit(ctx, t, c, p, server) })
		}
	}
	t.Run("the tools change", func(t *testing.T) { toolsChange(ctx, t, p) })
	if c.era == testkit.Modern { // without sessions, and without a stream unless it asks for one
		return
	}
	t.Run("Go SDK restarted", func(t *testing.T) { restart(ctx, t, p, goSDKHandler(t), goSDKHandler(t)) })
	t.Run("mcp-go restarted", func(t *testing.T) { restart(ctx, t, p, mcpGoHandler(t), mcpGoHandler(t)) })
	t.Run("the server is away", func(t *testing.T) { serverAway(ctx, t, p) })
}

// The reference server runs as one process for all clients, which another one then replaces. This is a sample: every
// other client.
func TestEverything(t *testing.T) {
	t.Parallel()
	testEverything(t)
}

// The remaining clients.
func TestLongEverything(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testEverything(t)
}

func testEverything(t *testing.T) {
	t.Helper()
	url, next := sdk.Everything(t), sdk.Everything(t)
	everything := server{
		"server-everything", testkit.Legacy, at(func(testing.TB) string { return url }), everythingSteps(),
	}
	for i, client := range clients() {
		if !testkit.Sampled(t, i, 2) {
			continue
		}
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			program := client.open(t)
			visit(ctx, t, client, program, everything.forClient(client))
			restart(ctx, t, program, proxyTo(t, url), proxyTo(t, next))
		})
	}
	t.Run("negotiation", func(t *testing.T) {
		t.Parallel()
		negotiate(t, everything)
	})
}

// visit takes all steps with a server behind its own gateway.
func visit(ctx context.Context, t *testing.T, c client, p program, s server) {
	t.Helper()
	f := s.front(t)
	if err := p.connect(ctx, f.url, f.header); err != nil {
		t.Fatalf("connect: %v", err)
	}
	for _, step := range s.steps {
		if step.era == "" || step.era == c.era.Version() {
			take(ctx, t, p, step)
		}
	}
}

// take takes a step, and returns the result.
func take(ctx context.Context, t *testing.T, p program, s step) json.RawMessage {
	t.Helper()
	var result json.RawMessage
	var err error
	switch {
	case s.method == subscribe:
		err = p.subscribe(ctx, s.params)
	case s.method != "":
		result, err = p.request(ctx, s.method, s.params)
	default:
		result, err = p.call(ctx, s.tool, s.arguments, 0)
	}
	text := string(result)
	switch {
	case s.code != "" && (err != nil || s.kind == ""):
		if got := thrownBy(err).Code; err == nil || got != s.code {
			t.Errorf("%s: %v %s, want code %s", s.name(), err, result, s.code)
			return result
		}
		text = err.Error()
	case err != nil:
		t.Errorf("%s: %v", s.name(), err)
		return result
	default:
		s.checkTold(t, result)
	}
	for _, part := range s.want {
		if !strings.Contains(text, part) {
			t.Errorf("%s: no %q in %s", s.name(), part, text)
		}
	}
	for _, secret := range faults.Secrets() {
		if strings.Contains(text, secret) {
			t.Errorf("%s: %q reaches the program: %s", s.name(), secret, text)
		}
	}
	if s.heard != "" {
		await(ctx, t, p, s.heard)
	}
	return result
}

// checkTold checks the failure that a result reports.
func (s step) checkTold(t *testing.T, raw json.RawMessage) {
	t.Helper()
	told := toldRecord(t, raw)
	if told.Kind != s.kind {
		t.Errorf("%s: got kind %q, want %q: %s", s.name(), told.Kind, s.kind, raw)
	}
	if s.origin != "" && (told.Origin != s.origin || told.Effect != s.effect) {
		t.Errorf("%s: origin %s, effect %s, want %s, %s: %s", s.name(), told.Origin, told.Effect, s.origin, s.effect, raw)
	}
}

// toldRecord returns the record of the failure that a result reports; it is empty for a success.
func toldRecord(t *testing.T, raw json.RawMessage) *recourse.Error {
	t.Helper()
	record := new(recourse.Error)
	var result testkit.ToolResult
	if raw == nil || json.Unmarshal(raw, &result) != nil || !result.IsError {
		return record // results of other methods may have members with these names
	}
	if err := json.Unmarshal(result.Meta[recourse.MetaKey], record); err != nil {
		t.Errorf("no record in _meta: %v: %s", err, raw)
	}
	return record
}

// await waits until the program has received a notification. A TypeScript program passes notifications on with its next
// answer.
func await(ctx context.Context, t *testing.T, p program, notification string) {
	t.Helper()
	method, part, _ := strings.Cut(notification, " ")
	for !contains(p.heard(), method, part) {
		if _, err := p.request(ctx, "tools/list", ""); err != nil {
			t.Fatalf("waiting for %s: %v; heard %q", notification, err, p.heard())
		}
	}
}
