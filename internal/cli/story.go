package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/journal"
	"github.com/recoursehq/recourse/internal/kinddoc"
	"github.com/recoursehq/recourse/internal/visible"
	"github.com/recoursehq/recourse/retry"
)

// explainRequest tells what happened to the calls of a request id.
func (c *explainCommand) explainRequest(ctx context.Context, env *Environment) error {
	s, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	calls, err := journal.Of(ctx, s.Journal(), c.File)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return &hintedError{
			fmt.Errorf("the journal has no request %q, and there is no such file", c.File),
			"it keeps only a share of the calls that succeed, and writes all of them a moment after they end; see `recourse failures`",
		}
	}
	for i, call := range calls {
		if c.JSON {
			raw, err := json.Marshal(call)
			if err != nil {
				return fmt.Errorf("print call %s: %w", call.RequestID, err)
			}
			printf(env.Stdout, "%s\n", visible.EscapeJSON(raw))
			continue
		}
		if i > 0 {
			printf(env.Stdout, "\n")
		}
		tellStory(env.painter(env.Stdout), call)
	}
	return nil
}

// tellStory tells what happened to a call.
func tellStory(w painter, c *journal.Call) {
	sayf(w, "request", "%s", c.RequestID)
	sayf(w, "call", "%s", subject(c))
	if by := caller(c); by != "" {
		sayf(w, "by", "%s", by)
	}
	if len(c.Arguments) > 0 {
		sayf(w, "arguments", "%s", c.Arguments)
	}
	sayf(w, "began", "%s, and took %s", c.Began.UTC().Format("2006-01-02 15:04:05.000 MST"), took(c.Took))
	if c.TraceID != "" {
		sayf(w, "trace", "%s", c.TraceID)
	}
	printf(w.w, "\n")
	for i := range c.Attempts {
		tellAttempt(w, c, i)
	}
	if more := c.Sent - len(c.Attempts); more > 0 {
		eventf(w, c.Took, "%d more attempts were made", more)
	}
	tellEnd(w, c)
	if c.Failure != nil {
		printf(w.w, "\n")
		tellFailure(w, c)
	}
}

// sayf is linef for the words of servers and clients.
func sayf(w painter, name, format string, args ...any) {
	linef(w, name, "%s", visible.Escape(fmt.Sprintf(format, args...)))
}

// subject says what was called.
func subject(c *journal.Call) string {
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
	default:
		return "writes"
	}
}

// caller says who called.
func caller(c *journal.Call) string {
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

// tellAttempt tells of one request to the server.
func tellAttempt(w painter, c *journal.Call, i int) {
	a, last := c.Attempts[i], i == len(c.Attempts)-1
	switch {
	case i == 0:
		eventf(w, a.After, "sent to %s", c.Server)
	case a.Wait > 0:
		eventf(w, a.After, "sent again, after a wait of %s", took(a.Wait))
	default:
		eventf(w, a.After, "sent again at once")
	}
	with := "no answer"
	if a.Status != 0 {
		with = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status)))
	}
	end := a.After + a.Took
	switch {
	case a.Failure == "" && a.Status == 0:
		eventf(w, end, "%s has not answered", c.Server)
	case a.Failure == "":
		eventf(w, end, "%s answered: %s", c.Server, with)
	default:
		eventf(w, end, "failed: %s, %s", a.Failure, with)
	}
	switch {
	case a.Reason != "" && !last:
		eventf(w, -1, "to be repeated, because %s", a.Reason)
	case last && c.Final != "":
		eventf(w, -1, "not repeated: %s", c.Final)
	}
}

// tellEnd tells what the client got.
func tellEnd(w painter, c *journal.Call) {
	if len(c.Attempts) == 0 {
		eventf(w, 0, "not sent to any server")
	}
	got := "no answer"
	if c.Status != 0 {
		got = fmt.Sprintf("HTTP %d with %d bytes", c.Status, c.Bytes)
	}
	switch {
	case c.Observed:
		eventf(w, c.Took, "%s: the client got what the server said, unchanged: %s", c.Ending, got)
	default:
		eventf(w, c.Took, "%s: the client got %s", c.Ending, got)
	}
}

// tellFailure tells what the client was told, and what is behind it.
func tellFailure(w painter, c *journal.Call) {
	e := c.Failure
	sayf(w, "told as", "%s, in the form of %s", strings.TrimSpace(string(e.Kind)+" "+bracketed(e.Code)), c.Contract)
	sayf(w, "message", "%s", e.Sentence())
	sayf(w, "origin", "%s", e.Origin)
	sayf(w, "effect", "%s", e.Effect)
	sayf(w, "retry", "%s", advice(e))
	if e.RetryAfter > 0 {
		sayf(w, "wait", "at least %s", recourse.FormatWait(e.RetryAfter))
	}
	if v := e.Verify; v != nil {
		args, err := json.Marshal(v.Args)
		if err != nil || v.Args == nil {
			args = nil
		}
		sayf(w, "verify", "%s %s", v.Tool, args)
	}
	for _, v := range e.Violations {
		sayf(w, "violation", "%s: %s", v.Param, strings.TrimSpace(v.Message+" ("+v.Rule+")"))
	}
	for _, hint := range e.Hints {
		sayf(w, "what to do", "%s", hint)
	}
	if c.Cause != "" {
		sayf(w, "cause", "%s", c.Cause)
	}
	sayf(w, "see", "%s", kinddoc.URL(e.Kind))
}

// bracketed returns a code in brackets, if there is one.
func bracketed(code string) string {
	if code == "" {
		return ""
	}
	return "[" + code + "]"
}

// eventf prints a line of the timeline; a negative instant is that of the line before.
func eventf(w painter, after journal.Millis, format string, args ...any) {
	at := ""
	if after >= 0 {
		at = "+" + took(after)
	}
	if time.Duration(after) == 0 {
		at = "+0s"
	}
	w.printf(dim, "%-10s", at)
	w.printf(plain, " %s\n", visible.Escape(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")))
}
