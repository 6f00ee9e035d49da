package gateway

import (
	"cmp"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/api"
)

// judge finds out whether the current answer is a failure. It returns nil for a success.
func (c *call) judge(text []byte) *failure {
	reading, raw, ok := c.reading(text)
	if !ok {
		return nil
	}
	e := reading.Error()
	if e == nil { // a question of the server's
		return nil
	}
	e = c.in.caused(e, text)
	own := reading.Contract == nil && c.req.forProgram(e) || !c.req.isCall()
	from := original{raw: raw, from: reading.Contract}
	if !c.in.signs.Error.IsZero() {
		from.at = contract.SurfaceRPC
	}
	if from.at == contract.SurfaceRPC && own && failures.IsRPCError(c.in.signs.Error.Of(text)) {
		return c.in.rpcFailure(cmp.Or(c.req.protocolStatus(&c.reply, e.Kind), http.StatusOK), text, e)
	}
	if raw != nil && c.in.cut != "" { // half a result would add nothing to the failure's text
		from.raw = json.Value("{}")
	}
	c.out.Reason = "the server answered: whether to call again is up to the caller"
	return &failure{e: e, original: from}
}

// rpcFailure is a JSON-RPC error that is passed on under the server's own code, as scanned in text.
func (in *inbound) rpcFailure(status int, text []byte, e *recourse.Error) *failure {
	signs := in.signs
	return &failure{e: e, status: status, text: text, id: signs.IDAt, rpc: signs.Error, cut: in.cut != ""}
}

// forProgram reports whether a JSON-RPC error is meant for the client's program rather than for its model: it
// is about the message itself, about a method other than a call, or about the state with which a call
// continues (MCP 2026-07-28, multi round-trip requests).
func (r *request) forProgram(e *recourse.Error) bool {
	return failures.IsProtocol(e) || !r.isCall() ||
		json.Lookup(r.msg.Params, "/"+wire.RequestState) != nil || json.Lookup(r.msg.Params, "/"+wire.InputResponses) != nil
}

// reading reads the failure in an answer. The original is the answer's result or error, masked.
func (c *call) reading(text []byte) (reading contract.Reading, original json.Value, ok bool) {
	// The masker is created for the first failure: a success needs none.
	mask := func(raw []byte) []byte { return c.masker().JSON(raw) }
	return c.on.to.reader.Answer(text, c.in.signs, c.req.isCall(), c.in.cut, mask)
}

// caused returns e with the server's words as its cause, unless it has one.
func (in *inbound) caused(e *recourse.Error, text []byte) *recourse.Error {
	if e == nil || e.Cause() != nil {
		return e
	}
	signs := in.signs
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
	c.out.record(c.failing(c.in.shown()).effect(e), "failure beyond the decision window: not rewritten")
}

// maxErrorBody limits how much is read of an answer with a status of 400 or more.
const maxErrorBody = 64 << 10

// refusal handles an answer whose HTTP status is not 200.
func (c *call) refusal() end {
	resp := c.in.resp
	refused, narrowed := c.refusesAccount(resp.Status, resp.Header)
	if narrowed != nil {
		return settled(narrowed).end()
	}
	if c.on.passesAuth(resp.Status) && !c.reply.started {
		body, e := c.refusedCredentials()
		return (&failure{e: e, text: body, passed: true}).end()
	}
	within := c.table.config.DecideWithin
	text, _ := io.ReadAll(io.LimitReader(resp, int64(within)+1)) // if reading fails, the status still counts
	if err := c.ctx.Err(); err != nil {
		return again(c.on.to.broken(c.ctx, err))
	}
	if len(text) > int(within) {
		c.in.cut = within.String()
		text = wholeWords(text)
		if whole := json.Complete(text); whole != nil {
			text = whole
		}
	}
	reading := c.on.to.reader.HTTP(resp.Status, resp.Header, text, c.in.cut)
	e := c.req.explainRefusal(reading.Error(), text)
	switch {
	case refused:
		return end{why: accountRefused, e: e.WithEffect(recourse.EffectNone)}
	case c.lostSession(c.in.session, resp.Status, e):
		return end{why: sessionLost, e: e.WithEffect(recourse.EffectNone)}
	case reading.Contract == nil && c.req.forProgram(e) && c.in.isRefusal(text):
		return c.in.rpcFailure(resp.Status, text, e).end()
	}
	return end{why: repeatable, e: e, told: c.told(reading, c.in.cut)}
}

// told returns what the body of an HTTP answer says in the form of a contract, unless it is cut.
func (c *call) told(reading contract.Reading, cut string) (o original) {
	if reading.Original != nil && cut == "" {
		o = original{raw: masking.Body(c.masker(), reading.Original), at: reading.OriginalAt, from: reading.Contract}
	}
	return o
}

// passesAuth reports whether a refusal is between the client and the server: the client's own credentials
// were forwarded.
func (on *endpoint) passesAuth(status int) bool {
	return (status == http.StatusUnauthorized || status == http.StatusForbidden) && on.forwards("Authorization")
}

const notedAuth = "passed on under its own status"

// refusedCredentials reads the refusal of the client's own credentials, which is passed on unchanged,
// including the challenge.
func (c *call) refusedCredentials() (body []byte, e *recourse.Error) {
	resp := c.in.resp
	c.out.Reason = "the server refused the client's own credentials"
	body, _ = io.ReadAll(io.LimitReader(resp, maxErrorBody)) // if reading fails, the status still counts
	return body, c.on.to.reader.Forwarded(resp.Status, resp.Header, body)
}

// explainRefusal finds out what is wrong with a message if e only says that the server did not accept it. The
// gateway has already checked its form and headers: what remains is the method, or missing params.
func (r *request) explainRefusal(e *recourse.Error, body []byte) *recourse.Error {
	status := e.Upstream.Status
	if e.Kind != recourse.KindClientError || failures.IsRPCError(json.Lookup(body, "/error")) {
		return e
	}
	why := recourse.New(recourse.KindInvalidRequest, e.Message)
	if fault := r.msg.Refused(); fault != nil {
		why = door.Refused(fault)
	}
	switch {
	case status == http.StatusBadRequest && (!r.isCall() || why.Kind != recourse.KindInvalidRequest):
	case status == http.StatusNotFound && r.era == wire.Modern && why.Kind == recourse.KindUnknownMethod:
	default:
		return e
	}
	return why.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithUpstream(e.Upstream).CausedBy(e.Cause())
}

// isRefusal reports whether body is a JSON-RPC error that answers the request.
func (in *inbound) isRefusal(body []byte) bool {
	if len(in.req.msg.ID) == 0 || in.rescan(body) != nil {
		return false
	}
	signs := in.signs
	return isWhole(signs) && signs.ID.Equal(in.sentID()) && failures.IsRPCError(signs.Error.Of(body))
}

// provided reads the answer of an HTTP API's provider again, with everything that the gateway knows about its
// errors. Any other error is returned unchanged.
func (c *call) provided(e *recourse.Error) end {
	refusal, ok := errors.AsType[*api.RefusedError](e.Cause())
	if !ok {
		return again(e)
	}
	refused, narrowed := c.refusesAccount(refusal.Status, refusal.Header)
	switch {
	case narrowed != nil:
		return end{why: repeatable, e: narrowed, status: refusal.Status}
	case refused:
		return end{why: accountRefused, e: e.WithEffect(recourse.EffectNone), status: refusal.Status}
	}
	reading := c.on.to.reader.Provider(refusal, e, !c.on.to.reader.PassesCredentials && !c.on.forwards("Authorization"))
	return end{
		why: repeatable, e: reading.Error(), status: refusal.Status, told: c.told(reading, refusal.Cut),
		full: refusal.Status != http.StatusUnauthorized || reading.Contract != nil,
	}
}
