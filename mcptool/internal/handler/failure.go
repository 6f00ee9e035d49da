package handler

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// ResultError is a tool result with isError.
type ResultError struct {
	Result json.Value
	// Err is what else the SDK knows about the failure, or nil.
	Err error
	// Own says that the handler itself has set the structured content, whatever the tool declares.
	Own bool
}

// Error says that a tool result is an error, without repeating its content.
func (e *ResultError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "the tool result says isError"
}

// Unwrap returns what else the SDK knows about the failure.
func (e *ResultError) Unwrap() error { return e.Err }

// RPCError is a JSON-RPC error that a handler has returned or wrapped.
type RPCError struct {
	Raw json.Value // with the members code, message and data
	Err error
}

// Error returns the text of the error that was returned.
func (e *RPCError) Error() string { return e.Err.Error() }

// Unwrap returns the error that was returned.
func (e *RPCError) Unwrap() error { return e.Err }

// errGone is the failure of a handler that has ended its goroutine.
var errGone = errors.New("the handler has ended its goroutine")

// credentials masks credentials in texts that were not written as a record.
var credentials = redact.New(redact.Secrets)

// masker masks credentials, and what the contract keeps out of failures.
func (x *handling) masker() *redact.Masker {
	return credentials.With(x.rule.contract.Mask...).About(x.req.Arguments)
}

// fail writes a failure as the contract says, and logs it.
func (x *handling) fail(ctx context.Context, err error) *contract.Answer {
	x.refund()
	if ctx.Err() == nil { // else nobody reads the answer, and the handler may still be running
		if newer := x.relist(ctx); newer != nil {
			x.listed = newer.In(x.req.Tool)
		}
	}
	if n, ok := errors.AsType[*recourse.NeedsInput](err); ok && x.isCall() {
		if answer := x.rule.contract.Ask(n, x.contractCall()); answer.Record == nil { // otherwise it is written as a failure
			return &answer
		}
	}
	f := x.read(err)
	if f.pass != nil {
		x.record(ctx, x.settle(f.e), err)
		return f.pass
	}
	call := x.contractCall()
	if f.original != nil {
		call.Relay.Original, call.Relay.OriginalAt, call.Relay.OriginalContract = stdjson.RawMessage(f.original), f.at, f.from
	}
	e := x.settle(f.e)
	answer := x.rule.contract.Write(e, call)
	if answer.Surface != contract.SurfaceResult && x.req.ResultOnly {
		call.At = contract.AtTool // where contracts prefer results
		answer = x.rule.contract.Write(e, call)
	}
	if !answer.Asks { // a question is no failure
		x.record(ctx, answer.Record, err)
	}
	return &answer
}

// A raised error is what a handler failed with.
type raised struct {
	e        *recourse.Error
	original json.Value         // the result or the JSON-RPC error that contained it
	at       contract.Surface   // which of these
	from     *contract.Contract // the contract that it followed
	pass     *contract.Answer   // it is for the client's program, and passes unchanged
}

func (x *handling) read(err error) raised {
	if said, ok := errors.AsType[recourse.Failure](err); ok {
		return raised{e: recourse.From(said)}
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		return raised{e: recourse.Internal().CausedBy(p)}
	}
	if r, ok := errors.AsType[*RPCError](err); ok {
		return x.readRPC(r)
	}
	if r, ok := errors.AsType[*ResultError](err); ok {
		return x.readResult(r)
	}
	e := recourse.From(err)
	if e.Kind == recourse.KindTimeout && e.Provider == "" && x.expired() {
		e = e.WithMessage("The tool did not finish within %s.", recourse.FormatWait(x.rule.timeout))
	} else if x.rule.texts != nil && *x.rule.texts {
		if text := x.told(err); text != "" {
			e = e.WithMessage("%s", text)
		}
	}
	return raised{e: e}
}

// maxText limits the length of an error's text for clients.
const maxText = 4 << 10

// told returns the text of an error for clients: masked, then cut.
func (x *handling) told(err error) string {
	const most = 4 * maxText // to be masked: half a secret may not look like one
	text := err.Error()
	if len(text) > most {
		text = text[:most]
	}
	text = redact.New(redact.All, string(x.req.Arguments)).With(x.rule.contract.Mask...).String(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " [cut]"
	}
	return strings.TrimSpace(text)
}

// reader reads failures in any form. What a server says about itself is believed.
func (x *handling) reader() *contract.Reader {
	return &contract.Reader{
		Contracts: []*contract.Contract{x.rule.contract}, Own: x.rule.contract, Trusted: true, Families: x.rule.families, Now: x.s.now,
	}
}

func (x *handling) readResult(r *ResultError) raised {
	original := json.Value(x.masker().JSON(r.Result))
	reading, ok := x.reader().Result(original)
	switch {
	case !ok:
		return raised{e: recourse.Internal().CausedBy(r)}
	case reading.Error() == nil: // a question, which is not an error
		return raised{e: recourse.From(reading.Failure)}
	}
	f := raised{e: reading.Error().CausedBy(r), original: original, from: reading.Contract}
	if x.listed.Tool == nil || !x.listed.Tool.OutputSchema {
		return f
	}
	structured := json.Lookup(original, "/structuredContent")
	switch {
	case r.Own && f.from == nil && structured != nil:
		f.e = f.e.WithDetail("structuredContent", stdjson.RawMessage(structured))
	case !r.Own && f.e.Kind == recourse.KindUnknown && r.Err == nil && isOnlyOutput(original):
		return raised{e: recourse.Internal().CausedBy(errOverwritten)}
	}
	f.original = json.Without(original, "structuredContent")
	return f
}

// weakFailure returns the failure that a result without isError reports in a weak form of one of the families, or nil.
func (x *handling) weakFailure(result any) error {
	if len(x.rule.families) == 0 || !x.isCall() {
		return nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil
	}
	if _, failed := x.reader().Result(raw); !failed {
		return nil
	}
	return &ResultError{Result: raw, Own: true}
}

// errOverwritten is the private cause of a result whose own words are lost.
var errOverwritten = errors.New("the tool's result says isError, and the Go SDK has replaced what it holds by the zero output: " +
	"return an error, or add the tool with mcptool.AddTool")

// isOnlyOutput reports whether a result contains only its structured output.
func isOnlyOutput(result json.Value) bool {
	var text string
	structured := json.Lookup(result, "/structuredContent")
	err := json.Unmarshal(json.Lookup(result, "/content/0/text"), &text)
	return err == nil && structured != nil && text == string(structured) && json.Lookup(result, "/content/1") == nil
}

// readRPC reads a JSON-RPC error. One that is for the client's program rather than for its model passes unchanged: it
// is about the message itself, about a method other than tools/call or about a call that continues, or asks for
// something.
func (x *handling) readRPC(r *RPCError) raised {
	raw := json.Value(x.masker().JSON(r.Raw))
	reading := x.reader().RPC(raw)
	e := reading.Error()
	if e == nil {
		e = recourse.Internal()
	}
	e = e.CausedBy(r)
	var head struct {
		Code    json.Value `json:"code"`
		Message string     `json:"message"`
		Data    json.Value `json:"data"`
	}
	_ = json.UnmarshalLenient(raw, &head) // it was written here
	code, _ := strconv.Atoi(string(head.Code))
	if x.isCall() && !x.req.Continues && code != wire.CodeURLElicitation && !rpccode.ForProgram(e.Kind) {
		return raised{e: e, original: raw, at: contract.SurfaceRPC, from: reading.Contract}
	}
	return raised{e: e, pass: &contract.Answer{
		Surface: contract.SurfaceRPC, RPCCode: code, Message: head.Message, Data: stdjson.RawMessage(head.Data), Record: e,
	}}
}

// settle completes a failure with what is known about the call.
func (x *handling) settle(e *recourse.Error) *recourse.Error {
	if e.Origin == "" {
		e = e.WithOrigin(originOf(e.Kind))
	}
	return x.call().Settle(e)
}

// originOf returns who has failed if the record does not say.
func originOf(kind recourse.Kind) recourse.Origin {
	if kind.Class() == recourse.ClassInput || kind == recourse.KindCancelled {
		return recourse.OriginCaller
	}
	return recourse.OriginServer
}

// call describes the call.
func (x *handling) call() *toolcall.Call {
	return &toolcall.Call{
		Listed: x.listed, ID: x.requestID, Method: x.req.Method, Name: x.req.Tool, Arguments: x.req.Arguments,
		Contract: x.rule.contract, Masker: x.masker, Nature: x.nature(), Ran: x.ran, Wrote: x.wrote.Load(),
		Trusted: true, Verify: x.rule.verify,
	}
}

// contractCall describes the call to the contract.
func (x *handling) contractCall() *contract.Call {
	at := contract.AtTool
	if !x.ran {
		at = contract.AtArguments
	}
	call := x.call().Describe(at)
	call.ResultType, call.Now = x.req.ResultType, x.s.now
	return call
}
