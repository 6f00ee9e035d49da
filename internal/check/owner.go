package check

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// writeSeen is what was seen of one write. Effects are counted by the mark in the answer of the verify call; unknown is -1.
type writeSeen struct {
	write    *Write
	tool     *tool
	repeated int       // effects of a call whose answer was lost, made again
	parallel int       // effects of the same call twice at once
	again    *exchange // the call that was made again
	conflict *exchange // the same key with other arguments
	why      string    // why nothing could be counted
}

// unknown is the number of effects that could not be counted.
const unknown = -1

// lost is after how long the answer of a write counts as lost.
const lost = 30 * time.Millisecond

// writes tries each write that the user has named.
func (r *runner) writes(s step) {
	for i := range r.options.Writes {
		switch {
		case r.t.stopped != "":
			return
		case r.options.Writes[i].Verify.Tool == "": // a read, or a write whose effect nothing shows
			continue
		}
		seen := &writeSeen{write: &r.options.Writes[i], repeated: unknown, parallel: unknown}
		for _, t := range r.t.tools {
			if t.Name == seen.write.Tool {
				seen.tool = t
			}
		}
		r.t.writes = append(r.t.writes, seen)
		r.write(s, seen)
	}
}

// write makes a write in all the ways in which it may happen twice.
func (r *runner) write(s step, seen *writeSeen) {
	if seen.tool == nil {
		seen.why = "there is no tool " + seen.write.Tool
		return
	}
	one := r.effectsOf(seen, func(arguments json.Value) { r.made(s, seen, arguments, r.options.Timeout) })
	if one <= 0 {
		seen.why = "after one call, the answer of " + seen.write.Verify.Tool + " does not show its mark"
		return
	}
	seen.repeated = share(one, r.effectsOf(seen, func(arguments json.Value) {
		r.made(s, seen, arguments, lost)
		r.await(seen)
		seen.again = r.made(s, seen, arguments, r.options.Timeout)
	}))
	seen.parallel = share(one, r.effectsOf(seen, func(arguments json.Value) {
		var both sync.WaitGroup
		first, second := r.callOf(seen.tool, arguments), r.callOf(seen.tool, arguments)
		both.Go(func() { r.ask(r.options.Timeout, s, first) })
		x := r.ask(r.options.Timeout, s, second)
		both.Wait()
		r.file(x)
	}))
	if seen.write.Other != nil {
		r.effectsOf(seen, func(arguments json.Value) {
			r.made(s, seen, arguments, r.options.Timeout)
			seen.conflict = r.made(s, seen, marked(seen.write.Other, r.mark()), r.options.Timeout)
		})
	}
}

// share returns how many effects there were, if one shows as that many marks.
func share(one, all int) int {
	if all == unknown {
		return unknown
	}
	return (all + one - 1) / one
}

// mark returns the mark of the write that is tried.
func (r *runner) mark() string { return markOf(r.options.Seed, r.marks) }

// effectsOf counts how often a new mark stands in the answer of the verify call after do.
func (r *runner) effectsOf(seen *writeSeen, do func(arguments json.Value)) int {
	r.marks++
	if r.conn == nil || r.t.stopped != "" || r.count(seen) != 0 {
		return unknown
	}
	do(marked(seen.write.Args, r.mark()))
	if r.conn == nil {
		return unknown
	}
	return r.count(seen)
}

// count counts the mark in what the verify call answers; unknown if it fails.
func (r *runner) count(seen *writeSeen) int {
	for _, t := range r.t.tools {
		if t.Name == seen.write.Verify.Tool {
			x := r.call(step{probe: probeVerify, tool: t, args: marked(seen.write.Verify.Args, r.mark())})
			if x.answer.Text == nil {
				return unknown
			}
			if x.said.failed { // what does not exist yet is often a failure
				return 0
			}
			return max(strings.Count(x.said.text, r.mark()), strings.Count(string(x.said.object), r.mark()))
		}
	}
	return unknown
}

// await waits until the effect of a write shows, as long as an answer may take.
func (r *runner) await(seen *writeSeen) {
	end := time.Now().Add(r.options.Timeout)
	for time.Now().Before(end) && r.ctx.Err() == nil && r.conn != nil && r.count(seen) == 0 {
		<-time.After(lost)
	}
}

// made makes the write, and waits that long for its answer.
func (r *runner) made(s step, seen *writeSeen, arguments json.Value, limit time.Duration) *exchange {
	if r.conn == nil {
		return nil
	}
	s.tool, s.args = seen.tool, arguments
	x := r.ask(limit, s, r.callOf(seen.tool, arguments))
	if limit == lost { // that there is no answer is meant
		return x
	}
	r.file(x)
	return x
}

// stands remembers what the verify calls answer before and after the tools that read have been called.
func (r *runner) stands(step) {
	asked := map[string]bool{}
	for i := range r.options.Writes {
		verify := &r.options.Writes[i].Verify
		if asked[verify.Tool] {
			continue
		}
		asked[verify.Tool] = true
		for _, t := range r.t.tools {
			if t.Name == verify.Tool && r.conn != nil {
				x := r.call(step{probe: probeStands, tool: t, args: marked(verify.Args, "none")})
				r.t.stands = append(r.t.stands, x)
			}
		}
	}
}

// The rules about writes.

// effects counts an observation of a write that should have had one effect; words is a format for how many it had.
func (v *verdict) effects(w *writeSeen, n int, at *exchange, words string) {
	switch {
	case n == unknown:
	case n > 1:
		v.of(w.tool, at, fmt.Sprintf(words, n))
	default:
		v.of(w.tool, at, "")
	}
}

func repeatedWrite(t *transcript, v *verdict) {
	for _, w := range t.writes {
		v.effects(w, w.repeated, w.again, "Made again after its answer was lost, the call has had %d effects.")
	}
}

func parallelWrite(t *transcript, v *verdict) {
	for _, w := range t.writes {
		v.effects(w, w.parallel, nil, "Made twice at once, the call has had %d effects.")
	}
}

func keyConflict(t *transcript, v *verdict) {
	for _, w := range t.writes {
		if w.conflict == nil || w.conflict.answer.Text == nil {
			continue
		}
		said := ""
		if !w.conflict.said.failed {
			said = "The same key with other arguments succeeded: " + quoted(w.conflict.said.text)
		}
		v.of(w.tool, w.conflict, said)
	}
}

func idempotentKept(t *transcript, v *verdict) {
	for _, w := range t.writes {
		if w.tool != nil && says(w.tool.Annotations.Idempotent) {
			v.effects(w, w.repeated, w.again, "idempotentHint is true, and the same call twice has had %d effects.")
		}
	}
}

func readsHold(t *transcript, v *verdict) {
	before := map[*tool]*exchange{}
	for _, x := range t.stands {
		first := before[x.step.tool]
		if first == nil {
			before[x.step.tool] = x
			continue
		}
		said := ""
		if was, is := lasting(first.said.text), lasting(x.said.text); was != is {
			said = fmt.Sprintf("After the reads, it answers %s; before them, %s", quoted(is), quoted(was))
		}
		v.of(x.step.tool, x, said)
	}
}

// passing matches what differs in each answer without anything having changed: times, and ids of the answer itself.
var passing = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*(Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d\b|\b\d{10,}(\.\d+)?\b|` +
	`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// lasting returns an answer without that.
func lasting(text string) string { return passing.ReplaceAllString(text, "...") }
