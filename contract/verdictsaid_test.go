package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/retry"
)

// So it is with whatever a server says, in each way in which it can: with what is known of the call, from tools that read
// and that write.
func TestOneVerdictOfServers(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				reader := &contract.Reader{Contracts: append([]*contract.Contract{c}, contract.Builtin().All()...), Own: c, Provider: "Farm"}
				said := saidByServers(c).Draw(t, "said")
				reading, ok := said.read(reader)
				if !ok || reading.Error() == nil || said.own && reading.Contract != c {
					return // what is in no form is told as it is
				}
				failed := failedCalls(c).Draw(t, "failed")
				call := failed.Describe(contract.AtTool)
				call.Relay.OriginalContract, call.Relay.OriginalAt, call.Relay.Original = reading.Contract, said.at, said.raw
				call.HTTP = true
				agrees(t, c.Write(failed.Settle(reading.Error()), call))
			})
		})
	}
}

// A stated is what a server answers to a call.
type stated struct {
	at     contract.Surface
	raw    json.RawMessage
	status int
	header http.Header
	own    bool // in the contract's form
}

func (s stated) read(r *contract.Reader) (contract.Reading, bool) {
	switch s.at {
	case contract.SurfaceHTTP:
		return r.HTTP(s.status, s.header, s.raw), true
	case contract.SurfaceRPC:
		return r.RPC(s.raw), true
	default:
		return r.Result(s.raw)
	}
}

func failedCalls(c *contract.Contract) *rapid.Generator[*toolcall.Call] {
	return rapid.Custom(func(t *rapid.T) *toolcall.Call {
		return &toolcall.Call{
			ID: "req-1", Method: "tools/call", Contract: c, Masker: func() *redact.Masker { return redact.New(redact.Off) }, Ran: true, Relays: true,
			Name:    rapid.SampledFrom([]string{"create-sales-order", "study_create", "get-orders", "search_patterns"}).Draw(t, "tool"),
			Nature:  rapid.SampledFrom([]retry.Nature{retry.Reads, retry.Writes, retry.Idempotent}).Draw(t, "nature"),
			Assumed: rapid.Bool().Draw(t, "assumed"), Doubt: rapid.Bool().Draw(t, "doubt"),
			Reads: func(string, *toolcall.Entry) bool { return false },
		}
	})
}

func saidByServers(c *contract.Contract) *rapid.Generator[stated] {
	return rapid.Custom(func(t *rapid.T) stated {
		switch rapid.SampledFrom([]string{"own", "own", "text", "rpc", "http"}).Draw(t, "way") {
		case "own":
			return stated{raw: ownForm(t, c), own: true}
		case "text":
			return stated{raw: json.RawMessage(`{"content":[{"type":"text","text":` + quoted(sentences.Draw(t, "text")) + `}],"isError":true}`)}
		case "rpc":
			code := rapid.SampledFrom([]int{-32602, -32603, -32000, 2001, 3500, 5999, 429}).Draw(t, "code")
			return stated{at: contract.SurfaceRPC, raw: fmt.Appendf(nil, `{"code":%d,"message":%s,"data":%s}`, code, quoted(sentences.Draw(t, "message")), bodies.Draw(t, "data"))}
		default:
			header := http.Header{"Content-Type": {"application/json"}}
			if rapid.Bool().Draw(t, "waits") {
				header.Set("Retry-After", "12")
			}
			status := rapid.SampledFrom([]int{400, 401, 402, 403, 404, 408, 409, 410, 412, 418, 422, 429, 500, 501, 502, 503, 504}).Draw(t, "status")
			return stated{at: contract.SurfaceHTTP, raw: json.RawMessage(bodies.Draw(t, "body")), status: status, header: header}
		}
	})
}

// ownForm returns a failure in the form of c, with one boolean or the other, and without the record.
func ownForm(t *rapid.T, c *contract.Contract) json.RawMessage {
	call := verdictCalls().Draw(t, "call")
	call.Method, call.Status, call.HTTP = "tools/call", 0, false
	e := verdictRecords().Draw(t, "record")
	if code := rapid.SampledFrom([]string{"", "", "3500", "5999", "2500", "4001", "MINE", "study_locked"}).Draw(t, "code"); code != "" {
		e = e.WithCode(c.Name, code)
	}
	result := string(c.Write(e, &call).Result)
	if result == "" {
		return json.RawMessage(`{"isError":true}`)
	}
	if at := strings.LastIndex(result, `,"_meta":{`); at > 0 {
		result = result[:at] + "}"
	}
	to := rapid.SampledFrom([]string{"", "true", "false"}).Draw(t, "boolean")
	for _, of := range []string{"true", "false"} {
		if to != "" {
			result = strings.ReplaceAll(result, `retryable":`+of, `retryable":`+to)
			result = strings.ReplaceAll(result, `retryable\":`+of, `retryable\":`+to)
			result = strings.ReplaceAll(result, `retryable\": `+of, `retryable\": `+to)
		}
	}
	return json.RawMessage(result)
}

var sentences = rapid.SampledFrom([]string{
	"Late.", "[timeout] late", "[forbidden] No.", "[server_error] Oops", "Error: [rate_limited] slow", "Order not found: 7", "No space left on device",
	"Missing API key: set FOO_API_KEY", "Network error: late", "Authentication required: no", "request context is unavailable", "Rate limit exceeded, retry after 9000ms",
	"Internal server error: boom", "read ECONNRESET", "HTTP 503 Service Unavailable", "Permission denied",
})

var bodies = rapid.SampledFrom([]string{
	`{}`, `{"message":"You have 3 credits left."}`, `{"error":{"message":"Not yours.","code":"nope"}}`, `{"error_code":"forbidden","message":"Not yours."}`,
	`{"error_code":"rate_limited","message":"Slow."}`, `{"error_code":"study_locked","message":"Locked.","suggestions":["wait"]}`,
	`{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Slow.","retryable":false,"details":{"statusCode":429,"retryAfter":7}}`,
	`{"code":3500,"message":"Odd.","retryable":true}`, `{"message":"[timeout] late","retryable":false}`, `{"message":"Late.","retryable":true,"retryAfter":5}`,
	`{"type":"about:blank","title":"unauthorized","detail":"unauthorized"}`,
})

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
