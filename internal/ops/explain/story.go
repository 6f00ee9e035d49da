package explain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/docs/kinddoc"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/retry"
)

// Story tells what happened to a call. The words of servers and clients in it are safe on a terminal.
func Story(c *journal.Row) Lines {
	var w teller
	w.addf("request", "%s", c.RequestID)
	w.addf("call", "%s", subject(c))
	if by := caller(c); by != "" {
		w.addf("by", "%s", by)
	}
	if len(c.Arguments) > 0 {
		w.addf("arguments", "%s", c.Arguments)
	}
	w.addf("began", "%s, and took %s", c.Began.UTC().Format("2006-01-02 15:04:05.000 MST"), Took(c.Took))
	if c.TraceID != "" {
		w.addf("trace", "%s", c.TraceID)
	}
	w.gap()
	for i := range c.Attempts {
		w.attempt(c, i)
	}
	if more := c.Sent - len(c.Attempts); more > 0 {
		w.eventf(c.Took, "%d more attempts were made", more)
	}
	w.ending(c)
	if c.Failure != nil {
		w.gap()
		w.told(c)
	}
	return w.lines
}

// subject says what was called.
func subject(c *journal.Row) string {
	on := "a path without a server"
	if c.Server != "" {
		on = c.Server
	}
	switch {
	case c.Tool != "":
		return fmt.Sprintf("the tool %s of %s, which %s", c.Tool, on, doing(c.Nature))
	case c.Name != "":
		return fmt.Sprintf("%s %s of %s", c.Method, c.Name, on)
	case c.Method != "":
		return c.Method + " of " + on
	default:
		return "a request to " + on
	}
}

// doing says what a tool of that nature does.
func doing(nature string) string {
	switch nature {
	case retry.Reads.String():
		return "only reads"
	case retry.Idempotent.String():
		return "writes, but twice has the effect of once"
	case journal.Assumed:
		return "is assumed to write, since nobody says what it does"
	default:
		return "writes"
	}
}

// caller says who called.
func caller(c *journal.Row) string {
	var by []string
	if c.Caller != "" {
		name := c.Caller
		if c.Org != "" {
			name += " of " + c.Org
		}
		if c.Access != "" {
			name += " (" + c.Access + ")"
		}
		by = append(by, name)
	}
	if c.User != "" {
		by = append(by, "user "+c.User)
	}
	if c.Peer != "" {
		by = append(by, "from "+c.Peer)
	}
	return strings.Join(by, ", ")
}

// attempt tells of one request to the server.
func (w *teller) attempt(c *journal.Row, i int) {
	a, last := c.Attempts[i], i == len(c.Attempts)-1
	switch {
	case i == 0:
		w.eventf(a.After, "sent to %s", c.Server)
	case a.Wait > 0:
		w.eventf(a.After, "sent again, after a wait of %s", Took(a.Wait))
	default:
		w.eventf(a.After, "sent again at once")
	}
	with := "no answer"
	if a.Status != 0 {
		with = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status)))
	}
	end := a.After + a.Took
	switch {
	case a.Failure == "" && a.Status == 0:
		w.eventf(end, "%s has not answered", c.Server)
	case a.Failure == "":
		w.eventf(end, "%s answered: %s", c.Server, with)
	default:
		w.eventf(end, "failed: %s, %s", a.Failure, with)
	}
	switch {
	case a.Reason != "" && !last:
		w.eventf(-1, "to be repeated, because %s", a.Reason)
	case last && c.Final != "":
		w.eventf(-1, "not repeated: %s", c.Final)
	}
}

// ending tells what the client got.
func (w *teller) ending(c *journal.Row) {
	if len(c.Attempts) == 0 {
		w.eventf(0, "not sent to any server")
	}
	if c.Once != "" {
		w.eventf(-1, "made once (docs/once.md): %s", c.Once)
	}
	if c.First != "" {
		w.eventf(-1, "the request that sent it before: %s", c.First)
	}
	got := "no answer"
	if c.Status != 0 {
		got = fmt.Sprintf("HTTP %d with %d bytes", c.Status, c.Bytes)
	}
	switch {
	case c.Observed:
		w.eventf(c.Took, "%s: the client got what the server said, unchanged: %s", c.Ending, got)
	default:
		w.eventf(c.Took, "%s: the client got %s", c.Ending, got)
	}
	if c.Late != "" {
		w.eventf(-1, "what the server answered after that: %s", c.Late)
	}
}

// told tells what the client was told, and what is behind it.
func (w *teller) told(c *journal.Row) {
	e := c.Failure
	if c.Line != "" {
		w.addf("looks like", "%s", e.Kind)
		w.addf("to have it told", "%s, in the entry of %s", c.Line, c.Server)
	} else {
		w.addf("told as", "%s, in the form of %s", strings.TrimSpace(string(e.Kind)+" "+bracketed(e.Code)), c.Contract)
	}
	w.addf("message", "%s", e.Sentence())
	w.addf("origin", "%s", e.Origin)
	w.addf("effect", "%s", effectText(e))
	w.addf("retry", "%s", advice(e))
	if e.RetryAfter > 0 {
		w.addf("wait", "at least %s", recourse.FormatWait(e.RetryAfter))
	}
	if v := e.Verify; v != nil {
		args, err := json.Marshal(v.Args)
		if err != nil || v.Args == nil {
			args = nil
		}
		w.addf("verify", "%s %s", v.Tool, args)
	}
	for _, v := range e.Violations {
		w.addf("violation", "%s: %s", v.Param, strings.TrimSpace(v.Message+" ("+v.Rule+")"))
	}
	for _, hint := range e.Hints {
		w.addf("what to do", "%s", hint)
	}
	if c.Cause != "" {
		w.addf("cause", "%s", c.Cause)
	}
	w.addf("see", "%s", kinddoc.URL(e.Kind))
}

// bracketed returns a code in brackets, if there is one.
func bracketed(code string) string {
	if code == "" {
		return ""
	}
	return "[" + code + "]"
}

// effectText says whether anything was changed, and on what that rests if it is not known first-hand.
func effectText(e *recourse.Error) string {
	switch e.EffectBasis {
	case recourse.BasisStated:
		return string(e.Effect) + ", by the server's word"
	case recourse.BasisProfile:
		return string(e.Effect) + ", by the profile of its package"
	default:
		return string(e.Effect)
	}
}
