package handler

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/retry"
)

// Once says how a tool's writes are kept from happening twice.
type Once struct {
	Key      []string // JSON Pointers into the arguments
	Required bool     // the client has to send a key
	Within   time.Duration
	Again    bool // a call without a key that was answered may be made again
}

// Calls are those of a server that are made once.
type Calls struct {
	ledger  *once.Ledger
	server  string // in the store
	release func() error
}

// NewCalls returns the calls of the server of that name that a store keeps. release closes the store.
func NewCalls(store once.Store, server string, log *slog.Logger, release func() error) *Calls {
	return &Calls{ledger: once.New(store, once.Times{}, log), server: server, release: release}
}

// Close closes the store. Close it after the server has ended: a call that is under way then becomes unknown.
func (c *Calls) Close() error {
	c.ledger.Close()
	return c.release()
}

// WithCalls keeps the calls that are made once there instead of in memory.
func WithCalls(c *Calls) Option { return serverOption(func(s *AuthorServer) { s.calls = c }) }

// WithOnce keeps a tool's writes from happening twice.
func WithOnce(o *Once) ToolOption { return toolOption(func(r *toolFacts) { r.once = o }) }

const (
	maxKeptAnswer = 256 << 10
	maxOnceWait   = 45 * time.Second // less than most clients wait for an answer
	onceRetry     = 15 * time.Second // until the next look at a call that is under way
)

// runOnce runs the handler, unless the call was made before: then it returns what became of that, which may be a *contract.Answer.
func (x *handling) runOnce(ctx context.Context, handler Func) (any, error) {
	o := x.rule.once
	if o == nil || !x.isCall() || x.req.Continues || x.nature() == retry.Reads {
		return x.run(ctx, handler)
	}
	ask, refused := x.ask(o)
	if refused != nil {
		return nil, refused
	}
	claim, err := x.s.calls.ledger.Claim(ctx, ask)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, recourse.Unavailable("").WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone).
			WithRetryAfter(onceRetry).CausedBy(err).WithMessage("The server cannot remember another call now.")
	case claim.Verdict == once.First:
		return x.carry(ctx, claim, ask, handler)
	case claim.Verdict == once.Repeat && claim.Row.Answer != "":
		if ask.Again && ctx.Err() == nil { // the client gets it now
			_ = x.s.calls.ledger.Delivered(ctx, claim.Row)
		}
		x.once = "replayed"
		x.s.log.LogAttrs(ctx, slog.LevelInfo, "a call that is repeated gets the first answer", x.attrs()...)
		return replayed(claim.Row.Answer)
	default:
		return nil, x.repeats(claim)
	}
}

// repeats is the failure of a call that is not made because of another one.
func (x *handling) repeats(claim *once.Claim) *recourse.Error {
	switch claim.Verdict {
	case once.Other:
		x.once = "conflict"
		return toolcall.OnceConflict(claim.Row, x.req.Arguments)
	case once.Repeat:
		x.once = "known"
		return toolcall.OnceKnown(claim.Row)
	case once.UnderWay:
		x.once = "in flight"
		return toolcall.OnceUnderWay(onceRetry)
	default:
		x.once = "unknown"
		return toolcall.OnceUnknown(claim.Row, 0)
	}
}

// ask finds out the call's key.
func (x *handling) ask(o *Once) (*once.Ask, *recourse.Error) {
	meta, _ := json.Marshal(x.req.Meta) // it came as JSON
	given, wrong := once.Given(x.req.Header[once.KeyHeader], meta)
	switch {
	case wrong != "":
		return nil, toolcall.OnceWrongKey(wrong)
	case o.Required && given == "":
		return nil, toolcall.OnceNoKey()
	}
	row, by := once.RowOf(x.req.Arguments, o.Key, given, append(x.caller(), x.s.calls.server, x.req.Tool))
	row.Server, row.Tool, row.Caller, row.RequestID = x.s.calls.server, x.req.Tool, cmp.Or(x.req.Caller[2], x.req.Caller[1]), x.requestID
	wait := maxOnceWait
	if t := x.rule.timeout; t > 0 {
		wait = min(wait, t-min(time.Second, t/4))
	}
	return &once.Ask{
		Row: row, Keep: max(o.Within, x.rule.timeout), Until: time.Now().Add(wait), Again: o.Again && by == once.ByArguments, Looked: true,
	}, nil
}

// caller returns what tells callers apart: who they are or, if nobody knows, their credentials.
func (x *handling) caller() []string {
	header := x.req.Header
	words := slices.Clone(x.req.Caller[:])
	if user := x.rule.contract.Session.UserHeader; user != "" {
		words = append(words, header.Get(user))
	}
	if x.req.Caller[0] != "" {
		return words
	}
	return append(words, toolcall.Credentials(header, HeaderCharge)...)
}

// carry runs the handler to its end, even if the client leaves, and says what became of the call.
func (x *handling) carry(ctx context.Context, claim *once.Claim, ask *once.Ask, handler Func) (any, error) {
	type outcome struct {
		result any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGone}
		defer func() {
			x.concludeFailed(claim, o.err)
			done <- o
		}()
		o.result, o.err = x.run(context.WithoutCancel(ctx), func(inner context.Context) (any, error) {
			result, err := handler(inner)
			if err == nil {
				err = x.weakFailure(result)
			}
			if err == nil {
				x.keep(claim, result, ask.Again, ctx.Err() == nil)
			}
			return result, err
		})
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// keep notes that a call has happened, also if it was answered before that.
func (x *handling) keep(claim *once.Claim, result any, again, waits bool) {
	text, err := json.Marshal(result)
	_, passed := result.(Passed)
	if passed || string(json.Lookup(text, "/resultType")) == `"`+wire.InputRequired+`"` {
		claim.Free() // it asks before it begins
		return
	}
	kept := string(text)
	if err != nil || len(text) > maxKeptAnswer {
		kept = ""
	}
	claim.Answered(kept, int64(len(text)), waits, again, "answered")
	if err := x.s.calls.ledger.Landed(context.Background(), claim.Row, kept, "answered late"); err != nil {
		x.s.log.LogAttrs(context.Background(), slog.LevelWarn, "cannot write that a call was answered late: it stays unknown",
			slog.String("tool", x.req.Tool), slog.String("cause", err.Error()))
	}
}

// concludeFailed says what became of a call that has failed, if it has.
func (x *handling) concludeFailed(claim *once.Claim, err error) {
	if err == nil {
		return
	}
	f := x.read(err)
	asks := f.pass != nil && f.pass.RPCCode == wire.CodeURLElicitation
	switch effect := x.settle(f.e).Effect; {
	case asks, effect == recourse.EffectNone:
		claim.Free()
	case effect == recourse.EffectApplied:
		claim.Answered("", 0, false, false, "failed in part")
	default:
		claim.Unknown("it failed, and may have happened")
	}
}

// replayed returns an answer that was kept, with a mark.
func replayed(kept string) (*contract.Answer, error) {
	var members, meta map[string]json.Value
	err := json.UnmarshalLenient([]byte(kept), &members)
	if raw, ok := members["_meta"]; ok && err == nil {
		err = json.UnmarshalLenient(raw, &meta)
	}
	if err != nil {
		return nil, err
	}
	if meta == nil {
		meta = map[string]json.Value{}
	}
	meta["io.github.recoursehq/once"] = json.Value(`{"replayed":true}`)
	if members["_meta"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(members)
	return &contract.Answer{Surface: contract.SurfaceResult, Result: stdjson.RawMessage(raw)}, err
}
