package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/retry"
)

// maxCalls limits how many calls of the same id a page shows.
const maxCalls = 10

// A callView is a call as the page shows it.
type callView struct {
	*journal.Row

	now     time.Time
	number  int // its number among those with the same id; 0: it is the only one
	steps   []step
	told    explain.Lines // about the failure
	story   string        // the output of explain
	curl    string
	asJSON  string
	asked   string // the arguments
	failure string // the record
}

// call shows what happened to a request. Clients may choose the id, so there may be several calls.
func (c *Console) call(r *http.Request) (*view, error) {
	if c.Journal == nil {
		return &view{title: "A call", body: noJournal()}, nil
	}
	id := r.PathValue("id")
	done, err := c.reading(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	calls, err := journal.Of(r.Context(), c.Journal, id)
	if err != nil {
		return nil, err
	}
	if len(calls) == 0 {
		return nil, &problem{
			http.StatusNotFound, "The journal has no request " + shown(id) + ".",
			"It keeps only a share of the calls that succeed, writes each a moment after its end, and forgets the oldest.",
		}
	}
	more := max(len(calls)-maxCalls, 0)
	doubted, err := c.doubted(r.Context(), calls[more:])
	if err != nil {
		return nil, err
	}
	var views []*callView
	for i, call := range calls[more:] { // the oldest come first
		v := c.viewOf(call)
		if len(calls) > 1 {
			v.number = more + i + 1
		}
		views = append(views, v)
	}
	return &view{title: subject(views[0].Row), body: callPage(views, len(calls), doubted), search: id}, nil
}

func (c *Console) viewOf(call *journal.Row) *callView {
	story := explain.Story(call)
	v := &callView{
		Row: call, now: c.now(), steps: stepsOf(call), story: shortened(story.String()), curl: c.curl(call), asJSON: pretty(call),
	}
	if call.Failure != nil {
		for _, line := range story {
			v.told = append(v.told, line)
			if line == (explain.Line{}) {
				v.told = nil // the last part is about the failure
			}
		}
		v.failure = pretty(call.Failure)
	}
	if len(call.Arguments) > 0 {
		v.asked = pretty(call.Arguments)
	}
	return v
}

// pretty returns a value as JSON that people read.
func pretty(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return "It has no JSON form."
	}
	var b bytes.Buffer
	if err := json.Indent(&b, visible.EscapeJSON(raw), "", "  "); err != nil {
		return shown(string(raw))
	}
	return shortened(b.String())
}

// shortened limits the length of a text that is safe to show.
func shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "\n... the rest is not shown: see `recourse explain --json`"
}

// A step is a bar of the timeline, or an event between two.
type step struct {
	what   string // stepAttempt, stepWait or stepVerify: also the class of its element
	name   string
	state  string // good or bad
	text   string // how it ended
	why    string // the consequence
	at     time.Duration
	took   time.Duration
	x, len float64 // of the bar, in percent of the whole
}

const (
	stepAttempt = "attempt"
	stepWait    = "wait"
	stepVerify  = "verify"
)

// stepsOf returns the timeline of a call.
func stepsOf(c *journal.Row) []step {
	whole := max(time.Duration(c.Took), 1)
	for _, a := range c.Attempts {
		whole = max(whole, time.Duration(a.After+a.Took))
	}
	var steps []step
	add := func(s step) {
		const least = 0.6
		s.x = min(100*float64(s.at)/float64(whole), 100-least)
		s.len = max(100*float64(s.took)/float64(whole), least)
		steps = append(steps, s)
	}
	var end time.Duration
	for i, a := range c.Attempts {
		began := time.Duration(a.After)
		switch {
		case i > 0 && began > end:
			add(step{what: stepWait, name: "Wait", at: end, took: began - end})
		case i == 0 && began > whole/20:
			add(step{what: stepWait, name: "Before it was sent", took: began})
		}
		end = max(end, time.Duration(a.After+a.Took))
		add(attemptStep(c, i))
	}
	if len(c.Attempts) == 0 {
		add(step{what: stepWait, name: "Not sent", text: "No server got the call.", took: time.Duration(c.Took)})
	}
	if f := c.Failure; f != nil && f.Verify != nil {
		text := f.Verify.String()
		if f.Verify.LookAt != "" {
			text += ", and look at " + f.Verify.LookAt
		}
		add(step{
			what: stepVerify, name: "To verify", text: text, why: "for whoever has called, before the call is made again", at: whole,
		})
	}
	return steps
}

// attemptStep describes one request to the server.
func attemptStep(c *journal.Row, i int) step {
	a, last := &c.Attempts[i], i == len(c.Attempts)-1
	s := step{
		what: stepAttempt, name: "Attempt " + grouped(int64(i+1)), state: "good", at: time.Duration(a.After), took: time.Duration(a.Took),
	}
	var said []string
	if a.Failure != "" {
		s.state = "bad"
		said = append(said, string(a.Failure))
	}
	switch {
	case a.Status != 0:
		said = append(said, strings.TrimSpace("HTTP "+strconv.Itoa(a.Status)+" "+http.StatusText(a.Status)))
	default:
		said = append(said, "no answer")
	}
	s.text = strings.Join(said, ", ")
	switch {
	case a.Reason != "" && !last:
		s.why = "repeated, because " + a.Reason
	case last && c.Sent > len(c.Attempts):
		s.why = counted(int64(c.Sent-len(c.Attempts)), "more attempt was", "more attempts were") + " made"
	case last && c.Final != "":
		s.why = "not repeated: " + c.Final
	}
	return s
}

// id returns the id of a part of the page, which may show several calls.
func (v *callView) id(part string) string {
	if v.number == 0 {
		return part
	}
	return part + "-" + grouped(int64(v.number))
}

// percent formats a share of the timeline for SVG.
func percent(share float64) string { return strconv.FormatFloat(share, 'f', 2, 64) + "%" }

// natureText says what kind of tool it is.
func natureText(c *journal.Row) string {
	switch {
	case c.Tool == "":
		return ""
	case c.Nature == retry.Reads.String():
		return "only reads"
	case c.Nature == retry.Idempotent.String():
		return "writes, idempotent"
	case c.Nature == journal.Assumed:
		return "assumed to write"
	default:
		return "writes"
	}
}
