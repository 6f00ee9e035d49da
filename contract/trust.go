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

// Who knows what of a failed call: that it was not sent, or was refused, whoever sent it
// knows by the connection, the HTTP status and the codes of the protocol itself. All else
// that a server says of a call (a record, a code of its own, a status inside a body, a
// sentence, and the kind that follows from any of them) tells what happened and who is
// to blame, but not whether it is safe to call again. Only a server that is trusted is
// believed on that, and speaks in the voice of whoever reads it.

// believe leaves of a record, which it changes in place, what is believed: a wait
// up to a bound, words that are known, and origin and effect only of a server that
// is trusted. That it is the caller's fault, or the provider's, any server may say, and
// that something was done, or may have been: that makes no call safe to repeat.
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

// weigh leaves of what was read what is believed. refused says that the status or a
// code of the protocol says that the call was not carried out.
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

// distrust returns e without the word of a server that is not trusted that the call was
// not carried out, and with its advice as advice of the server's.
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
	return e.WithExtra(nil)
}

// ServerSays stands before each piece of advice that comes from a server which is not
// trusted: in the record, in every text of a contract that speaks for whoever writes it,
// and where a failure is put in the words of another contract. Only in the form of a
// contract whose advice is the server's own by definition (a member suggestedAction, say),
// and only where the server is known to keep that contract and has written the failure
// in it, does the advice stand as it came: it is the server's place.
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

// speaksForWriter reports whether advice in the form is that of whoever writes it: the
// form shows the record, and hints of everybody's in one place.
func (l *layout) speaksForWriter() bool { return l.structured && l.shape == nil }

const (
	// maxAdvice bounds the pieces of a server's advice, maxAdviceText one of them, in bytes.
	maxAdvice     = 8
	maxAdviceText = 512
)

// saidByServer returns the advice of a server as what it is: led, and on one line, so
// that none of it can stand on a line of its own.
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

// plainVerify returns the call that a server names as the one that settles what became
// of another, where it is nothing but that: names and plain values, no sentences.
// Whether the tool only reads is for others to know.
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

// refusedCode reports whether a JSON-RPC error says by a code of the protocol that the
// request was not carried out.
func refusedCode(raw json.Value) bool {
	code, err := strconv.Atoi(string(json.Lookup(raw, "/code")))
	return err == nil && rpccode.Refused(code)
}
