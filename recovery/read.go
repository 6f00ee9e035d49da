package recovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
)

// read returns an attempt's failure, or nil. lost reports whether it failed on the way to the server, so that other calls
// would fail, too.
func (x *errand) read(result json.RawMessage, err error, said *httpAnswer) (failure recourse.Failure, lost bool) {
	x.told = true
	if err == nil {
		reading, failed := x.reader.Result(result)
		if !failed {
			return nil, false
		}
		return reading.Failure, false
	}
	if answer := said.get(); answer != nil {
		return x.reader.HTTP(answer.status, answer.header, answer.body).Failure, isGatewayStatus(answer.status)
	}
	if raw := rpcError(err); raw != nil {
		return caused(x.reader.RPC(raw).Failure, err), false
	}
	if f, ok := errors.AsType[recourse.Failure](err); ok {
		x.told = false
		return f, false
	}
	if raw := rpcText(err); raw != nil {
		return caused(x.reader.RPC(raw).Failure, err), false
	}
	e := recourse.From(err)
	switch x.told = e.Kind == recourse.KindInternal; {
	case e.Kind == recourse.KindCancelled && x.ctx.Err() == nil: // by somebody else
		return e, false
	case e.Kind == recourse.KindInternal:
		// The SDK's own words. It may or may not have sent the call.
		if reading, ok := x.reader.Result(asResult(err)); ok && reading.Error() != nil && reading.Error().Kind != recourse.KindUnknown {
			return caused(reading.Failure, err), false
		}
		return recourse.New(recourse.KindUnreachable, "").CausedBy(err), true
	case e.Kind == recourse.KindTimeout:
		return e, x.ctx.Err() == nil // that the call's time is over says nothing about the server
	}
	return e, e.Kind == recourse.KindUnreachable
}

// isGatewayStatus reports whether a status means that the server was not reached.
func isGatewayStatus(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

func caused(f recourse.Failure, err error) recourse.Failure {
	if e, ok := f.(*recourse.Error); ok {
		return e.CausedBy(err)
	}
	return f
}

// rpcError returns the JSON-RPC error in the chain of an SDK's error, or nil. SDKs have their own types for it, but the
// protocol's JSON.
func rpcError(err error) json.RawMessage {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, inner := range joined.Unwrap() {
				if raw := rpcError(inner); raw != nil {
					return raw
				}
			}
			return nil
		}
		raw, failed := json.Marshal(err)
		if failed != nil {
			continue
		}
		code, message := lookup(raw, "/code"), textOf(lookup(raw, "/message"))
		if internaljson.Value(code).Kind() == '0' && message != "" && !isRejected(code, message) {
			return raw
		}
	}
	return nil
}

// isRejected reports whether the Go SDK made a JSON-RPC error itself, for a request that failed on the way: then the cause
// is beside it.
func isRejected(code json.RawMessage, message string) bool {
	return string(code) == "-32005" && message == "rejected by transport"
}

// rpcTexts are how mcp-go begins the text of a JSON-RPC error; it keeps only the message.
var rpcTexts = map[string]int{
	"parse error": -32700, "invalid request": -32600, "method not found": -32601, "invalid params": -32602, "internal error": -32603,
}

// rpcText returns the JSON-RPC error described by the text of an SDK's error, or nil.
func rpcText(err error) json.RawMessage {
	word, message, _ := strings.Cut(err.Error(), ": ")
	code, ok := rpcTexts[word]
	if !ok {
		return nil
	}
	text := internaljson.AppendQuote(nil, strings.ToValidUTF8(cmp.Or(message, word), "?"))
	return fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, text)
}

// asResult returns the text of an error as a result that holds it.
func asResult(err error) json.RawMessage {
	text := internaljson.AppendQuote(nil, strings.ToValidUTF8(err.Error(), "?"))
	return fmt.Appendf(nil, `{"isError":true,"content":[{"type":"text","text":%s}]}`, text)
}

// withFormat asks for failures in machine-readable form, if the tool has an argument for it and the caller has not set it.
func (g *engine) withFormat(tool string, arguments json.RawMessage) json.RawMessage {
	name := g.contract.FormatArgument()
	if name == "" || member(lookup(g.options.tools[tool].InputSchema, "/properties"), name) == nil || member(arguments, name) != nil {
		return arguments
	}
	return withMembers(arguments, map[string]any{name: "json"})
}
