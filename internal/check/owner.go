package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// writeSeen is what was seen of one write. Effects are counted by the mark in the answer of the verify call; unknown is -1.
type writeSeen struct {
	write    *Write
	tool     *listedTool
	repeated int       // effects of a call whose answer was lost, made again
	parallel int       // effects of the same call twice at once
	again    *exchange // the call that was made again
	beside   *exchange // the one of the two that was sent last
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
	var took time.Duration
	one := r.effectsOf(seen, func(arguments json.Value) {
		began := time.Now()
		r.made(s, seen, arguments, r.options.Timeout)
		took = time.Since(began)
	})
	if one <= 0 {
		seen.why = "after one call, the answer of " + seen.write.Verify.Tool + " does not show its mark"
		return
	}
	seen.repeated = share(one, r.effectsOf(seen, func(arguments json.Value) {
		r.made(s, seen, arguments, lost)
		r.await(seen, r.options.Timeout)
		seen.again = r.made(s, seen, arguments, r.options.Timeout)
	}))
	if seen.repeated > 1 {
		r.aside(func() {
			if r.onceAfterLoss(s, seen, one, took) {
				seen.repeated = 1
			}
		})
	}
	seen.parallel = share(one, r.effectsOf(seen, func(arguments json.Value) {
		var both sync.WaitGroup
		first, second := r.callOf(seen.tool, arguments), r.callOf(seen.tool, arguments)
		both.Go(func() { r.ask(r.options.Timeout, s, first) })
		seen.beside = r.ask(r.options.Timeout, s, second)
		both.Wait()
		r.file(seen.beside)
	}))
	if seen.write.Other != nil {
		r.conflict(s, seen)
	}
}

// onceAfterLoss reports whether the call has one effect if the client goes away before the answer has come. A server that knows whether
// it has, such as our gateway, takes a call that is made again after it was answered for another one. took is how long a call takes:
// it looks for a moment between the effect and the answer.
func (r *runner) onceAfterLoss(s step, seen *writeSeen, one int, took time.Duration) bool {
	const tries, patience = 6, 200 * time.Millisecond
	s.tool = seen.tool
	defer func(before int) { r.marks = before }(r.marks)
	r.marks = r.next // as no other write's
	for low, high, try := time.Duration(0), took, 0; try < tries; try++ {
		var answered, landed bool
		moment := (low + high) / 2
		all := r.effectsOf(seen, func(arguments json.Value) {
			s.args = arguments
			if answered = r.ask(moment, s, r.callOf(s.tool, s.args)).answer.Text != nil; answered {
				return
			}
			if r.t.stdio { // elsewhere the connection is gone
				r.ask(lost, step{probe: s.probe}, server.Message{Text: r.cancellation()})
			}
			if landed = r.await(seen, took+patience); landed {
				r.made(s, seen, arguments, r.options.Timeout)
			}
		})
		switch {
		case answered:
			high = moment
		case landed && share(one, all) == 1:
			return true
		case landed || all == unknown:
			return false
		default:
			low = moment
		}
	}
	return false
}

// conflict makes the call, and then another one with the same key. If what the verify call shows has changed, the other one was made:
// what is the same in them is no key.
func (r *runner) conflict(s step, seen *writeSeen) {
	r.effectsOf(seen, func(arguments json.Value) {
		r.made(s, seen, arguments, r.options.Timeout)
		before := r.shown(seen)
		x := r.made(s, seen, marked(seen.write.Other, r.mark()), r.options.Timeout)
		after := r.shown(seen)
		if x != nil && before != nil && after != nil && (x.said.failed || lasting(before.said.text) == lasting(after.said.text)) {
			seen.conflict = x
		}
	})
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
	x := r.shown(seen)
	switch {
	case x == nil || x.answer.Text == nil:
		return unknown
	case x.said.failed: // what does not exist yet is often a failure
		return 0
	}
	return max(strings.Count(x.said.text, r.mark()), strings.Count(string(x.said.object), r.mark()))
}

// shown makes the verify call; nil: it cannot be made.
func (r *runner) shown(seen *writeSeen) *exchange {
	for _, t := range r.t.tools {
		if t.Name == seen.write.Verify.Tool && r.conn != nil {
			return r.call(step{probe: probeVerify, tool: t, args: marked(seen.write.Verify.Args, r.mark())})
		}
	}
	return nil
}

// await waits until the effect of a write shows, and reports whether it does.
func (r *runner) await(seen *writeSeen, limit time.Duration) bool {
	end, n := time.Now().Add(limit), 0
	r.aside(func() {
		for r.ctx.Err() == nil && r.conn != nil {
			if n = r.count(seen); n != 0 || !time.Now().Before(end) {
				return
			}
			<-time.After(lost)
		}
	})
	return n > 0
}

// aside does what takes more requests one time than another, and keeps it out of the report, but for the end of the server and what it
// asks for: the same server gives the same bytes.
func (r *runner) aside(do func()) {
	const apart = 1 << 20 // from here on, ids are those of such requests
	if r.next >= apart {
		do()
		return
	}
	next, kept := r.next, len(r.t.exchanges)
	r.next = max(r.asides, apart)
	do()
	r.asides, r.next = r.next, next
	r.t.exchanges = slices.Concat(r.t.exchanges[:kept],
		slices.DeleteFunc(r.t.exchanges[kept:], func(x *exchange) bool { return !x.died && x.asks() == "" }))
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

// stands remembers what the verify calls answer before and after the tools that read have been called: twice before, since an answer
// that differs by itself shows nothing.
func (r *runner) stands(step) {
	times := 1
	if r.t.stands == nil {
		times, r.t.stands = 2, map[string][]*exchange{}
	}
	asked := map[string]bool{}
	for i := range r.options.Writes {
		verify := &r.options.Writes[i].Verify
		if asked[verify.Tool] {
			continue
		}
		asked[verify.Tool] = true
		for _, t := range r.t.tools {
			for range times {
				if t.Name == verify.Tool && r.conn != nil {
					x := r.call(step{probe: probeStands, tool: t, args: marked(verify.Args, "none")})
					r.t.stands[t.Name] = append(r.t.stands[t.Name], x)
				}
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
		v.effects(w, w.parallel, w.beside, "Made twice at once, the call has had %d effects.")
	}
}

func keyConflict(t *transcript, v *verdict) {
	for _, w := range t.writes {
		if w.conflict == nil || w.conflict.answer.Text == nil {
			continue
		}
		broken := !w.conflict.said.failed
		v.of(w.tool, w.conflict, when(broken, "The same key with other arguments succeeded: %s", quoted(w.conflict.said.text)))
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
	for _, tool := range t.tools {
		seen := t.stands[tool.Name]
		if len(seen) < 3 {
			continue
		}
		was, still, is := lasting(seen[0].said.text), lasting(seen[1].said.text), lasting(seen[2].said.text)
		said := ""
		switch {
		case was != still: // each answer is another one
			continue
		case still != is:
			said = fmt.Sprintf("After the reads, it answers %s; before them, %s", quoted(is), quoted(still))
		}
		v.of(tool, seen[2], said)
	}
}

// passing matches what differs in each answer without anything having changed: times, how long it took, and ids of the answer itself.
var passing = regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|µs|s|seconds|milliseconds)\b|` +
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*(Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d\b|\b\d{10,}(\.\d+)?\b|` +
	`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// lasting returns an answer without that.
func lasting(text string) string { return passing.ReplaceAllString(text, "...") }
