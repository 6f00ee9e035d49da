package testkit

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/testkit/protocol"
)

// A Fault is what goes wrong with one message. The zero Fault means that the server behaves.
type Fault struct {
	// Name is unique among [Faults].
	Name string
	// Runs says that a tool runs before the fault occurs, so that a write may have happened. If it is false
	// the server has refused the call.
	Runs bool

	headers []func(http.Header)
	happen  func(e *exchange)
}

// befall applies the fault to an exchange.
func (f Fault) befall(e *exchange) {
	for _, set := range f.headers {
		set(e.w.Header())
	}
	if f.happen == nil {
		e.behave()
		return
	}
	f.happen(e)
}

// Named returns the fault under another name.
func (f Fault) Named(name string) Fault {
	f.Name = name
	return f
}

// Running returns the fault with Runs set.
func (f Fault) Running(runs bool) Fault {
	f.Runs = runs
	return f
}

// Late returns the fault delayed by that time; it does not occur if the client goes or cancels before.
func (f Fault) Late(wait time.Duration) Fault {
	now := f
	f.headers = nil
	f.happen = func(e *exchange) {
		if Pause(e.ctx(), wait) {
			now.befall(e)
		}
	}
	return f
}

// With returns the fault with one more header. Faults that write below net/http, such as resets, send none.
func (f Fault) With(name, value string) Fault {
	return f.withHeader(func(h http.Header) { h.Set(name, value) })
}

// RetryIn returns the fault with a Retry-After header that is an HTTP date this far from the time of the
// answer.
func (f Fault) RetryIn(wait time.Duration) Fault {
	return f.withHeader(func(h http.Header) {
		h.Set("Retry-After", time.Now().Add(wait).UTC().Format(http.TimeFormat))
	})
}

func (f Fault) withHeader(set func(http.Header)) Fault {
	f.headers = append(slices.Clip(f.headers), set)
	return f
}

// Result answers with a result from the test: JSON, sent unchanged. The test adds the members of the modern
// era.
func Result(name, result string) Fault {
	return Fault{Name: name, Runs: true, happen: func(e *exchange) { e.answer(result) }}
}

// Reply answers HTTP 200 with members from the test after jsonrpc and the request's id: `"result":{}`, for
// instance, or `"error":{"code":7},"x-invented":1`.
func Reply(name, member string) Fault {
	return Fault{Name: name, Runs: true, happen: func(e *exchange) {
		e.send(e.server.form, protocol.Envelope(e.id, member))
	}}
}

// RPCError answers HTTP 200 with a JSON-RPC error; data is JSON, or empty.
func RPCError(name string, code int, text, data string) Fault {
	return Fault{Name: name, Runs: true, happen: func(e *exchange) {
		e.send(e.server.form, protocol.Refusal(e.id, code, text, data))
	}}
}

// RetryableError answers with a JSON-RPC error -32603 whose data says that the same call may be repeated in
// 1.5 s.
func RetryableError() Fault {
	const code = -32603
	return RPCError("JSON-RPC error with retry data", code, "The provider is busy.",
		`{"retryable":true,"retryAfterMs":1500}`)
}

// LeakyToolError answers with a tool error whose text is a stack trace that contains all [Secrets].
func LeakyToolError() Fault { return ToolError("tool error with a stack trace", LeakText) }

// ToolError answers with a tool result with isError and a text.
func ToolError(name, text string) Fault {
	return Fault{Name: name, Runs: true, happen: func(e *exchange) { e.answer(e.result(protocol.ErrorResult(text))) }}
}

// The content of a [RichToolError] besides its text.
const (
	RichToolErrorStructure = `{"reason":"out_of_season","fields":[ "F-1", 2.0 ]}`
	RichToolErrorMeta      = `{"com.example/trace":{"span":"a1b2","big":12345678901234567890}}`
)

// RichToolError answers with a tool error with structuredContent and `_meta` of the server's own.
func RichToolError() Fault {
	return Fault{Name: "tool error with structuredContent and _meta", Runs: true, happen: func(e *exchange) {
		e.answer(e.result(`{"content":[{"type":"text","text":"The field is closed."}],"structuredContent":` +
			RichToolErrorStructure + `,"_meta":` + RichToolErrorMeta + `,"isError":true}`))
	}}
}

// IDLast answers successfully, with the members in the order that TypeScript servers write.
func IDLast() Fault {
	return Fault{Name: "id last", Runs: true, happen: func(e *exchange) {
		e.send(e.server.form, idLast(e.plainResult(), e.id))
	}}
}

// IsErrorLast answers with a tool error whose only sign is the last member of the message, after a text of 64
// KiB.
func IsErrorLast() Fault {
	const size = 64 << 10
	return Fault{Name: "isError last", Runs: true, happen: func(e *exchange) {
		e.answer(e.result(`{"content":[{"type":"text","text":"` + filler(size) + `"}],"isError":true}`))
	}}
}

func idLast(result string, id json.RawMessage) string {
	return `{"result":` + result + `,"jsonrpc":"2.0","id":` + string(id) + `}`
}

// SessionLost makes the server forget all current sessions and refuse the message, and all further ones, with
// 404; a new initialize works. In the modern era, which has no sessions, it is a plain 404.
func SessionLost() Fault {
	return Fault{Name: "404 session", happen: func(e *exchange) {
		e.server.ForgetSessions()
		e.answered = true
		refuseSession(e.w, http.StatusNotFound)
	}}
}

// RestartDuring restarts the server while it handles the message, which is never answered. [Server.Restarts]
// shows when the server is back.
func RestartDuring() Fault {
	return Fault{Name: "restart during the call", Runs: true, happen: func(e *exchange) {
		conn, err := hijack(e.w, e.r)
		if err != nil {
			return
		}
		defer closeConn(conn)
		e.server.restartSoon()
		<-e.ctx().Done()
	}}
}
