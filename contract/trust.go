package contract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/privacy/argument"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
)

// What a server is believed about. Whether a call was not sent, or was refused, the sender knows from the
// connection, the HTTP status and the protocol's own codes. Anything else that a server says (a record, a
// code of its own, a status in a body, a sentence, and the kind derived from them) tells what happened and
// who is to blame, and is evidence enough to say that nothing was changed, but not to repeat a write: the effect
// is marked as stated. Only a trusted server is believed about that too, and its advice is passed on without
// attribution.

// believe reduces a record, in place, to what is believed: a limited wait, known words, and, from a trusted
// server, origin and effect. Any server may say that the caller or the provider is at fault, and that
// something was or may have been done: that never makes a call safe to repeat.
func (r *Reader) believe(e *recourse.Error) {
	e.RetryAfter = min(max(e.RetryAfter, 0), recourse.MaxWait)
	if !slices.Contains(contractform.Retries, string(e.Retry)) {
		e.Retry = ""
	}
	if e.Effect == recourse.EffectNone && !r.Trusted || !slices.Contains(contractform.Effects, string(e.Effect)) {
		e.Effect = ""
	}
	if e.Effect == "" || !slices.Contains(contractform.Bases, string(e.EffectBasis)) {
		e.EffectBasis = ""
	}
	foreign := !r.Trusted && e.Origin == recourse.OriginGateway
	if foreign || !slices.Contains(contractform.Origins, string(e.Origin)) {
		e.Origin = ""
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			r.believe(item.Error)
		}
	}
}

// applyTrust reduces what was read to what is believed. refused says that, according to the status or a protocol
// code, the call was not carried out.
func (r *Reader) applyTrust(reading Reading, refused bool) Reading {
	reading = r.heedDone(r.heedWait(reading))
	e := reading.Error()
	if e == nil || r.Trusted {
		return reading
	}
	e = r.distrust(e)
	if c := reading.Contract; c != nil {
		clearBy(e, c.byCode[e.Code])
	}
	// SDKs reject what a tool has returned with the code for arguments, and tools throw any code when what is behind them has failed.
	refused = refused && (e.Kind.Class() != recourse.ClassUpstream || e.Kind == recourse.KindClientError)
	if refused && (e.Effect == "" || e.Effect == recourse.EffectNone) {
		e.Effect, e.EffectBasis = recourse.EffectNone, recourse.BasisKnown
	}
	reading.Failure = e
	return reading
}

// heedWait takes the wait of a failure from its sentence, if it has none otherwise.
func (r *Reader) heedWait(reading Reading) Reading {
	e := reading.Error()
	if e == nil || e.RetryAfter != 0 || r.ContractsOnly || !canWait(e.Kind) {
		return reading
	}
	if wait := wild.WaitSaid(e.Message, r.now()); wait > 0 {
		reading.Failure = e.With(func(e *recourse.Error) { e.RetryAfter = wait })
	}
	return reading
}

// canWait reports whether a failure of that kind may pass with time.
func canWait(kind recourse.Kind) bool {
	class := kind.Class()
	return class == recourse.ClassAllowance || class == recourse.ClassUpstream
}

// heedDone marks a failure whose sentence says that something was done before it: the status or code of an answer only says what it
// ended with. The record of a trusted server counts for more.
func (r *Reader) heedDone(reading Reading) Reading {
	e := reading.Error()
	switch {
	case e == nil, e.Effect != "" && e.Effect != recourse.EffectNone, r.Trusted && reading.Sign == recordSign:
		return reading
	case wild.SaysDone(e.Message):
		reading.Failure = e.WithEffect(recourse.EffectUnknown).WithEffectBasis("")
	}
	return reading
}

// distrust returns e with an untrusted server's words, that the call was not carried out and what to do next,
// marked as such. Members that are not known here go, and a detail says so.
func (r *Reader) distrust(e *recourse.Error) *recourse.Error {
	e = e.With(func(c *recourse.Error) {
		if c.EffectBasis = ""; c.Effect != "" {
			c.EffectBasis = recourse.BasisStated
		}
		c.Hints = saidByServer(c.Hints)
		c.Verify = plainVerify(c.Verify)
		if !clean.IsWord(c.Code) {
			c.Code, c.Contract = "", ""
		}
		c.Provider = clean.Name(c.Provider)
		c.MissingScopes = slices.DeleteFunc(slices.Clone(c.MissingScopes), func(scope string) bool { return !clean.IsPlain(scope) })
		c.Violations = slices.Clone(c.Violations)
		for i := range c.Violations {
			v := &c.Violations[i]
			v.Param, v.Want = clean.Name(v.Param), clean.Name(v.Want)
		}
		c.Failed = slices.Clone(c.Failed)
		for i, item := range c.Failed {
			if item.Error != nil {
				c.Failed[i].Error = r.distrust(item.Error)
			}
		}
	})
	if n := len(e.Extra()); n > 0 { // a later version may take them for something that the server is not believed about
		return e.WithExtra(nil).WithDetail("omitted", strconv.Itoa(n)+" of the record's members, which are not known here")
	}
	return e
}

// ServerSays precedes advice from an untrusted server: in the record, in texts that speak for the writer, and
// in failures that are put into another contract's words. Advice is only passed on unmarked in a contract
// that defines the advice as the server's own (a member suggestedAction, say), and only if the server wrote
// the failure in its form.
const ServerSays = "The server says: "

// inForm returns s as the contract's own form shows it. Where that is the record, all of its advice is the writer's own.
func (s *subject) inForm() *subject {
	if s.call.Relay.OriginalContract != s.c || s.c.layout.record {
		return s
	}
	quoting := *s
	quoting.e = s.e.With(func(e *recourse.Error) {
		e.Hints = slices.Clone(e.Hints)
		for i := range e.Hints {
			e.Hints[i] = strings.TrimPrefix(e.Hints[i], ServerSays)
		}
	})
	return &quoting
}

const (
	// maxAdvice limits how many of a server's hints are kept, maxAdviceText the size of each, in bytes.
	maxAdvice     = 8
	maxAdviceText = 512
)

// saidByServer marks a server's hints as such. Each is put on one line, so that no part of it can pass for a
// line of its own.
func saidByServer(hints []string) []string {
	var said []string
	for _, hint := range hints {
		hint = strings.TrimSpace(strings.TrimPrefix(clean.VisibleLine(hint), ServerSays))
		if hint != "" && len(said) < maxAdvice {
			said = append(said, ServerSays+clean.Cut(hint, maxAdviceText))
		}
	}
	return said
}

// plainVerify returns the verify call that a server names, if it has only names and plain values, without
// sentences. Whether the tool only reads is checked elsewhere.
func plainVerify(v *recourse.Verify) *recourse.Verify {
	if v == nil || !clean.IsPlain(v.Tool) {
		return nil
	}
	for _, arg := range v.Args {
		text, isText := json.TextOf(json.Value(arg.Value))
		switch kind := json.Value(arg.Value).Kind(); {
		case !clean.IsPlain(arg.Name), len(arg.Value) > argument.MaxShown:
			return nil
		case isText && !clean.IsPlain(text), !isText && kind != '0' && kind != 't' && kind != 'f':
			return nil
		}
	}
	for _, arg := range v.From {
		if !clean.IsPlain(arg.Name) || !clean.IsPlain(strings.Trim(string(arg.Value), `["]`)) {
			return nil
		}
	}
	plain := *v
	if !clean.IsPlain(plain.LookAt) {
		plain.LookAt = ""
	}
	return &plain
}

// refusedCode reports whether a JSON-RPC error says, by a protocol code, that the request was not carried
// out.
func refusedCode(raw json.Value) bool {
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	return err == nil && rpccode.Refused(code)
}
