package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// codeURLElicitation is the code, in JSON, of an error that is not a failure.
var codeURLElicitation = strconv.Itoa(wire.CodeURLElicitation)

// emptyResult replaces a result that is dropped.
var emptyResult = json.Value("{}")

// kindSign occurs in every result whose kind says that it is a failure.
var kindSign = []byte(`toolError:v1`)

// judge finds out whether the current answer is a failure. It returns nil for a success, which is not
// examined any further.
func (c *call) judge(text []byte) *failure {
	reading, original, ok := c.reading(text)
	if !ok {
		return nil
	}
	e := reading.Error()
	if e == nil { // a question of the server's
		return nil
	}
	e = c.caused(e, text)
	own := reading.Contract == nil && c.forProgram(e) || !c.req.isCall()
	if original == nil && own && isRPCError(c.in.signs.Error.Of(text)) {
		return c.rpcFailure(cmp.Or(c.protocolStatus(e.Kind), http.StatusOK), text, e)
	}
	if original != nil && c.in.cut != "" { // half a result would add nothing to the failure's text
		original = emptyResult
	}
	c.out.reason = "the server answered: whether to call again is up to the caller"
	return &failure{e: e, original: original, from: reading.Contract}
}

// rpcFailure is a JSON-RPC error that is passed on under the server's own code, as scanned in text.
func (c *call) rpcFailure(status int, text []byte, e *recourse.Error) *failure {
	signs := c.in.signs
	return &failure{e: e, status: status, text: text, id: signs.IDAt, rpc: signs.Error, cut: c.in.cut != ""}
}

// forProgram reports whether a JSON-RPC error is meant for the client's program rather than for its model: it
// is about the message itself, about a method other than a call, or about the state with which a call
// continues (MCP 2026-07-28, multi round-trip requests).
func (c *call) forProgram(e *recourse.Error) bool {
	return isProtocol(e) || !c.req.isCall() ||
		json.Lookup(c.req.msg.Params, "/"+wire.RequestState) != nil || json.Lookup(c.req.msg.Params, "/"+wire.InputResponses) != nil
}

// isRPCError reports whether raw is a JSON-RPC error that clients can read.
func isRPCError(raw json.Value) bool {
	return json.Lookup(raw, "/code").Kind() == '0' && json.Lookup(raw, "/message").Kind() == '"'
}

// reading reads the failure in an answer. The original is the answer's result, masked.
func (c *call) reading(text []byte) (reading contract.Reading, original json.Value, ok bool) {
	// The masker is created for the first failure: a success needs none.
	return c.read(text, c.in.signs, func(raw []byte) []byte { return c.masker().JSON(raw) })
}

// read does the reading. Texts are masked by mask.
func (c *call) read(text []byte, signs *wire.Signs, mask func([]byte) []byte) (reading contract.Reading, original json.Value, ok bool) {
	reader := *c.to.reader()
	reader.Cut = c.in.cut
	if !signs.Error.IsZero() {
		raw := signs.Error.Of(text)
		if string(json.Lookup(raw, "/code")) == codeURLElicitation {
			return reading, nil, false
		}
		return reader.RPC(mask(raw)), nil, true
	}
	if !c.req.isCall() {
		return reading, nil, false
	}
	result := signs.Result.Of(text)
	if json.Value(result).Kind() != '{' { // not a tool's result
		return c.unreadable(), nil, true
	}
	if !c.suspicious(text, signs) {
		return reading, nil, false
	}
	original = mask(result)
	reading, ok = reader.Result(original)
	if !ok && (signs.IsError || signs.OddError) { // marked twice, or in a form of its own
		original = append(bytes.TrimRight(original, " \t\r\n}"), `,"isError":true}`...)
		if reading, ok = reader.Result(original); !ok {
			return c.unreadable(), nil, true
		}
	}
	return reading, original, ok
}

// suspicious reports whether a result shows any sign of a failure.
func (c *call) suspicious(text []byte, signs *wire.Signs) bool {
	return signs.IsError || signs.OddError || signs.Record || !signs.ResultError.IsZero() ||
		c.to.weak != nil || len(c.to.families) > 0 || bytes.Contains(text, kindSign)
}

// caused returns e with the server's words as its cause, unless it has one.
func (c *call) caused(e *recourse.Error, text []byte) *recourse.Error {
	if e == nil || e.Cause() != nil {
		return e
	}
	signs := c.in.signs
	raw := signs.Result.Of(text)
	if !signs.Error.IsZero() {
		raw = signs.Error.Of(text)
	}
	return e.CausedBy(errors.New(observe.Said(raw)))
}

// late logs a failure that was found after the window, when it could no longer be rewritten.
func (c *call) late() {
	signs := c.in.signs
	if !signs.IsError && signs.Error.IsZero() && signs.ResultError.IsZero() {
		return
	}
	e := recourse.New(recourse.KindUnknown, "").WithOrigin(recourse.OriginServer)
	c.record(e.WithEffect(c.effect(e)), "failure beyond the decision window: not rewritten")
}

// unreadable is the reading of an answer that is marked as a failure but cannot be read or masked: nothing of
// it may be passed on.
func (c *call) unreadable() contract.Reading {
	return contract.Reading{Sign: "isError", Failure: recourse.BadResponse(c.to.Title).WithOrigin(recourse.OriginServer)}
}
