package contract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
)

// What a server is believed on. That a call was not sent, or was refused, its sender
// knows from the connection, the HTTP status and the protocol's own codes. Anything else
// that a server says (a record, a code of its own, a status inside a body, a sentence,
// and the kind that follows from them) tells what happened and who is to blame, but not
// whether it is safe to call again. Only a trusted server is believed on that too, and
// speaks in the voice of whoever reads it.

// believe reduces a record, in place, to what is believed: a bounded wait, known words,
// and origin and effect of a trusted server. Any server may say that the caller or the
// provider is at fault, and that something was done or may have been: that makes no call
// safe to repeat.
func (r *Reader) believe(e *recourse.Error) {
	e.RetryAfter = min(max(e.RetryAfter, 0), recourse.MaxWait)
	if !slices.Contains(contractform.Retries, string(e.Retry)) {
		e.Retry = ""
	}
	if e.Effect == recourse.EffectNone && !r.Trusted || !slices.Contains(contractform.Effects, string(e.Effect)) {
		e.Effect = ""
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

// weigh reduces what was read to what is believed. refused says that, by the status or a
// code of the protocol, the call was not carried out.
func (r *Reader) weigh(reading Reading, refused bool) Reading {
	e := reading.Error()
	if e == nil || r.Trusted {
		return reading
	}
	e = r.distrust(e)
	if refused && e.Effect == "" {
		e.Effect = recourse.EffectNone
	}
	reading.Failure = e
	return reading
}

// distrust returns e without an untrusted server's word that the call was not carried
// out, and with its advice marked as the server's.
func (r *Reader) distrust(e *recourse.Error) *recourse.Error {
	e = e.With(func(c *recourse.Error) {
		if c.Effect == recourse.EffectNone {
			c.Effect = ""
		}
		c.Hints = saidByServer(c.Hints)
		c.Verify = plainVerify(c.Verify)
		if !isCodeWord(c.Code) {
			c.Code, c.Contract = "", ""
		}
		c.Provider = plainName(c.Provider)
		c.MissingScopes = slices.DeleteFunc(slices.Clone(c.MissingScopes), func(scope string) bool { return !isPlain(scope) })
		c.Violations = slices.Clone(c.Violations)
		for i := range c.Violations {
			v := &c.Violations[i]
			v.Param, v.Want = plainName(v.Param), plainName(v.Want)
		}
		c.Failed = slices.Clone(c.Failed)
		for i, item := range c.Failed {
			if item.Error != nil {
				c.Failed[i].Error = r.distrust(item.Error)
			}
		}
	})
	if len(e.Extra()) > 0 {
		return e.WithExtra(nil)
	}
	return e
}

// ServerSays stands before advice that comes from a server that is not trusted: in the
// record, in texts in which the writer speaks, and where a failure is put into the words
// of another contract. The advice stands as it came only in a contract whose advice is
// the server's by definition (a member suggestedAction, say), and only if the server is
// known to keep that contract and wrote the failure in it.
const ServerSays = "The server says: "

// inForm returns s as the contract's own form shows it.
func (s *subject) inForm() *subject {
	if !s.call.Quotes || s.c.layout.speaksForWriter() {
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

// speaksForWriter reports whether advice in this layout is the writer's: the layout shows
// the record, with all hints in one place.
func (l *layout) speaksForWriter() bool { return l.structured && l.shape == nil }

const (
	// maxAdvice bounds how many hints of a server are kept, maxAdviceText each of them,
	// in bytes.
	maxAdvice     = 8
	maxAdviceText = 512
)

// saidByServer marks a server's hints as such, each on one line, so that no part of a
// hint can stand on a line of its own.
func saidByServer(hints []string) []string {
	var said []string
	for _, hint := range hints {
		hint = strings.TrimSpace(strings.TrimPrefix(onOneLine(hint), ServerSays))
		if hint != "" && len(said) < maxAdvice {
			said = append(said, ServerSays+cutTo(hint, maxAdviceText))
		}
	}
	return said
}

// plainVerify returns the verify call that a server names, if it consists of names and
// plain values, without sentences. Whether the tool only reads is for others to know.
func plainVerify(v *recourse.Verify) *recourse.Verify {
	if v == nil || !isPlain(v.Tool) {
		return nil
	}
	for _, arg := range v.Args {
		text, isText := textValue(json.Value(arg.Value))
		switch kind := json.Value(arg.Value).Kind(); {
		case !isPlain(arg.Name), len(arg.Value) > argument.MaxShown:
			return nil
		case isText && !isPlain(text), !isText && kind != '0' && kind != 't' && kind != 'f':
			return nil
		}
	}
	plain := *v
	if !isPlain(plain.LookAt) {
		plain.LookAt = ""
	}
	return &plain
}

// refusedCode reports whether a JSON-RPC error says, by a code of the protocol, that the
// request was not carried out.
func refusedCode(raw json.Value) bool {
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	return err == nil && rpccode.Refused(code)
}
