package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
	"github.com/recoursehq/recourse/internal/wire"
)

// codeURLElicitation is the code, in JSON, of an error that is not a failure.
var codeURLElicitation = strconv.Itoa(wire.CodeURLElicitation)

// emptyResult replaces a result that is dropped.
var emptyResult = json.Value("{}")

// Kinds that occur in every result that says by its kind that it is a failure, or a question.
var (
	kindFailure  = []byte(`toolError:v1`)
	kindQuestion = []byte(`needsInput:v1`)
	kindEnd      = []byte(`:v1`)
)

// hasKind reports whether a kind occurs in a text. It searches for the end of the kind first: the first letter of the kind
// is much more frequent, and the search would stop at each of them.
func hasKind(text, kind []byte) bool {
	return bytes.Contains(text, kindEnd) && bytes.Contains(text, kind)
}

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
		c.to.weak != nil || len(c.to.families) > 0 || hasKind(text, kindFailure)
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

// largeFailures is how many failures larger than the decision window are held in memory at a time. The next
// one waits for its turn, within its deadline.
const largeFailures = 8

// beginsFailed reports whether the beginning of an answer shows that it is a failure. Such an answer is
// translated; any other is streamed.
func (c *call) beginsFailed(text []byte) bool {
	begun := json.Complete(text)
	var scan wire.Scanner
	if _, err := scan.Write(begun); err != nil || scan.Close() != nil {
		return false
	}
	signs := scan.Signs()
	if signs.Message() == wire.Request || signs.Message() == wire.Notification {
		return false
	}
	c.in.cut = c.table.config.DecideWithin.String()
	defer func() { c.in.cut = "" }()
	reading, _, ok := c.read(begun, signs, func(raw []byte) []byte { return raw })
	return ok && reading.Error() != nil
}

// collect reads on in a failure that begins with first, up to max_failure, and has it translated: complete,
// or as much of it as was read.
func (a *answer) collect(first *wire.Part) error {
	release, err := a.g.holdLarge(a.ctx)
	if err != nil {
		return a.to.broken(a.ctx, err)
	}
	a.in.release = release
	event := &wire.Event{ID: bytes.Clone(first.ID), Type: bytes.Clone(first.Type), Data: bytes.Clone(first.Data)}
	for !event.Complete {
		if most := int(a.maxFailure()); len(event.Data) > most {
			return a.cutOff(event.Data[:most])
		}
		piece, err := a.in.next()
		switch {
		case err != nil:
			a.resumable = false
			return a.ended(err)
		case piece.Err != nil:
			return a.bad(a.resp, piece.Err)
		}
		a.deadline.Alive()
		event.Data = append(event.Data, piece.Data...)
		event.Complete = piece.Complete
	}
	if a.stream {
		event.Raw = wire.AppendEvent(nil, string(event.ID), string(event.Type), event.Data)
	}
	_, err = a.takeWhole(event)
	return err
}

// maxFailure returns how much of a failure is read.
func (c *call) maxFailure() strictyaml.Size {
	return max(c.table.config.MaxFailure, c.table.config.DecideWithin)
}

// cutOff handles a failure larger than max_failure that begins with text.
func (a *answer) cutOff(text []byte) error {
	if a.tooMuch(max(int64(len(text)), a.resp.ContentLength)) {
		return a.tooLarge(a.resp)
	}
	text = json.Complete(wholeWords(text))
	if err := a.in.rescan(text); err != nil {
		return a.bad(a.resp, err)
	}
	if signs := a.in.signs; !signs.IDAt.IsZero() && !signs.ID.Equal(a.sentID()) {
		return a.bad(a.resp, errWrongID)
	}
	a.in.cut = a.maxFailure().String()
	if f := a.judge(text); f != nil {
		return f
	}
	return a.bad(a.resp, errNoMessage) // the rest turned it into something else
}

// wholeWords returns a truncated JSON text without its last word: half a credential would not be recognised
// as one.
func wholeWords(text []byte) []byte {
	const longest = 16 << 10 // of a word
	from := max(0, len(text)-longest)
	if i := bytes.LastIndexAny(text[from:], " \t\r\n,\\"); i >= 0 {
		return text[:from+i]
	}
	return text[:from]
}

// holdLarge waits until another large failure may be held in memory.
func (g *Gateway) holdLarge(ctx context.Context) (release func(), err error) {
	select {
	case g.large <- struct{}{}:
		return func() { <-g.large }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
