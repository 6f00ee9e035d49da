package gateway

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// translate writes a call's failure in the contract's form. By then, a success has been sent, byte for byte.
func translate(c *call, next next) *failure {
	f := c.caught(next)
	if f == nil {
		return nil
	}
	if c.member != nil && c.member.relays && !c.reply.Started && c.out.notCharged(f) {
		c.of.free = true // which is read once the answer begins
	}
	lapsed := access.Lapsed(c.ctx)
	if lapsed != nil && !f.Off {
		last := f.Last
		f = c.refuseLapsed(lapsed)
		f.Last = last
	}
	c.failing(&f.Last).tell(withStderr(f, c.beside), lapsed == nil && c.req.left())
	return nil
}

// leastToMask is how long masking the failures of a call may take even if its time is over.
const leastToMask = time.Second

// masker returns what masks this call's failures, within one budget for all of them and in the time that the call has. Anything in the
// call's own arguments or in the server's entry may be shown, except for secrets.
func (c *call) masker() *redact.Masker {
	if toPerson := c.who.account.Shown(); c.mask == nil || c.shown != toPerson {
		to := c.on.entry
		c.shown = toPerson
		c.mask = redact.New(c.on.redact, string(c.req.msg.Arguments), to.URL+" "+to.BaseURL, strings.Join(to.Command, "\n"), to.Cwd,
			c.req.url(), toPerson).
			Sparing(toPerson).Hiding(c.private().Secrets).With(c.on.contract.Mask...).About(c.req.msg.Arguments).
			ForAnswer(max(c.deadline.Left(), leastToMask))
	}
	return c.mask
}

// A failing is a call that fails: what its failure and the contract need to know of it after an attempt.
type failing struct {
	*call

	known toolcall.Call
	held  bool // it was not sent, to protect the server
	full  bool // the server has begun to answer in full
}

// failing describes the call after an attempt that has ended so.
func (c *call) failing(last *end) *failing {
	m := c.req.msg
	f := &failing{call: c, held: last.Why == answer.HeldBack, full: last.Full}
	if c.on == nil { // it was for no server
		f.known = toolcall.Call{ID: c.req.id, Method: m.Method, Contract: contract.MustBuiltin(contract.Default)}
		return f
	}
	f.known = toolcall.Call{
		Listed: c.rule.listed, ID: c.req.id, Method: m.Method, Name: m.Name, Arguments: m.Arguments,
		Contract: c.on.contract, Kept: c.on.reader.Weak, Masker: c.masker,
		Nature: c.rule.nature, Assumed: c.rule.assumed, Profiled: c.rule.profiled,
		Ran: c.out.counted > 0 || c.out.before, Doubt: c.out.doubt, Broke: failures.Broke(last.Status),
		Relays: true, Title: c.on.entry.Title,
		InSession: (c.session != nil || c.isModern() || last.Full) && last.Why != answer.SessionLost, Trusted: c.on.entry.Trusted,
		Reads: func(name string, t *toolcall.Entry) bool {
			return c.on.natureOf(name, c.on.entry.Tool(name), t) == retry.Reads
		},
	}
	if v := c.rule.verifier(c.on, m.Name); v != nil {
		f.known.Verify = &toolcall.Verification{Tool: v.Tool, From: v.From, With: v.With, LookAt: v.LookAt, Landed: v.Landed.Form()}
	}
	return f
}

// answer sends a message of the gateway's own that answers the call.
func (c *call) answer(status int, message []byte) { c.reply.Message(status, c.req.msg.ID, message) }

func (c *call) isModern() bool { return c.req.era == wire.Modern }

// takesHTTP reports whether the call can be answered with a whole HTTP answer.
func (c *call) takesHTTP() bool { return !c.reply.Started && !c.req.stdio }

// verifier returns the call that settles whether this one took effect, by the server's entry; or by its profile, if no contract
// names one, and the server is not known to lack the tool. It may be nil.
func (r *rule) verifier(on *endpoint, name string) *config.Verify {
	known := r.Known
	switch weak := on.reader.Weak; {
	case r.Verify != nil, known == nil, known.Verify == nil:
		return r.Verify
	case on.contract.Writes(name), weak != nil && weak.Writes(name):
		return nil
	}
	if by := r.listed.List.In(known.Verify.Tool); by.List != nil && by.Tool == nil {
		return nil
	}
	return known.Verify
}

// tell ends the call; gone says that nobody is left to tell.
func (f *failing) tell(of *failure, gone bool) {
	switch {
	case of.Expected:
		f.reply.Message(of.Status, nil, wire.AppendError(nil, nil, wire.CodeInvalidRequest, of.Err.Sentence(), nil))
	case of.Off:
		f.out.record(f.effect(of.Err), "answer broken off")
		f.reply.Abort()
	case of.Refusal:
		f.refuse(of)
	case of.Passed:
		f.passRefusal(of)
	case of.Text != nil:
		f.passRPCError(of)
	case gone:
		told := recourse.Cancelled().WithOrigin(recourse.OriginCaller).CausedBy(of.Err)
		f.out.record(f.effectOf(of.Err, told), "the client has gone")
	case f.req.showsLinks(f.session) && f.who.account.HasLink():
		f.showLink(f.settle(of.Err))
	default:
		f.write(of)
	}
}

// showLink ends a call that needs a connected account by asking the client to show the link.
func (f *failing) showLink(e *recourse.Error) {
	record := f.known.Contract.Write(e, f.describe(e, 0)).Record.CausedBy(e.Cause())
	f.out.record(record, "the client is asked to show its person the link")
	form, _ := record.MarshalJSON() // without one there is no data
	if f.isModern() {
		f.out.Form = wire.InputRequired
		f.answer(http.StatusOK, wire.AppendResult(nil, f.req.msg.ID, f.who.account.Question(form)))
		return
	}
	f.out.Form = strconv.Itoa(wire.CodeURLElicitation)
	f.g.notices.WhenConnected(&f.who.account, f.session, f.g.background)
	text := wire.AppendError(nil, f.req.msg.ID, wire.CodeURLElicitation, e.Sentence(), f.who.account.Elicitation(form))
	f.answer(http.StatusOK, text)
}

// lateWords is how long a program's stderr may lag behind its answer, if that does not say what is wrong.
const lateWords = 50 * time.Millisecond

// withStderr returns a failure with what the server's program wrote to stderr meanwhile in its cause, for the operator.
func withStderr(f *failure, beside *upstream.Beside) *failure {
	wait := time.Duration(0)
	if f.Err.Kind == recourse.KindInternal {
		wait = lateWords
	}
	said := beside.Said(wait)
	if said == "" {
		return f
	}
	told := *f
	if cause := f.Err.Cause(); cause != nil {
		told.Err = f.Err.CausedBy(fmt.Errorf("%w; %s", cause, said))
	} else {
		told.Err = f.Err.CausedBy(fmt.Errorf("%s", said))
	}
	return &told
}

// unmet returns the failure of a call whose result says success and does not look like one, by the server's entry, or else by
// the first contract that says what a success looks like; nil: it does.
func (r *rule) unmet(on *endpoint, of *wire.Message, result []byte) *recourse.Error {
	title := on.entry.Title
	if len(r.Expects) > 0 {
		return contractform.Unmet(r.Expectations(), title, result, of.Arguments)
	}
	call := &contract.Call{Tool: of.Name, Arguments: stdjson.RawMessage(of.Arguments)}
	e := on.contract.Unmet(call, title, result)
	if weak := on.reader.Weak; e == nil && weak != nil && weak != on.contract {
		e = weak.Unmet(call, title, result)
	}
	return e
}

// effect returns e with whether the call changed anything.
func (f *failing) effect(e *recourse.Error) *recourse.Error { return f.effectOf(e, e) }

// effectOf returns told, the failure as the client is told of it, with the effect of the call that failed with e.
func (f *failing) effectOf(e, told *recourse.Error) *recourse.Error {
	effect, basis := f.known.Effect(e)
	return told.With(func(r *recourse.Error) { r.Effect, r.EffectBasis = effect, basis })
}

// settle adds what the gateway knows about the call to a failure, and masks it.
func (f *failing) settle(e *recourse.Error) *recourse.Error { return f.known.Settle(e) }

// describe describes the call that failed with e to the contract; status is what the protocol requires, or 0.
func (f *failing) describe(e *recourse.Error, status int) *contract.Call {
	call := f.known.Describe(f.at(e))
	f.member.offer(call)
	call.URL, call.Status, call.HTTP = f.req.url(), status, f.takesHTTP()
	call.ResultType, call.Protocol = f.isModern(), f.on.entry.Errors == config.ErrorsProtocol
	return call
}

// at returns how far the call had come when it failed.
func (f *failing) at(e *recourse.Error) contract.At {
	switch status := e.Upstream.Status; {
	case f.held && f.req.isCall():
		return contract.AtUpstream
	case f.held:
		return contract.AtSession
	case !f.known.Ran:
		return contract.AtArguments
	case f.full && f.req.isCall():
		return contract.AtTool
	case status == http.StatusUnauthorized && f.on.reader.PassesCredentials:
		return contract.AtCredentialsInvalid
	case status == http.StatusForbidden && f.on.reader.PassesCredentials && f.who.user != "":
		return contract.AtUserInvalid
	case errors.Is(e.Cause(), failures.ErrOwnCredentials), errors.Is(e.Cause(), upstream.ErrNotStarted):
		return contract.AtUpstreamMisconfigured
	case !f.req.isCall():
		return contract.AtSession
	default:
		return contract.AtUpstream
	}
}

// status returns the HTTP status that the era requires for a failure, or 0.
func (f *failing) status(e *recourse.Error) int {
	return f.reply.ProtocolStatus(f.known.Method, f.isModern(), e.Kind)
}

// write ends the call in the contract's form.
func (f *failing) write(of *failure) {
	e, from, told := f.settle(of.Err), of.Original, &of.Last.Told
	status := 0
	if !from.IsResult() { // the protocol has no status for what a result says
		status = f.status(e)
	}
	call := f.describe(e, status)
	switch {
	case from.Raw != nil:
	case told.Tells(e) && (told.From == f.known.Contract || told.IsResult()):
		from = *told
	case failures.Quotes(e):
		from.From = f.known.Contract
	}
	call.Relay.Original, call.Relay.OriginalAt, call.Relay.OriginalContract = stdjson.RawMessage(from.Raw), from.At, from.From
	f.send(f.known.Contract.Write(e, call), e)
}

// refuse ends a request that was not accepted as a call.
func (f *failing) refuse(of *failure) {
	e := of.Err
	if e.Origin == "" {
		e = e.WithOrigin(recourse.OriginCaller)
	}
	e = e.WithRequestID(f.known.ID)
	if f.known.Masker != nil {
		e = f.known.Masker().Error(e).CausedBy(e.Cause())
	}
	call := &contract.Call{At: of.At, Status: of.Status, HTTP: f.takesHTTP(), Method: f.known.Method, URL: f.req.url()}
	told := f.known.Contract.Write(f.effect(e), call)
	if of.OfCaller && told.Surface == contract.SurfaceRPC {
		told = contract.MustBuiltin(contract.Default).Write(f.effect(e), call)
	}
	f.send(told, e)
}

// send sends an answer in the contract's form, masked, and records it.
func (f *failing) send(told contract.Answer, e *recourse.Error) {
	if f.known.Masker != nil {
		told = masking.Answer(f.known.Masker(), told, f.req.url())
	}
	told = withProtocolData(told, e, cmp.Or(f.req.header.Get(wire.HeaderVersion), f.req.msg.ProtocolVersion))
	if told.Asks { // a question is no failure
		f.answer(told.Status, wire.AppendResult(nil, f.req.msg.ID, told.Result))
		return
	}
	f.out.record(told.Record.CausedBy(e.Cause()), "")
	switch told.Surface {
	case contract.SurfaceHTTP:
		f.out.Form = strconv.Itoa(told.Status)
		maps.Copy(f.reply.Header(), told.Header)
		f.reply.Send(told.Status, told.Body)
	case contract.SurfaceResult:
		f.out.Form = "tool_error" // as in OpenTelemetry's conventions for MCP
		f.answer(told.Status, wire.AppendResult(nil, f.req.msg.ID, told.Result))
	case contract.SurfaceRPC:
		f.out.Form = strconv.Itoa(told.RPCCode)
		f.answer(told.Status, wire.AppendError(nil, f.req.msg.ID, told.RPCCode, told.Message, told.Data))
	}
}

// passRPCError passes on a JSON-RPC error under the server's own code, which the client's program may know.
// It is masked, and has the record in its data unless it is about the message itself. If it is incomplete,
// only the code is passed on.
func (f *failing) passRPCError(of *failure) {
	e := f.settle(of.Err)
	raw := json.Value(f.known.Masker().JSON(of.RPC.Of(of.Text)))
	record := f.known.Contract.Write(e, f.describe(e, 0)).Record
	f.out.record(e, "")
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	if err != nil {
		code = wire.CodeInternalError
	}
	f.out.Form = strconv.Itoa(code)
	if of.Cut {
		form, _ := record.MarshalJSON() // without one there is no data
		f.answer(of.Status, wire.AppendError(nil, f.req.msg.ID, code, e.Sentence(), form))
		return
	}
	own := failures.WithoutRecord(raw) // the record of a trusted server is part of e
	if !failures.IsProtocol(e) || f.known.Trusted && len(own) != len(raw) {
		own = failures.WithRecord(own, record)
	}
	f.answer(of.Status, wire.Splice(nil, of.Text, wire.Edit{At: of.ID, With: f.req.msg.ID}, wire.Edit{At: of.RPC, With: own}))
}

// passRefusal passes an HTTP answer that is a failure on to the client, masked, with its own status and
// challenge.
func (f *failing) passRefusal(of *failure) {
	f.out.record(f.effect(of.Err), notedAuth)
	f.out.Form = strconv.Itoa(f.reply.From.Status)
	body := masking.Body(f.known.Masker(), of.Text)
	f.reply.Head(0, false)
	_, _ = f.reply.Write(body)
}

// withProtocolData adds to the data of a JSON-RPC error what the protocol requires beside the record (MCP
// 2026-07-28, "Errors"); requested is the version that the client asked for.
func withProtocolData(told contract.Answer, e *recourse.Error, requested string) contract.Answer {
	if e.Kind != recourse.KindUnsupportedVersion || told.Surface != contract.SurfaceRPC {
		return told
	}
	var versions []string // as the server said
	_ = json.Unmarshal(json.Value(e.Details["supported"]), &versions)
	versions = slices.DeleteFunc(versions, func(v string) bool { return len(v) != len(wire.Version20260728) })
	if len(versions) == 0 {
		versions = wire.Versions()
	}
	told.Data = door.WithVersions(told.Data, versions, requested)
	return told
}
