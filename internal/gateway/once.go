package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
	"github.com/recoursehq/recourse/retry"
)

// once keeps a call from happening again that somebody repeats. See package once for what is remembered, and who decides.
func once(c *call, next next) *failure {
	if c.rule.Once == nil || !c.req.isCall() || c.rule.nature == retry.Reads || c.req.msg.Continues() {
		return next(c)
	}
	k := &keyed{call: c, rule: c.rule.Once, pointers: c.rule.Once.Key}
	if k.rule.FromContract {
		if k.pointers = c.on.contract.OnceKey(c.req.msg.Name); k.pointers == nil {
			return next(c)
		}
	}
	if c.g.ledger == nil { // the configuration has been reloaded since, but a store needs a restart
		return k.noStore(errNoStore)
	}
	if e := k.identify(); e != nil {
		return answer.Settled(e)
	}
	return k.claim(next)
}

// A keyed is a call that is made once.
type keyed struct {
	call     *call
	rule     *config.Once
	pointers config.OnceKey
	given    string // the client's own key
	ask      claims.Ask
	claimed  *claims.Claim // while this call is the first
	heard    *heard        // what the server says to the last attempt
}

// lateFor is for how long the gateway goes on listening to a server after a call has ended.
const lateFor = 2 * time.Minute

// identify finds out the call's key.
func (k *keyed) identify() *recourse.Error {
	given, wrong := claims.Given(k.call.req.header[claims.KeyHeader], k.call.req.msg.Meta)
	if wrong != "" {
		return toolcall.OnceWrongKey(wrong)
	}
	pointers := k.pointers
	if pointers.Required() {
		if given == "" {
			return toolcall.OnceNoKey()
		}
		pointers = nil
	}
	scope := append(k.scope(), k.call.on.entry.Name, k.call.req.msg.Name)
	if k.call.rule.again != "" {
		scope = append(scope, claims.AgainArgument, k.call.rule.again)
	}
	row, by := claims.RowOf(k.call.req.msg.Arguments, pointers, given, scope)
	if by == claims.ByGiven {
		k.given = given
	}
	row.Server, row.Tool, row.Caller, row.RequestID = k.call.on.entry.Name, k.call.req.msg.Name, k.call.who.verified.Name, k.call.req.id
	k.ask = claims.Ask{
		Row:   row,
		Keep:  max(k.rule.Within, k.call.on.entry.MaxTimeout+k.call.rule.wait+lateFor),
		Again: by == claims.ByArguments && k.rule.Delivered == config.DeliveredAgain,
	}
	return nil
}

// scope returns what the key counts for: the caller, with whatever tells unverified ones apart.
func (k *keyed) scope() []string {
	words := []string{string(k.call.who.owner[:]), k.call.who.account.Owner()}
	if k.call.who.verified.Known() {
		return words
	}
	if k.call.of != nil {
		words = append(words, k.call.of.sent...)
	}
	return append(words, toolcall.Credentials(k.call.req.header)...)
}

// claim asks whether the call may be sent, and does what it is told.
func (k *keyed) claim(next next) *failure {
	for {
		k.ask.Until = time.Now().Add(k.patience())
		claim, err := k.call.g.ledger.Claim(k.call.ctx, &k.ask)
		switch {
		case err != nil:
			return k.noStore(err)
		case claim.Waited:
			k.call.out.Once = "waited"
		}
		if claim.Verdict != claims.First && claim.Row != nil {
			k.call.out.First = claim.Row.RequestID
		}
		switch claim.Verdict {
		case claims.First:
			return k.carry(claim, next)
		case claims.Repeat:
			return k.replay(claim.Row)
		case claims.Other:
			return k.conflicts(claim.Row)
		case claims.UnderWay:
			return k.underWay(lateFor / 8)
		case claims.Late:
			if f, ended := k.lookEarly(claim.Row); ended {
				return f
			}
		case claims.Doubted:
			if f, again := k.settle(claim.Row, next); !again {
				return f
			}
		}
	}
}

// patience is for how long the call can wait and still answer in time.
func (k *keyed) patience() time.Duration {
	left := k.call.deadline.Left()
	return left - min(time.Second, left/4)
}

// carry sends the call, and says what became of it.
func (k *keyed) carry(claim *claims.Claim, next next) (f *failure) {
	k.claimed, k.call.out.Once = claim, "first"
	if k.call.once = k; k.recognised() {
		k.call.rule.nature = retry.Idempotent // by its key, the other side knows a repetition
	}
	ended := false
	defer func() {
		k.call.once = nil
		if !ended { // a panic
			claim.Unknown("the gateway failed")
		}
	}()
	f = next(k.call)
	ended = true
	k.conclude(f)
	return f
}

// recognised reports whether the other side recognises a repetition by its key.
func (k *keyed) recognised() bool {
	to := k.call.on.entry
	return to.IdempotentBy != "" || to.API != nil && slices.ContainsFunc(to.API.Tools, func(t *openapi.Offer) bool {
		return t.Keyed && t.Name == k.call.req.msg.Name
	})
}

// outKey returns the key by which the other side may recognise the call: the same for each repetition.
func (k *keyed) outKey() string {
	if k.given != "" {
		return newKey(&k.call.req, &k.call.who, k.call.on)
	}
	return k.claimed.Row.Nonce
}

// conclude closes the claim, if it is known what became of the call, or else when that becomes known.
func (k *keyed) conclude(f *failure) {
	claim, h := k.claimed, k.heard
	text, size := h.answer()
	brief := k.ask.Again
	switch {
	case f == nil && h.isQuestion():
		claim.Free() // the server asks before it begins
	case f == nil && size == 0: // in a stream that the client resumes elsewhere
		claim.Unknown("its answer was not seen")
	case f == nil:
		kept := k.seal(text)
		k.whenRead(func(read bool) { claim.Answered(kept, size, read, brief, "answered") })
	default:
		k.concludeFailed(k.call.failing(&f.Last).effectOf(f.Err, f.Err).Effect)
	}
}

func (k *keyed) concludeFailed(effect recourse.Effect) {
	claim, h := k.claimed, k.heard
	text, size := h.answer()
	switch {
	case effect == recourse.EffectNone:
		claim.Free()
	case effect == recourse.EffectApplied:
		claim.Answered(k.seal(text), size, false, false, "failed in part")
	case h.leave(k, claim):
	default:
		claim.Unknown("it failed, and may have happened")
	}
}

// purpose is what answers are sealed for.
func (k *keyed) purpose() []byte { return []byte("once\x00" + k.ask.Row.ID) }

func (k *keyed) seal(text []byte) string {
	if text == nil {
		return ""
	}
	return k.call.table.states.Seal(text, k.purpose())
}

// replay gives the client the answer that was kept.
func (k *keyed) replay(row *claims.Row) *failure {
	text, err := k.call.table.states.Open(row.Answer, k.purpose())
	if row.Answer == "" || err != nil {
		return k.known(row)
	}
	k.call.out.Once, k.call.out.before = "replayed", true
	f := k.pass(text, k.replayedMark())
	k.noteDelivered(f, row)
	return f
}

// noteDelivered notes that the client has got an answer, if that lets it make the call again.
func (k *keyed) noteDelivered(f *failure, row *claims.Row) {
	if f != nil || !k.ask.Again || row.Delivered {
		return
	}
	l := k.call.g.ledger
	k.whenRead(func(read bool) {
		if read {
			_ = l.Delivered(context.Background(), row) // else the client gets it again
		}
	})
}

// The members that an answer gets which has been kept.
const (
	onceMember   = `"io.github.recoursehq/once":`
	verifiedMark = onceMember + `{"replayed":true,"verified":true}`
)

// replayedMark returns the member of an answer that was kept. Where equal arguments may be meant, it says how.
func (k *keyed) replayedMark() string {
	how := ""
	switch {
	case k.given != "" || len(k.pointers) > 0:
	case k.rule.Delivered == config.DeliveredArgument:
		how = `,"hint":"To make this call again on purpose, give ` + claims.AgainArgument + ` a new text."`
	case k.rule.Delivered == config.DeliveredReplay:
		how = `,"hint":"To make this call again on purpose, send it with a new idempotency key."`
	}
	return onceMember + `{"replayed":true` + how + `}`
}

// pass answers with a message that the server has sent before.
func (k *keyed) pass(message []byte, mark string) *failure {
	c := k.call
	if err := c.in.Rescan(message); err != nil {
		return answer.Settled(recourse.Internal().WithOrigin(recourse.OriginGateway).CausedBy(err))
	}
	text := marked(message, c.in.Signs, c.req.msg.ID, mark)
	a := newAttempt(c)
	resp := wire.RespondMessage(text, nil)
	c.expect(a, resp)
	c.reply.From = resp
	end := c.on.mode.answer(c)
	return end.Settled()
}

// marked returns a message with another id, and with a member in its result's _meta.
func marked(message []byte, signs *wire.Signs, id wire.ID, mark string) []byte {
	edits := []wire.Edit{{At: signs.IDAt, With: id}}
	switch at := signs.Meta; {
	case !at.IsZero() && message[at.Start] == '{':
		edits = append(edits, member(message, at, mark))
	case at.IsZero() && !signs.Result.IsZero() && message[signs.Result.Start] == '{':
		edits = append(edits, member(message, signs.Result, `"_meta":{`+mark+`}`))
	}
	return wire.Splice(nil, message, edits...)
}

// member returns the edit that adds a member at the beginning of an object.
func member(text []byte, object wire.Span, with string) wire.Edit {
	at := wire.Span{Start: object.Start + 1, End: object.Start + 1}
	for i := at.Start; i < object.End; i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '}':
			return wire.Edit{At: at, With: []byte(with)}
		}
		break
	}
	return wire.Edit{At: at, With: []byte(with + ",")}
}

// whenRead calls do when it is known whether the client has got the whole answer.
func (k *keyed) whenRead(do func(read bool)) {
	c := k.call
	if c.of != nil {
		c.of.whenRead(do)
		return
	}
	do(c.reply.Arrived() && !c.req.left())
}

// isOrdered reports whether all that the client sends comes in order: when its next message is there, it is also known whether it had
// left before. Over HTTP/1.1 that message may overtake, on a second connection, the end of the first.
func (r *request) isOrdered() bool { return r.stdio || r.from.ProtoMajor >= 2 }

// noStore is the failure of a call that cannot be remembered, and is therefore not sent.
func (k *keyed) noStore(err error) *failure {
	if k.call.ctx.Err() != nil {
		return answer.Settled(k.call.on.broken(k.call.ctx, err).WithEffect(recourse.EffectNone))
	}
	k.call.out.Once = "not remembered"
	k.call.g.log.LogAttrs(k.call.ctx, slog.LevelError, "a call that is made once is refused: the store cannot be used",
		slog.String("server", k.call.on.entry.Name), slog.String("request_id", k.call.req.id), slog.String("cause", err.Error()))
	return answer.Settled(recourse.Unavailable("").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithRetryAfter(storeWait).CausedBy(err).
		WithMessage("The gateway cannot remember calls at the moment, and does not send one that must not be made twice."))
}

var errNoStore = errors.New("the gateway was started without a store")

// storeWait is how long a client is told to wait for the store.
const storeWait = 5 * time.Second

var againSchema = json.Value(`{"type":"string","maxLength":255,"description":"Leave this out, unless you mean to make a call a second ` +
	`time that you have made before: with the same arguments it is otherwise not made again, and you get its first answer. ` +
	`To mean it, put in a text that you have not used here before. Keep that text when you repeat a call whose answer you did not get."}`)

// takesAgain reports whether the gateway adds an argument to a tool by which a call is meant again. If the tool has one of that
// name, it is the tool's. listed is nil if that is not known.
func (on *endpoint) takesAgain(name string, listed *toolcall.Entry) bool {
	tool := on.entry.Tool(name)
	return tool.Once != nil && tool.Once.Delivered == config.DeliveredArgument &&
		(listed == nil || !listed.Takes(claims.AgainArgument)) && on.natureOf(name, tool, listed) != retry.Reads
}

// withAgain returns a tool of the server's list as clients see it.
func (on *endpoint) withAgain(raw json.Value, listed *toolcall.Entry) json.Value {
	if !on.takesAgain(listed.Name, listed) {
		return raw
	}
	return json.Change(raw, "inputSchema", func(schema json.Value) json.Value {
		if schema.Kind() != '{' {
			return schema
		}
		properties := json.MembersOf(json.Lookup(schema, "/properties"))
		properties.Add(claims.AgainArgument, againSchema)
		added := json.MembersOf(json.Without(schema, "properties"))
		added.Object("properties", properties)
		return added.AppendTo(nil)
	})
}

// takeAgain takes the gateway's own argument out of a call, and keeps its value.
func (r *rule) takeAgain(on *endpoint, of *request) *recourse.Error {
	if !on.takesAgain(of.msg.Name, r.listed.Tool) {
		return nil
	}
	raw := json.Lookup(of.msg.Arguments, "/"+claims.AgainArgument)
	if raw == nil {
		return nil
	}
	value, isText := json.TextOf(raw)
	leftOut := raw.Kind() == 'n' || isText && value == "" // as some models do it
	if !leftOut && (!isText || claims.CheckKey(value) != "") {
		return toolcall.OnceWrongAgain()
	}
	r.again = value
	return of.change(json.Change(of.msg.Params, "arguments", withoutAgain))
}

func withoutAgain(arguments json.Value) json.Value {
	return json.Without(arguments, claims.AgainArgument)
}

// listedTool returns a tool of the server's list as the caller sees it; nil if the caller does not.
func (c *call) listedTool(raw json.Value) json.Value {
	tool := toollist.ReadTool(raw)
	switch {
	case tool == nil && c.on.grants == nil:
		return raw
	case tool == nil, !c.sees(tool):
		return nil
	default:
		return c.on.withAgain(raw, tool)
	}
}
