package faults

import (
	"encoding/json"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Result answers with a result from the test: JSON, sent unchanged. The test adds the members of the modern
// era.
func Result(name, result string) testkit.Fault {
	return testkit.Fault{Name: name, Runs: true, Happen: func(e *testkit.Exchange) { e.Answer(result) }}
}

// Reply answers HTTP 200 with members from the test after jsonrpc and the request's id: `"result":{}`, for
// instance, or `"error":{"code":7},"x-invented":1`.
func Reply(name, member string) testkit.Fault {
	return testkit.Fault{Name: name, Runs: true, Happen: func(e *testkit.Exchange) {
		e.Send(protocol.Envelope(e.ID(), member))
	}}
}

// RPCError answers HTTP 200 with a JSON-RPC error; data is JSON, or empty.
func RPCError(name string, code int, text, data string) testkit.Fault {
	return testkit.Fault{Name: name, Runs: true, Happen: func(e *testkit.Exchange) {
		e.Send(protocol.Refusal(e.ID(), code, text, data))
	}}
}

// RetryableError answers with a JSON-RPC error -32603 whose data says that the same call may be repeated in
// 1.5 s.
func RetryableError() testkit.Fault {
	const code = -32603
	return RPCError("JSON-RPC error with retry data", code, "The provider is busy.",
		`{"retryable":true,"retryAfterMs":1500}`)
}

// LeakyToolError answers with a tool error whose text is a stack trace that contains all [Secrets].
func LeakyToolError() testkit.Fault { return ToolError("tool error with a stack trace", LeakText) }

// ToolError answers with a tool result with isError and a text.
func ToolError(name, text string) testkit.Fault {
	return testkit.Fault{Name: name, Runs: true, Happen: func(e *testkit.Exchange) { e.Answer(e.Result(protocol.ErrorResult(text))) }}
}

// The content of a [RichToolError] besides its text.
const (
	RichToolErrorStructure = `{"reason":"out_of_season","fields":[ "F-1", 2.0 ]}`
	RichToolErrorMeta      = `{"com.example/trace":{"span":"a1b2","big":12345678901234567890}}`
)

// RichToolError answers with a tool error with structuredContent and `_meta` of the server's own.
func RichToolError() testkit.Fault {
	return testkit.Fault{Name: "tool error with structuredContent and _meta", Runs: true, Happen: func(e *testkit.Exchange) {
		e.Answer(e.Result(`{"content":[{"type":"text","text":"The field lies fallow."}],"structuredContent":` +
			RichToolErrorStructure + `,"_meta":` + RichToolErrorMeta + `,"isError":true}`))
	}}
}

// IDLast answers successfully, with the members in the order that TypeScript servers write.
func IDLast() testkit.Fault {
	return testkit.Fault{Name: "id last", Runs: true, Happen: func(e *testkit.Exchange) {
		e.Send(idLast(e.PlainResult(), e.ID()))
	}}
}

// IsErrorLast answers with a tool error whose only sign is the last member of the message, after a text of 64
// KiB.
func IsErrorLast() testkit.Fault {
	const size = 64 << 10
	return testkit.Fault{Name: "isError last", Runs: true, Happen: func(e *testkit.Exchange) {
		e.Answer(e.Result(`{"content":[{"type":"text","text":"` + filler(size) + `"}],"isError":true}`))
	}}
}

func idLast(result string, id json.RawMessage) string {
	return `{"result":` + result + `,"jsonrpc":"2.0","id":` + string(id) + `}`
}

// SessionLost makes the server forget all current sessions and refuse the message, and all further ones, with
// 404; a new initialize works. In the modern era, which has no sessions, it is a plain 404.
func SessionLost() testkit.Fault {
	return testkit.Fault{Name: "404 session", Happen: func(e *testkit.Exchange) {
		e.Server().ForgetSessions()
		e.RefuseSession()
	}}
}

// RestartDuring restarts the server while it handles the message, which is never answered. [testkit.Server.Restarts]
// shows when the server is back.
func RestartDuring() testkit.Fault {
	return testkit.Fault{Name: "restart during the call", Runs: true, Happen: func(e *testkit.Exchange) {
		conn, err := e.Hijack()
		if err != nil {
			return
		}
		defer closeConn(conn)
		e.Server().RestartSoon()
		<-e.Context().Done()
	}}
}
