package e2e_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// patience is the time limit of a whole scene.
const patience = 50 * time.Second

// A scene is a client's program, the gateway, and a server that fails on request.
type scene struct {
	client   client
	contract string
	program  program
	front    *front
	server   *testkit.Server
	headers  map[string]string // with which the program connects
}

// requestID matches the gateway's request ids.
var requestID = regexp.MustCompile(`req-[0-9a-f]+`)

// Every failure for every client, all in one session, so that each failure shows that the client has survived the one
// before. This is a sample: each client with one of the two contracts.
func TestFailures(t *testing.T) {
	t.Parallel()
	testFailures(t)
}

// The remaining combinations.
func TestLongFailures(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testFailures(t)
}

func testFailures(t *testing.T) {
	t.Helper()
	for row, client := range clients() {
		for column, contract := range []string{"recourse", "fieldmcp"} {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run(client.name+"/"+contract, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s := &scene{client: client, contract: contract, program: client.open(t)}
				s.server = testkit.NewServer(t, testkit.WithTools(serverTools()...))
				for _, forward := range []bool{false, true} {
					s.open(ctx, t, forward)
					for _, f := range failures() {
						if f.forward == forward {
							t.Run(f.name, func(t *testing.T) { s.play(ctx, t, f) })
						}
					}
				}
			})
		}
	}
}

// open connects the program to its own gateway.
func (s *scene) open(ctx context.Context, t *testing.T, forward bool) {
	t.Helper()
	keys := append(gatewayKeys(), "contract: "+s.contract)
	s.headers = nil
	if forward {
		keys = append(keys, "forward: [authorization]")
		s.headers = map[string]string{"Authorization": "Bearer t0ken"}
	}
	s.front = start(t, s.server.URL(), keys...)
	if err := s.program.connect(ctx, s.front.url, s.headers); err != nil {
		t.Fatalf("connect: %v", err)
	}
	if _, err := s.program.request(ctx, "tools/list", ""); err != nil { // the SDKs learn output schemas from the list
		t.Fatalf("tools/list: %v", err)
	}
}

// play provokes a failure, checks what the program gets, and checks that the program can continue.
func (s *scene) play(ctx context.Context, t *testing.T, f failure) {
	t.Helper()
	if f.tool == "" {
		f.tool, f.arguments = testkit.GetField, `{"field_id":"F-1"}`
	}
	cancellations := s.server.Cancellations(f.tool)
	if f.begin != nil {
		if err := f.begin(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	var result json.RawMessage
	var err error
	switch {
	case f.connects:
		if err = s.program.connect(ctx, s.front.url, s.headers); err == nil && f.told != nil {
			result, err = s.program.call(ctx, f.tool, f.arguments, f.patience)
		}
	case f.method != "":
		result, err = s.program.request(ctx, f.method, "")
	default:
		result, err = s.program.call(ctx, f.tool, f.arguments, f.patience)
	}
	s.server.Behave()
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	want, throws := f.thrown[s.client.name]
	switch {
	case throws:
		if err == nil {
			t.Errorf("got result %s, want error %s", result, want)
		} else if diff := cmp.Diff(want, thrownBy(err)); diff != "" {
			t.Errorf("thrown (-want +got):\n%s%v", diff, err)
		}
	case err != nil:
		t.Errorf("thrown: %v", err)
	case f.told != nil:
		s.checkTold(t, *f.told, result)
	case strings.Contains(string(result), `"isError":true`):
		t.Errorf("failed: %s", result)
	}
	s.checkSecrets(t, result, err)
	if f.patience > 0 {
		gone := func() bool { return s.server.Cancellations(f.tool) > cancellations }
		if err := s.server.Await(ctx, gone); err != nil {
			t.Errorf("no cancellation at the server: %v", err)
		}
	}
	if slices.Contains(f.lost, s.client.name) {
		if err := s.program.connect(ctx, s.front.url, s.headers); err != nil {
			t.Fatalf("connect again: %v", err)
		}
	}
	s.goOn(ctx, t)
}

// checkTold checks a tool result that reports a failure.
func (s *scene) checkTold(t *testing.T, want told, raw json.RawMessage) {
	t.Helper()
	var result testkit.ToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	if !result.IsError {
		t.Errorf("isError is not set: %s", raw)
	}
	record := new(recourse.Error)
	if err := json.Unmarshal(result.Meta[recourse.MetaKey], record); err != nil {
		t.Fatalf("no record in _meta: %v: %s", err, raw)
	}
	type facts struct {
		Kind     recourse.Kind
		Origin   recourse.Origin
		Effect   recourse.Effect
		Contract string
	}
	if diff := cmp.Diff(facts{want.kind, want.origin, want.effect, s.contract},
		facts{record.Kind, record.Origin, record.Effect, record.Contract}); diff != "" {
		t.Errorf("record (-want +got):\n%s%s", diff, raw)
	}
	if none := want.noStructure || s.contract == "recourse"; (len(result.StructuredContent) == 0) != none {
		t.Errorf("structuredContent: %s, want none: %v", result.StructuredContent, none)
	}
	if want.structure != "" {
		if diff := cmp.Diff(decoded(t, []byte(want.structure)), decoded(t, record.Details["structuredContent"])); diff != "" {
			t.Errorf("the server's structuredContent (-want +got):\n%s", diff)
		}
		if result.Meta["com.example/trace"] == nil {
			t.Errorf("no _meta of the server: %s", raw)
		}
	}
	if s.contract == "recourse" {
		checkRecourse(t, want, record, result)
	} else {
		checkFieldMCP(t, want, record, result)
	}
}

// checkRecourse checks the text in the form of contract recourse.
func checkRecourse(t *testing.T, want told, record *recourse.Error, result testkit.ToolResult) {
	t.Helper()
	if diff := cmp.Diff(want.text, requestID.ReplaceAllString(result.Text(), "REQUEST")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if record.RetryAfter != want.after {
		t.Errorf("wait %v, want %v", record.RetryAfter, want.after)
	}
}

// checkFieldMCP checks the object in the form of contract fieldmcp, which is both the text and the structure.
func checkFieldMCP(t *testing.T, want told, record *recourse.Error, result testkit.ToolResult) {
	t.Helper()
	type object struct {
		Error      bool   `json:"error"`
		Code       string `json:"code"`
		Message    string `json:"message"`
		Retryable  bool   `json:"retryable"`
		RetryAfter int    `json:"retryAfter"`
		RequestID  string `json:"requestId"`
	}
	var got object
	if err := json.Unmarshal([]byte(result.Text()), &got); err != nil {
		t.Fatalf("the text is not JSON: %v: %s", err, result.Text())
	}
	if diff := cmp.Diff(object{true, want.code, record.Message, want.retryable, want.retryAfter, record.RequestID}, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if !want.noStructure {
		if diff := cmp.Diff(decoded(t, []byte(result.Text())), decoded(t, result.StructuredContent)); diff != "" {
			t.Errorf("structuredContent is not the text (-text +structuredContent):\n%s", diff)
		}
	}
	if record.Verify != nil && !strings.Contains(result.Text(), record.Verify.Tool) {
		t.Errorf("the text does not say how to verify: %s", result.Text())
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("%v: %s", err, raw)
	}
	return v
}

// checkSecrets looks for secrets in what the program gets.
func (s *scene) checkSecrets(t *testing.T, result json.RawMessage, err error) {
	t.Helper()
	text := string(result)
	if err != nil {
		text += err.Error()
	}
	for _, secret := range append(faults.Secrets(), s.server.Addr()) {
		if strings.Contains(text, secret) {
			t.Errorf("%q reaches the program: %s", secret, text)
		}
	}
}

// goOn checks that the client can make another call.
func (s *scene) goOn(ctx context.Context, t *testing.T) {
	t.Helper()
	result, err := s.program.call(ctx, testkit.GetField, `{"field_id":"F-1"}`, 0)
	if err != nil || !strings.Contains(string(result), `"hectares"`) || strings.Contains(string(result), `"isError":true`) {
		t.Fatalf("the next call: %v %s", err, result)
	}
}
