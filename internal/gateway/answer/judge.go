package answer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// judge finds out whether the current answer is a failure. It returns nil for a success.
func (in *Inbound) judge(text []byte) *Failure {
	reading, raw, ok := in.reading(text)
	if !ok {
		if e := in.unmet(text); e != nil {
			return &Failure{Err: e, Reason: reasonAnswered}
		}
		return nil
	}
	e := reading.Error()
	if e == nil { // a question of the server's
		return nil
	}
	e = in.caused(e, text)
	own := reading.Contract == nil && in.forProgram(e) || !in.isCall()
	from := Original{Raw: raw, From: reading.Contract}
	if !in.Signs.Error.IsZero() {
		from.At = contract.SurfaceRPC
	}
	if from.At == contract.SurfaceRPC && own && failures.IsRPCError(in.Signs.Error.Of(text)) {
		return in.rpcFailure(cmp.Or(in.Reply.ProtocolStatus(in.Request.Method, in.Era == wire.Modern, e.Kind), http.StatusOK), text, e)
	}
	if raw != nil && in.Cut != "" { // half a result would add nothing to the failure's text
		from.Raw = json.Value("{}")
	}
	return &Failure{Err: e, Original: from, Reason: reasonAnswered}
}

// reasonAnswered is why the gateway does not make a call again itself that has failed in the server.
const reasonAnswered = "the server answered: whether to call again is up to the caller"

// unmet returns what the current success lacks; nil: nothing.
func (in *Inbound) unmet(text []byte) *recourse.Error {
	if !in.isCall() || !in.Signs.Error.IsZero() || string(in.Signs.ResultType) == wire.InputRequired {
		return nil
	}
	return in.Unmet(in.Signs.Result.Of(text))
}

// rpcFailure is a JSON-RPC error that is passed on under the server's own code, as scanned in text.
func (in *Inbound) rpcFailure(status int, text []byte, e *recourse.Error) *Failure {
	signs := in.Signs
	return &Failure{Err: e, Status: status, Text: text, ID: signs.IDAt, RPC: signs.Error, Cut: in.Cut != ""}
}

// InvalidParams returns a failure for the client's program, not for its model: a JSON-RPC error whatever the contract says.
func (in *Inbound) InvalidParams(id wire.ID, e *recourse.Error) *Failure {
	text := wire.AppendError(nil, id, wire.CodeInvalidParams, e.Sentence(), nil)
	if in.Rescan(text) != nil {
		return Settled(e)
	}
	return in.rpcFailure(http.StatusOK, text, e)
}

// forProgram reports whether a JSON-RPC error is meant for the client's program rather than for its model: it
// is about what the program negotiates, about a method other than a call, or about the state with which a call
// continues (MCP 2026-07-28, multi round-trip requests).
func (in *Inbound) forProgram(e *recourse.Error) bool {
	return !in.isCall() || failures.IsForProgram(e, in.Server.Errors == config.ErrorsProtocol) || in.Request.Continues()
}

// reading reads the failure in an answer. The original is the answer's result or error, masked.
func (in *Inbound) reading(text []byte) (reading contract.Reading, original json.Value, ok bool) {
	// The masker is created for the first failure: a success needs none.
	mask := func(raw []byte) []byte { return in.Masker().JSON(raw) }
	if raw := in.Signs.Error.Of(text); in.isCall() && !in.Signs.Error.IsZero() {
		if links := failures.Links(raw); links != nil && in.Links(strings.Join(links, " ")) {
			return contract.Reading{Failure: in.Reader.LinkRequired(raw, links)}, nil, true
		}
	}
	return in.Reader.Answer(text, in.Signs, in.isCall(), in.Cut, mask)
}

// seeming returns what the current success looks like, if that is a failure; nil: it looks like a success.
func (in *Inbound) seeming(text []byte) *observe.Seeming {
	if !in.isCall() || !in.Signs.Error.IsZero() {
		return nil
	}
	return in.Reader.Seems(text, in.Signs, func(raw []byte) []byte { return in.Masker().JSON(raw) })
}

// caused returns e with the server's words as its cause, unless it has one.
func (in *Inbound) caused(e *recourse.Error, text []byte) *recourse.Error {
	if e == nil || e.Cause() != nil {
		return e
	}
	signs := in.Signs
	raw := signs.Result.Of(text)
	if !signs.Error.IsZero() {
		raw = signs.Error.Of(text)
	}
	return e.CausedBy(errors.New(observe.Said(raw)))
}

// late returns a failure that was found after the window, when it could no longer be rewritten, or nil.
func (in *Inbound) late() *recourse.Error {
	signs := in.Signs
	if !signs.IsError && signs.Error.IsZero() && signs.ResultError.IsZero() {
		return nil
	}
	return recourse.New(recourse.KindUnknown, "").WithOrigin(recourse.OriginServer)
}

// maxErrorBody limits how much is read of an answer with a status of 400 or more.
const maxErrorBody = 64 << 10

// Refusal reads an answer whose HTTP status is not 200.
func (in *Inbound) Refusal(ctx context.Context) End {
	resp, within := in.Resp, in.Config.DecideWithin
	text, _ := io.ReadAll(io.LimitReader(resp, int64(within)+1)) // if reading fails, the status still counts
	if err := ctx.Err(); err != nil {
		return Again(upstream.Broken(ctx, in.Server.Title, err))
	}
	if len(text) > int(within) {
		in.Cut = within.String()
		text = wholeWords(text)
		if whole := json.Complete(text); whole != nil {
			text = whole
		}
	}
	reading := in.Reader.HTTP(resp.Status, resp.Header, text, in.Cut)
	e := in.explainRefusal(reading.Error(), text)
	if resp.Unknown {
		e = e.WithEffect(recourse.EffectNone)
	}
	if reading.Contract == nil && in.forProgram(e) && in.isRefusal(text) {
		return in.rpcFailure(resp.Status, text, e).End()
	}
	return End{Why: Repeatable, Err: e, Told: in.Told(reading, in.Cut)}
}

// Told returns what the body of an HTTP answer says in the form of a contract, unless it is cut.
func (in *Inbound) Told(reading contract.Reading, cut string) (o Original) {
	if reading.Original != nil && cut == "" {
		o = Original{Raw: masking.Body(in.Masker(), reading.Original), At: reading.OriginalAt, From: reading.Contract}
	}
	return o
}

// Undelivered reads why a message without an answer of its own is refused.
func (in *Inbound) Undelivered() *recourse.Error {
	text, _ := io.ReadAll(io.LimitReader(in.Resp, maxErrorBody)) // if reading fails, the status still counts
	return in.Reader.HTTP(in.Resp.Status, in.Resp.Header, text, "").Error()
}

// RefusedCredentials reads the refusal of the client's own credentials, which is passed on unchanged,
// including the challenge.
func (in *Inbound) RefusedCredentials() *Failure {
	resp := in.Resp
	body, _ := io.ReadAll(io.LimitReader(resp, maxErrorBody)) // if reading fails, the status still counts
	return &Failure{
		Err: in.Reader.Forwarded(resp.Status, resp.Header, body), Text: body, Passed: true,
		Reason: "the server refused the client's own credentials",
	}
}

// explainRefusal finds out what is wrong with a message if e only says that the server did not accept it. The
// gateway has already checked its form and headers: what remains is the method, or missing params.
func (in *Inbound) explainRefusal(e *recourse.Error, body []byte) *recourse.Error {
	status := e.Upstream.Status
	if e.Kind != recourse.KindClientError || failures.IsRPCError(json.Lookup(body, "/error")) {
		return e
	}
	why := recourse.New(recourse.KindInvalidRequest, e.Message)
	if fault := in.Request.Refused(); fault != nil {
		why = door.Refused(fault)
	}
	switch {
	case status == http.StatusBadRequest && (!in.isCall() || why.Kind != recourse.KindInvalidRequest):
	case status == http.StatusNotFound && in.Era == wire.Modern && why.Kind == recourse.KindUnknownMethod:
	default:
		return e
	}
	return why.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithUpstream(e.Upstream).CausedBy(e.Cause())
}

// isRefusal reports whether body is a JSON-RPC error that answers the request.
func (in *Inbound) isRefusal(body []byte) bool {
	if len(in.Request.ID) == 0 || in.Rescan(body) != nil {
		return false
	}
	signs := in.Signs
	return IsWhole(signs) && signs.ID.Equal(in.SentID()) && failures.IsRPCError(signs.Error.Of(body))
}
