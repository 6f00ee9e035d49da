package contract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// Other members of a server's failure stay in the answer.
func TestKeep(t *testing.T) {
	t.Parallel()
	const failure = `{"type":"text","text":"it broke"}`
	const ours = `{"type":"text","text":"[unknown] it broke"}`
	const record = `{"v":1,"kind":"unknown","code":"unknown","contract":"recourse","message":"it broke","retry":"re_read","origin":"server"}`
	const failed = `"isError":true`
	const meta = `"io.github.recoursehq/error":` + record
	long := `{"rows":"` + strings.Repeat("x", recourse.MaxJSON) + `"}`
	tests := map[string]struct{ original, want string }{
		"its own structuredContent and _meta": {
			`{"content":[` + failure + `],"structuredContent":{"rows": []},"isError":true,"_meta":{"trace": "t-1"}}`,
			`{"content":[` + ours + `],` + failed + `,"_meta":{"trace":"t-1",` +
				strings.ReplaceAll(meta, `"origin":"server"`, `"origin":"server","details":{"structuredContent":{"rows":[]}}`) + `}}`,
		},
		"a structuredContent that is too long for the record": {
			`{"content":[` + failure + `],"structuredContent":` + long + `,"isError":true}`,
			`{"content":[` + ours + `],` + failed + `,"_meta":{"io.github.recoursehq/structuredContent":` + long + `,` + meta + `}}`,
		},
		"more blocks, and unknown members": {
			`{"x":[1, 2],"content":[{"type":"image","data":""},` + failure + `,{"type":"text","text":"see above"}],"isError":true}`,
			`{"content":[` + ours + `,{"type":"image","data":""},{"type":"text","text":"see above"}],` + failed + `,"x":[1,2],"_meta":{` + meta + `}}`,
		},
		"duplicate members: only the last is kept": {
			`{"isError":false,"content":[],"x":1,"content":[` + failure + `],"x":{"y":2},"isError":true,"_meta":{"a":1,"b":2,"a":3}}`,
			`{"content":[` + ours + `],` + failed + `,"x":{"y":2},"_meta":{"a":3,"b":2,` + meta + `}}`,
		},
		"content as an object, _meta as a list": {
			`{"content":"it broke","isError":true,"_meta":[1]}`,
			strings.ReplaceAll(`{"content":[`+ours+`],`+failed+`,"_meta":{`+meta+`}}`, "it broke", "An unknown error occurred."),
		},
		"the failure as structuredContent": {
			`{"content":[` + failure + `],"structuredContent":{"kind":"toolError:v1","code":"E1","message":"it broke"},"isError":true}`,
			strings.NewReplacer("re_read", "never", `"origin":"server"`, `"origin":"server","upstream":{"code":"E1"}`).
				Replace(`{"content":[` + ours + `],` + failed + `,"_meta":{` + meta + `}}`),
		},
		"an error object": {
			`{"error":{"code":1,"message":"it broke"},"resultType":"complete"}`,
			strings.ReplaceAll(`{"content":[`+ours+`],`+failed+`,"_meta":{`+meta+`}}`, `"origin":"server"`, `"origin":"server","upstream":{"code":"1"}`),
		},
		"invalid UTF-8": {
			"{\"content\":[" + failure + "],\"isError\":true,\"x\":\"\xff\"}",
			`{"content":[` + ours + `],` + failed + `,"x":"` + "\uFFFD" + `","_meta":{` + meta + `}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := contract.Reader{Contracts: contract.Builtin().All()}
			reading, ok := r.Result([]byte(tt.original))
			if !ok {
				t.Fatal("not read as a failure")
			}
			call := contracttest.ToolCall()
			call.Relay.Original, call.Relay.OriginalContract = []byte(tt.original), reading.Contract
			a := contract.MustBuiltin("recourse").Write(reading.Error(), &call)
			if diff := cmp.Diff(tt.want, string(a.Result)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// A failure read in one contract and written in another keeps no trace of the first.
func TestKeepNothingOfAnotherContract(t *testing.T) {
	t.Parallel()
	for _, from := range contracttest.Every(t) {
		for _, to := range contracttest.Every(t) {
			if from.Name == to.Name {
				continue
			}
			call := contracttest.ToolCall()
			call.FormatArgument, call.Arguments = true, []byte(`{"format":"both"}`)
			original := contracttest.WithoutMeta(t, from.Write(recourse.Unavailable("Farm").WithOrigin(recourse.OriginServer), &call))
			r := contract.Reader{Contracts: []*contract.Contract{from}, Weak: from}
			reading, ok := r.Result(original.Result)
			if !ok {
				t.Fatalf("%s: not read: %s", from.Name, original.Result)
			}
			// What the record does not carry is written as for a new failure.
			call.Relay.Original, call.Relay.OriginalContract = original.Result, reading.Contract
			got := to.Write(reading.Error(), &call)
			call.Relay.Original = nil
			want := to.Write(reading.Error(), &call)
			if diff := cmp.Diff(string(want.Result), string(got.Result)); diff != "" {
				t.Errorf("%s to %s:\n%s", from.Name, to.Name, diff)
			}
		}
	}
}

// A result has the members that its era requires, and only what the tool's schema allows.
func TestResultMembers(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("recourse")
	call := contracttest.ToolCall()
	call.ResultType, call.OutputSchema = true, true
	got := string(c.Write(recourse.Cancelled(), &call).Result)
	if !strings.Contains(got, `"isError":true,"resultType":"complete","_meta"`) || strings.Contains(got, "structuredContent") {
		t.Errorf("result %s", got)
	}
}

// What has another type than the contract's form says is no value of the record, and is kept among its details.
func TestMembersOfOtherTypesAreKept(t *testing.T) {
	t.Parallel()
	reader := contract.Reader{Contracts: []*contract.Contract{contract.MustBuiltin("fieldmcp")}}
	reading, ok := reader.Result([]byte(`{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"ORG_NOT_FOUND\",\"message\":7,` +
		`\"retryable\":\"no\",\"resourceId\":12,\"failed\":{},\"missingScopes\":[1]}"}],"isError":true}`))
	if !ok || reading.Error().Resource.ID != "12" {
		t.Fatalf("got %+v", reading)
	}
	for name, want := range map[string]string{"message": "7", "retryable": `"no"`, "failed": "{}", "missingScopes": "[1]"} {
		if got := string(reading.Error().Details[name]); got != want {
			t.Errorf("details.%s is %s, want %s", name, got, want)
		}
	}
}

// A failure in the contract's form behind the prefix of a runtime is that failure, with all its members.
func TestFormBehindAPrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"Error executing tool get_field: ", "Error calling tool 'get_field': ", "MCP error -32603: Error executing tool f: "} {
		for name, tt := range map[string]struct{ text, want string }{
			"fieldmcp": {
				`{"error":true,"code":"FIELD_NOT_FOUND","message":"No.","retryable":false,"suggestedAction":"Look.","own":{"a":1}}`,
				`{"error":true,"code":"FIELD_NOT_FOUND","message":"No.","retryable":false,"suggestedAction":"Look.","own":{"a":1}}`,
			},
			"studies": {
				`[not_found] No. Suggestions: Look [envelope] {"error_kind":"not_found","own":[1]}`,
				`[not_found] No. Suggestions: Look [envelope] {"error_kind":"not_found","own":[1]}`,
			},
			"commerce": {
				`{"code":4002,"message":"Down.","retryable":true,"own":1,"details":{"reason":"unavailable","suggestion":"Wait."}}`,
				`{"code":4002,"message":"Down.","retryable":true,"own":1,"details":{"reason":"unavailable","suggestion":"Wait."}}`,
			},
		} {
			c := contract.MustBuiltin(name)
			r := contract.Reader{Contracts: []*contract.Contract{c}, Own: c, Trusted: true}
			original := []byte(`{"content":[{"type":"text","text":` + string(json.AppendQuote(nil, prefix+tt.text)) + `}],"isError":true}`)
			reading, ok := r.Result(original)
			if !ok || reading.Contract != c {
				t.Fatalf("%s%s: read as %+v", prefix, tt.text, reading)
			}
			call := contracttest.ToolCall()
			call.Relay.Original, call.Relay.OriginalContract = original, reading.Contract
			result := c.Write(reading.Error(), &call).Result
			got, _ := json.TextOf(json.Lookup(json.Value(result), "/content/0/text"))
			if got != tt.want {
				t.Errorf("%s%s: got\n%s\nwant\n%s", prefix, tt.text, got, tt.want)
			}
		}
	}
}

// An object with every member of the contract's form is a failure in that form, whatever its code.
func TestCodeOutsideAllRanges(t *testing.T) {
	t.Parallel()
	const object = `{"code":7000,"message":"m","retryable":false,"own":1,"details":{"reason":"r","suggestion":"Look here.","context":{"a":1}}}`
	const original = `{"content":[{"type":"text","text":"m"}],"error":` + object + `,"isError":true}`
	c := contract.MustBuiltin("commerce")
	r := contract.Reader{Contracts: []*contract.Contract{c}, Own: c}
	reading, ok := r.Result([]byte(original))
	if !ok || reading.Contract != c || reading.Error().Code != "7000" {
		t.Fatalf("read as %+v", reading)
	}
	call := contracttest.ToolCall()
	call.Relay.Original, call.Relay.OriginalContract = []byte(original), reading.Contract
	result := json.Value(c.Write(reading.Error(), &call).Result)
	if got := json.Lookup(result, "/error"); !strings.Contains(string(got), `"code":7000`) || !strings.Contains(string(got), `"own":1`) ||
		!strings.Contains(string(got), `"context":{"a":1}`) {
		t.Errorf("got %s", got)
	}
}
