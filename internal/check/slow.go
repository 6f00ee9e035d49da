package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// probeSlow is what is done beside a slow call.
const probeSlow probe = "the slow calls of --writes: a quick request beside each, and their cancellation"

// slowSeen is what was seen of a slow call.
type slowSeen struct {
	tool      *listedTool
	quick     *exchange // the request beside it
	first     bool      // which was answered first
	cancelled *exchange // the call when it was cancelled; nil: the era has no such message
	after     *exchange // a request after that
}

// begun is how long a slow call is under way before anything else is sent. One that is over by then is not slow.
const begun = 100 * time.Millisecond

// slow makes each call of which the user says that it is slow.
func (r *runner) slow(s step) {
	for i := range r.options.Writes {
		w := &r.options.Writes[i]
		at := slices.IndexFunc(r.t.tools, func(t *listedTool) bool { return t.Name == w.Tool })
		if !w.Slow || at < 0 || r.conn == nil || r.t.stopped != "" {
			continue
		}
		s.tool, s.args = r.t.tools[at], w.Args
		seen := &slowSeen{tool: s.tool}
		took, slow := r.beside(s, seen)
		if !slow {
			continue
		}
		r.t.slow = append(r.t.slow, seen)
		if r.conn != nil && !r.t.modern && (r.t.stdio || r.t.sessions) { // elsewhere no message can cancel
			r.cancelRunning(s, seen, took)
		}
	}
}

// beside makes the call and a quick request beside it, and returns how long the call took, and whether it was slow.
func (r *runner) beside(s step, seen *slowSeen) (took time.Duration, slow bool) {
	began := time.Now()
	done := r.begin(r.options.Timeout, s)
	if over(done, begun) != nil {
		return 0, false
	}
	seen.quick = r.ask(r.options.Timeout, step{probe: probeSlow}, r.message(wire.MethodToolsList, noParams))
	x := over(done, begun/2) // one that was answered just before it was not overtaken
	seen.first = x == nil && seen.quick.answer.Text != nil
	if x == nil {
		x = <-done
	}
	took = time.Since(began)
	r.file(x)
	return took, true
}

// cancelRunning makes the call again and cancels it, and waits for as long as it has taken that nobody answers it any more.
func (r *runner) cancelRunning(s step, seen *slowSeen, took time.Duration) {
	done := r.begin(min(2*took, r.options.Timeout), s)
	note := r.cancellation()
	if over(done, begun) != nil {
		return
	}
	r.ask(r.options.Timeout, step{probe: probeSlow}, server.Message{Text: note, Head: r.legacyHeaders()})
	seen.after = r.ask(r.options.Timeout, step{probe: probeSlow}, r.message(wire.MethodToolsList, noParams))
	seen.cancelled = <-done
	r.file(seen.after)
}

// cancellation is the message that cancels the request that was made last.
func (r *runner) cancellation() []byte {
	const form = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"recourse check"}}`
	return fmt.Appendf(nil, form, r.next)
}

// begin makes a call, whose exchange comes once it is over.
func (r *runner) begin(limit time.Duration, s step) <-chan *exchange {
	done, m := make(chan *exchange, 1), r.callOf(s.tool, s.args)
	go func() { done <- r.ask(limit, s, m) }()
	return done
}

// over returns the exchange of a call if it is over within that time, or nil.
func over(done <-chan *exchange, within time.Duration) *exchange {
	select {
	case x := <-done:
		return x
	case <-time.After(within):
		return nil
	}
}

// The rules about slow calls.

func slowBeside(t *transcript, v *verdict) {
	for _, seen := range t.slow {
		v.of(seen.tool, seen.quick, when(!seen.first, "While the call runs, tools/list is not answered."))
	}
}

func cancelRunning(t *transcript, v *verdict) {
	for _, seen := range t.slow {
		if seen.cancelled == nil {
			continue
		}
		said := ""
		switch {
		case seen.after.answer.Text == nil:
			said = "After the cancellation of a running call: " + seen.after.why()
		case seen.cancelled.answer.Text != nil:
			said = "The call that was cancelled is answered: " + quoted(string(seen.cancelled.answer.Text))
		}
		v.of(seen.tool, seen.cancelled, said)
	}
}
