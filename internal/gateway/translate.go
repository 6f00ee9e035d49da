package gateway

import (
	"cmp"
	stdjson "encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A failure ends a call for good. Besides the record it has what is needed to write it.
type failure struct {
	e    *recourse.Error
	last end // of the last attempt; its zero value: none was made

	refusal bool        // the request was not accepted as a call
	at      contract.At // how far it had come
	status  int         // the HTTP status for it

	original original // what it was read from

	text    []byte    // a message from the server, passed on under its own code
	id, rpc wire.Span // in the text
	cut     bool      // it is incomplete

	passed bool // the text is that of an HTTP answer, passed on with its own status

	expected bool // clients ask in order to get this answer: nothing has failed

	ofCaller bool // the caller is not let in; contracts with codes for tools say nothing about that

	off bool // it was found in the middle of an answer
}

// An original is what a failure was read from, masked: a result, a JSON-RPC error or the body of an HTTP answer.
type original struct {
	raw  json.Value
	at   contract.Surface
	from *contract.Contract // the contract in whose form it was
}

// isResult reports whether it was a tool's result.
func (o *original) isResult() bool { return o.raw != nil && o.at == contract.SurfaceResult }

// tells reports whether it is what e was read from.
func (o *original) tells(e *recourse.Error) bool { return o.from != nil && e.Contract == o.from.Name }

// settled returns e as a failure that is not tried again.
func settled(e *recourse.Error) *failure { return &failure{e: e} }

// refuse returns the failure for a request that is not accepted as a call, with an HTTP status.
func refuse(status int, e *recourse.Error) *failure {
	return &failure{e: e, refusal: true, at: contract.AtSession, status: status}
}

// refuseAt does so at a stage that has a status of its own.
func refuseAt(at contract.At, e *recourse.Error) *failure {
	return &failure{e: e, refusal: true, at: at, status: door.Status(at)}
}

// breakOff ends an answer that has begun: the client sees that it is incomplete.
func (to *target) breakOff(cause error) end {
	e := recourse.From(cause)
	if e.Kind == recourse.KindInternal {
		e = to.reader.BadResponse(cause)
	}
	return (&failure{e: e, off: true}).end()
}

// translate writes a call's failure in the contract's form. By then, a success has been sent, byte for byte.
func translate(c *call, next next) *failure {
	f := c.caught(next)
	if f == nil {
		return nil
	}
	if c.member != nil && c.member.relays && !c.reply.started && c.out.notCharged(f) {
		c.of.free = true // which is read once the answer begins
	}
	lapsed := access.Lapsed(c.ctx)
	if lapsed != nil && !f.off {
		last := f.last
		f = c.refuseLapsed(lapsed)
		f.last = last
	}
	switch {
	case f.expected:
		c.reply.message(f.status, nil, wire.AppendError(nil, nil, wire.CodeInvalidRequest, f.e.Sentence(), nil))
	case f.off:
		c.out.record(c.failing(&f.last).effect(f.e), "answer broken off")
		c.reply.abort()
	case f.refusal:
		c.writeRefusal(f)
	case f.passed:
		c.passRefusal(f)
	case f.text != nil:
		c.passRPCError(f)
	case lapsed == nil && c.req.left(): // nobody is left to tell
		gone := recourse.Cancelled().WithOrigin(recourse.OriginCaller).CausedBy(f.e)
		c.out.record(c.failing(&f.last).effectOf(f.e, gone), "the client has gone")
	default:
		c.writeFailure(f)
	}
	return nil
}

// writeFailure ends a call in the contract's form.
func (c *call) writeFailure(f *failure) {
	failing := c.failing(&f.last)
	e := failing.settle(f.e)
	if c.account.HasLink() && c.req.showsLinks(c.session) {
		c.showLink(failing, e)
		return
	}
	status := 0
	if !f.original.isResult() { // the protocol has no status for what a result says
		status = c.req.protocolStatus(&c.reply, e.Kind)
	}
	call := failing.describe(e, status)
	from, told := f.original, &f.last.told
	switch {
	case from.raw != nil:
	case told.tells(e) && (told.from == c.on.contract || told.isResult()):
		from = *told
	case failures.Quotes(e):
		from.from = c.on.contract
	}
	call.Relay.Original, call.Relay.OriginalAt, call.Relay.OriginalContract = stdjson.RawMessage(from.raw), from.at, from.from
	c.write(c.on.contract.Write(e, call), e)
}

// writeRefusal ends a request that was not accepted as a call.
func (c *call) writeRefusal(f *failure) {
	of, e := contract.MustBuiltin(contract.Default), f.e
	settled := func(e *recourse.Error) *recourse.Error {
		return e.WithEffect(recourse.EffectNone).WithEffectBasis(recourse.BasisKnown)
	}
	if e.Origin == "" {
		e = e.WithOrigin(recourse.OriginCaller)
	}
	e = e.WithRequestID(c.req.id)
	if c.on != nil {
		of, settled = c.on.contract, c.failing(&f.last).effect
		e = c.masker().Error(e).CausedBy(e.Cause())
	}
	whole := c.req.answersHTTP(&c.reply)
	call := &contract.Call{At: f.at, Status: f.status, HTTP: whole, Method: c.req.msg.Method, URL: c.table.url(c.req.from)}
	answer := of.Write(settled(e), call)
	if f.ofCaller && answer.Surface == contract.SurfaceRPC {
		answer = contract.MustBuiltin(contract.Default).Write(settled(e), call)
	}
	c.write(answer, e)
}

// write sends an answer in the contract's form, masked, and records it.
func (c *call) write(answer contract.Answer, e *recourse.Error) {
	if c.on != nil {
		answer = masking.Answer(c.masker(), answer, c.table.url(c.req.from))
	}
	answer = withProtocolData(answer, e, cmp.Or(c.req.header.Get(wire.HeaderVersion), c.req.msg.ProtocolVersion))
	status := answer.Status
	if answer.Asks { // a question is no failure
		c.reply.message(status, c.req.msg.ID, wire.AppendResult(nil, c.req.msg.ID, answer.Result))
		return
	}
	c.out.record(answer.Record.CausedBy(e.Cause()), "")
	switch answer.Surface {
	case contract.SurfaceHTTP:
		c.out.Form = strconv.Itoa(status)
		maps.Copy(c.reply.header(), answer.Header)
		c.reply.send(status, answer.Body)
	case contract.SurfaceResult:
		c.out.Form = "tool_error" // as in OpenTelemetry's conventions for MCP
		c.reply.message(status, c.req.msg.ID, wire.AppendResult(nil, c.req.msg.ID, answer.Result))
	case contract.SurfaceRPC:
		c.out.Form = strconv.Itoa(answer.RPCCode)
		c.reply.message(status, c.req.msg.ID, wire.AppendError(nil, c.req.msg.ID, answer.RPCCode, answer.Message, answer.Data))
	}
}

// passRPCError passes on a JSON-RPC error under the server's own code, which the client's program may know.
// It is masked, and has the record in its data unless it is about the message itself. If it is incomplete,
// only the code is passed on.
func (c *call) passRPCError(f *failure) {
	failing := c.failing(&f.last)
	e := failing.settle(f.e)
	raw := json.Value(c.masker().JSON(f.rpc.Of(f.text)))
	record := c.on.contract.Write(e, failing.describe(e, 0)).Record
	c.out.record(e, "")
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	if err != nil {
		code = wire.CodeInternalError
	}
	c.out.Form = strconv.Itoa(code)
	if f.cut {
		form, _ := record.MarshalJSON() // without one there is no data
		c.reply.message(f.status, c.req.msg.ID, wire.AppendError(nil, c.req.msg.ID, code, e.Sentence(), form))
		return
	}
	own := failures.WithoutRecord(raw) // the record of a trusted server is part of e
	if !failures.IsProtocol(e) || c.on.to.entry.Trusted && len(own) != len(raw) {
		own = failures.WithRecord(own, record)
	}
	id := c.req.msg.ID
	c.reply.message(f.status, id, wire.Splice(nil, f.text, wire.Edit{At: f.id, With: id}, wire.Edit{At: f.rpc, With: own}))
}

// passRefusal passes an HTTP answer that is a failure on to the client, masked, with its own status and
// challenge.
func (c *call) passRefusal(f *failure) {
	c.out.record(c.failing(&f.last).effect(f.e), notedAuth)
	c.out.Form = strconv.Itoa(c.in.resp.Status)
	body := masking.Body(c.masker(), f.text)
	c.reply.head(0, false)
	_ = c.reply.put(body)
}

// leastToMask is how long masking the failures of a call may take even if its time is over.
const leastToMask = time.Second

// masker returns what masks this call's failures, within one budget for all of them and in the time that the call has. Anything in the
// call's own arguments or in the server's entry may be shown, except for secrets.
func (c *call) masker() *redact.Masker {
	if c.mask == nil {
		to, toPerson := c.on.entry, c.account.Shown()
		c.mask = redact.New(c.on.redact, string(c.req.msg.Arguments), to.URL+" "+to.BaseURL, strings.Join(to.Command, "\n"), to.Cwd,
			c.table.url(c.req.from), toPerson).
			Sparing(toPerson).Hiding(c.private().Secrets).With(c.on.contract.Mask...).About(c.req.msg.Arguments).
			ForAnswer(max(c.deadline.Left(), leastToMask))
	}
	return c.mask
}

// unmask has the next text masked anew: with a budget of its own, and by what may be shown by then.
func (c *call) unmask() { c.mask = nil }

// protocolStatus returns the HTTP status that the era requires for a kind, or 0.
func (r *request) protocolStatus(by *reply, kind recourse.Kind) int {
	switch {
	case by.started:
		return 0
	case r.era != wire.Modern && kind == recourse.KindUnknownSession:
		return http.StatusNotFound
	case kind == recourse.KindUnsupportedVersion: // in neither era
		return http.StatusBadRequest
	case r.era != wire.Modern:
		return 0
	case r.msg.Method == wire.MethodDiscover && kind.Class() == recourse.ClassUpstream:
		// A JSON-RPC error in an answer with status 200 is how a legacy server says that it does not know the
		// method.
		return http.StatusServiceUnavailable
	}
	switch kind {
	case recourse.KindUnknownMethod:
		return http.StatusNotFound
	case recourse.KindHeaderMismatch, recourse.KindMissingCapability:
		return http.StatusBadRequest
	default:
		return 0
	}
}

// answersHTTP reports whether the failure can be a whole HTTP answer: not over stdio, and not once the answer
// has begun.
func (r *request) answersHTTP(by *reply) bool { return !by.started && !r.stdio }

// base returns the URL under which the client of r knows the gateway.
func (t *table) base(r *http.Request) string { return door.Base(r, t.config.PublicURL) }

// url returns the URL of a request as its client knows it.
func (t *table) url(r *http.Request) string { return door.URL(r, t.config.PublicURL) }

// withProtocolData adds to the data of a JSON-RPC error what the protocol requires beside the record (MCP
// 2026-07-28, "Errors"); requested is the version that the client asked for.
func withProtocolData(answer contract.Answer, e *recourse.Error, requested string) contract.Answer {
	if e.Kind != recourse.KindUnsupportedVersion || answer.Surface != contract.SurfaceRPC {
		return answer
	}
	var versions []string // as the server said
	_ = json.Unmarshal(json.Value(e.Details["supported"]), &versions)
	versions = slices.DeleteFunc(versions, func(v string) bool { return len(v) != len(wire.Version20260728) })
	if len(versions) == 0 {
		versions = wire.Versions()
	}
	answer.Data = door.WithVersions(answer.Data, versions, requested)
	return answer
}
