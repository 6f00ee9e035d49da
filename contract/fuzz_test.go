package contract_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Any result of a server can be read; what is then written instead is JSON on one line, and is read as the same failure
// again.
func FuzzResult(f *testing.F) {
	call := contracttest.ToolCall()
	for _, c := range contracttest.Every(f) {
		f.Add([]byte(c.Write(recourse.Timeout("x", 0).WithDetail("a", 1), &call).Result))
	}
	f.Add([]byte(`{"content":[{"type":"text","text":"MCP error -32602: Tool x not found"}],"isError":true,"isError":false}`))
	f.Add([]byte(`{"content":7,"error":{"code":1,"message":"x"},"_meta":[],"structuredContent":{"kind":"needsInput:v1"}}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"kind\":\"toolError:v1\",\"message\":\"x\"}"}]}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"[no_audio_track] x Suggestions: a; b [envelope] {\"error_kind\":\"no_audio_track\",\"suggestions\":[\"a; b\"]}"}],"isError":true}`))
	f.Add([]byte(`{"content":[],"structuredContent":{"ok":false,"error_kind":"port_conflict","message":"x"}}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"Error executing tool x: Invalid ISO 8601 timestamp 'a'b'. Use formats like 2025-11-12T00:00:00Z."}],"isError":true}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"success\":false,\"error\":{\"code\":\"ORDER_NOT_FOUND\",\"details\":{\"orderId\":\"o\"}}}"}]}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"**Error:** Order not found: o"}],"isError":true}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"Invalid request: a Try again in 5 s. Try again in 12 s."}],"isError":true}`))
	contracts, commerce := contracttest.Every(f), contract.MustBuiltin("commerce")
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, weak := range []*contract.Contract{nil, commerce, contract.MustBuiltin("studies"), contracts[len(contracts)-1]} {
			r := contract.Reader{Contracts: contracts, Weak: weak}
			reading, ok := r.Result(raw)
			if !ok || reading.Error() == nil {
				continue
			}
			for _, c := range contracts {
				call := contracttest.ToolCall()
				call.Relay.Original, call.Relay.OriginalContract = raw, reading.Contract
				first := c.Write(reading.Error(), &call)
				if first.Surface != contract.SurfaceResult {
					continue
				}
				if !json.Valid(first.Result) || bytes.ContainsAny(first.Result, "\r\n") {
					t.Fatalf("%s: not JSON on one line: %s", c.Name, first.Result)
				}
				again := contracttest.ReadBack(t, c, first)
				if again.Kind != first.Record.Kind || again.Code != first.Record.Code {
					t.Fatalf("%s: %s %s is read as %s %s", c.Name, first.Record.Kind, first.Record.Code, again.Kind, again.Code)
				}
				call.Relay.Original, call.Relay.OriginalContract = first.Result, c
				second := c.Write(again, &call)
				third := c.Write(contracttest.ReadBack(t, c, second), &call)
				if diff := cmp.Diff(string(second.Result), string(third.Result)); diff != "" {
					t.Fatalf("%s: not stable (-second +third):\n%s", c.Name, diff)
				}
			}
		}
	})
}

func FuzzRPC(f *testing.F) {
	f.Add([]byte(`{"code":-32602,"message":"Invalid params: x","data":{"field":"a","error":{"code":2003,"message":"x","retryable":false}}}`))
	f.Add([]byte(`{"code":"x","message":{},"data":{"v":1,"kind":"timeout","failed":[{"id":"a","error":null}]}}`))
	f.Add([]byte(`{"code":2001,"message":"MCP error 2001: Validation failed for field a: b","data":{"retryable":false,"field":"a","value":{}}}`))
	contracts, commerce := contracttest.Every(f), contract.MustBuiltin("commerce")
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := contract.Reader{Contracts: contracts, Weak: commerce}
		e := r.RPC(raw).Error()
		if e == nil {
			t.Fatal("no record")
		}
		for _, c := range contracts {
			call := contract.Call{Method: "prompts/get", Now: contracttest.Present}
			if a := c.Write(e, &call); a.Surface == contract.SurfaceRPC && !json.Valid(contracttest.RPCText(a)) {
				t.Fatalf("%s: not JSON: %s", c.Name, contracttest.RPCText(a))
			}
		}
	})
}

func FuzzHTTP(f *testing.F) {
	call := contracttest.ToolCall()
	call.HTTP = true
	limited := contract.MustBuiltin("fieldmcp").Write(contracttest.Record(recourse.KindRateLimited).WithOrigin(recourse.OriginGateway), &call)
	f.Add(429, "application/json", "12", limited.Body)
	f.Add(404, "text/plain", "", []byte("session not found\n"))
	f.Add(401, "application/problem+json", "", []byte(`{"type":"about:blank","title":"unauthorized","detail":"unauthorized"}`))
	f.Add(500, "application/json", "-1", []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":[]}}`))
	f.Add(200, "", "", []byte(nil))
	contracts := contracttest.Every(f)
	f.Fuzz(func(t *testing.T, status int, media, after string, body []byte) {
		for _, weak := range []*contract.Contract{nil, contracts[len(contracts)-1]} {
			r := contract.Reader{Contracts: contracts, Weak: weak}
			e := r.HTTP(status, http.Header{"Content-Type": {media}, "Retry-After": {after}}, body).Error()
			if e == nil || e.RetryAfter < 0 || e.RetryAfter > recourse.MaxWait {
				t.Fatalf("record %v", e)
			}
		}
	})
}

// A contract file is either refused, with the positions of its mistakes, or makes a contract that can read, write and
// document.
func FuzzLoad(f *testing.F) {
	for _, src := range contracttest.Sources(f, "*.yaml", "testdata/lint/*.yaml", "../internal/test/contracttest/contracts/*.yaml") {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		c, err := contract.Builtin().Load("fuzz.yaml", []byte(src))
		if err != nil {
			return
		}
		for _, kind := range recourse.Kinds() {
			for _, call := range contracttest.Calls() {
				a := c.Write(contracttest.Record(kind), &call)
				if a.Surface == contract.SurfaceResult && !json.Valid(a.Result) {
					t.Fatalf("not JSON: %s", a.Result)
				}
				if e := contracttest.ReadBack(t, c, a); e.Kind == "" {
					t.Fatal("read without a kind")
				}
			}
		}
	})
}

// A template's line is read as the failure that it was made from, or as plain text; what is then written stays stable.
func FuzzTemplate(f *testing.F) {
	f.Add("[{code}] {message}", "Late: {message}", "it broke")
	f.Add("{message}", "No {violations.0.param|thing} in '{resource.id}'.", "a: b")
	f.Add("{{{code}}}: {message}", "{requestId}", "[A] x")
	f.Add("{code}{message", "}", "")
	f.Fuzz(func(t *testing.T, line, form, message string) {
		quote := func(text string) string { return string(jsonText(t, text)) }
		src := `{form: 1, name: fuzz, default: B, write: {text: ` + quote(line) + `}, codes: [` +
			`{code: A, kind: not_found, message: ` + quote(form) + `}, {code: B, kind: unknown, for: []}]}`
		c, err := contract.Builtin().Load("fuzz.yaml", []byte(src))
		if err != nil {
			return
		}
		call := contracttest.ToolCall()
		e := recourse.NotFound("field", message).WithMessage("%s", message).WithRequestID("req-1")
		first := c.Write(e, &call)
		if !json.Valid(first.Result) {
			t.Fatalf("not JSON: %s", first.Result)
		}
		second := contracttest.WithoutMeta(t, c.Write(contracttest.ReadBack(t, c, first), &call))
		if diff := cmp.Diff(string(contracttest.WithoutMeta(t, first).Result), string(second.Result)); diff != "" {
			t.Fatalf("not stable (-first +second):\n%s", diff)
		}
		if again := contracttest.ReadBack(t, c, second); again.Kind == "" {
			t.Fatal("read without a kind")
		}
	})
}

func jsonText(tb testing.TB, text string) []byte {
	tb.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return quoted
}

// Texts of any size are read: the package itself has no limit.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	testHostileSizes(t, 64<<10)
}

// 10 MB are read in time, too.
func TestLongHostileSizes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testHostileSizes(t, 1<<20)
}

func testHostileSizes(t *testing.T, size int) {
	t.Helper()
	fill := func(before, piece, behind string, size int) string {
		return before + strings.Repeat(piece, size/len(piece)) + behind
	}
	contracts := []*contract.Contract{contract.MustBuiltin("studies"), contract.MustBuiltin("terra")}
	for name, text := range map[string]string{
		"prefixes": fill("", "Error executing tool x: ", "fields or select are required", 2*size),
		"marks":    fill("[timeout] x", ` [envelope] {"a":1}`, "", 10*size),
		"nested":   fill(`[timeout] x [envelope] `, `{"a":`, "", 2*size),
		"hints":    fill("[timeout] x Suggestions: ", "a; ", "", 10*size),
		"members":  fill(`[no_audio_track] x [envelope] {"error_kind":"no_audio_track",`, `"a":1,`, `"b":2}`, 2*size),
		"halves":   fill("", "Invalid ISO 8601 timestamp '", "'. Use formats like 2025-11-12T00:00:00Z.", 2*size),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			call := contracttest.ToolCall()
			r := contract.Reader{Contracts: contracts}
			reading, ok := r.Result(textResult(t, text, true))
			if !ok || reading.Error() == nil {
				t.Fatal("not read as a failure")
			}
			contracts[0].Write(reading.Error(), &call)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

// Reading time is proportional to the length of a text, even of a hostile one.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	testHostileTexts(t, 32<<10)
}

// The same with as much text as the gateway reads.
func TestLongHostileTexts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testHostileTexts(t, 256<<10)
}

func testHostileTexts(t *testing.T, size int) {
	t.Helper()
	texts := map[string]string{
		"wraps":    strings.Repeat("MCP error -32602: ", size/18),
		"prefixes": strings.Repeat("**Error:** ", size/11),
		"brackets": strings.Repeat("[timeout] ", size/10),
		"marks":    "[timeout] " + strings.Repeat(" [envelope] {", size/13),
		"hints":    "[timeout] x Suggestions: " + strings.Repeat("; ", size/2),
		"braces":   strings.Repeat(`{"a":`, size/5),
		"lists":    strings.Repeat(`[`, size),
		"issues":   "Input validation error: Invalid arguments for tool x: " + strings.Repeat("a: A, ", size/6),
		"schemas":  `validating "arguments": ` + strings.Repeat("validating root: ", size/17),
		"pydantic": "1 validation error for x\n" + strings.Repeat("a\n  b [type=c]\n", size/15),
		"sentence": strings.Repeat("Invalid ISO 8601 timestamp '", size/28) + strings.Repeat("'. Use formats like 2025-11-12T00:00:00Z.", size/40),
		"members":  `{"code":1,"message":"x",` + strings.Repeat(`"a":1,`, size/6) + `"b":2}`,
		"quotes":   strings.Repeat(`"`, size),
	}
	contracts := contracttest.Every(t)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, weak := range []*contract.Contract{nil, contracts[len(contracts)-1]} {
				start := time.Now()
				r := contract.Reader{Contracts: contracts, Weak: weak}
				quoted, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := r.Result([]byte(`{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true}`)); !ok {
					t.Error("not read as a failure")
				}
				r.Result([]byte(text))
				r.RPC([]byte(text))
				r.HTTP(http.StatusNotFound, http.Header{"Content-Type": {"application/json"}}, []byte(text))
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("took %s", took)
				}
			}
		})
	}
}
