package check

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// The steps that are no calls of a tool.

// noTool is the name of a tool that no server has.
const noTool = "recourse_check_no_such_tool"

// noParams are the params of a request that needs none.
var noParams = json.Value("{}")

// noCall are the params of a call of it.
var noCall = json.Value(`{"name":"` + noTool + `","arguments":{}}`)

// unknownTool calls a tool that does not exist.
func (r *runner) unknownTool(s step) {
	r.send(s, wire.MethodToolsCall, noCall)
}

// unknownMethod sends a request of a method that does not exist.
func (r *runner) unknownMethod(s step) { r.send(s, "recourse/no-such-method", noParams) }

// ids sends requests with ids of other forms.
func (r *runner) ids(s step) {
	for _, id := range []string{`"recourse-check"`, `"7"`, "4294967296"} {
		r.exchange(r.options.Timeout, s, r.messageOf(id, wire.MethodToolsList, noParams))
		if r.t.stopped != "" {
			return
		}
	}
}

// cancel cancels a request that has long been answered, and asks whether all is well.
func (r *runner) cancel(s step) {
	note := json.Value(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"recourse check"}}`)
	r.exchange(r.options.Timeout, s, server.Message{Text: note, Head: r.legacyHeaders()})
	if r.t.stopped == "" {
		r.send(s, wire.MethodToolsList, noParams)
	}
}

// header sends a request whose header names a version that does not exist.
func (r *runner) header(s step) {
	m := r.message(wire.MethodToolsList, noParams)
	if m.Head == nil {
		m.Head = http.Header{}
	}
	m.Head.Set(wire.HeaderVersion, unknownVersion)
	r.exchange(r.options.Timeout, s, m)
}

// session sends a request in a session that does not exist.
func (r *runner) session(s step) {
	m := r.message(wire.MethodToolsList, noParams)
	m.Head = http.Header{wire.HeaderVersion: {r.t.protocol}, wire.HeaderSession: {"recourse-check-no-such-session"}}
	r.exchange(r.options.Timeout, s, m)
}

// split sends a message in two pieces, and two in one piece.
func (r *runner) split(s step) {
	m := r.message(wire.MethodToolsList, noParams)
	m.Cut = len(m.Text) / 2
	r.exchange(r.options.Timeout, s, m)
	if r.t.stopped != "" {
		return
	}
	first, second := r.message(wire.MethodToolsList, noParams), r.message(wire.MethodToolsList, noParams)
	second.Text = slices.Concat(first.Text, []byte{'\n'}, second.Text)
	second.Also = []string{first.ID}
	r.exchange(r.options.Timeout, s, second)
}

// hangUps sends requests and does not wait for their answers, and asks whether all is well.
func (r *runner) hangUps(s step) {
	for range 10 {
		m := r.message(wire.MethodToolsList, noParams)
		m.Gone = true
		if x := r.ask(r.options.Timeout, s, m); r.heed(x) {
			r.file(x)
			return
		}
	}
	r.send(s, wire.MethodToolsList, noParams)
}

// atOnce sends twenty requests at once.
func (r *runner) atOnce(s step) {
	const many = 20
	found := make([]*exchange, many)
	var all sync.WaitGroup
	for i := range found {
		m := r.message(wire.MethodToolsList, noParams)
		all.Go(func() { found[i] = r.ask(r.options.Timeout, s, m) })
	}
	all.Wait()
	r.keep(found[1:]...)
	r.file(found[0])
	for _, x := range found {
		r.heed(x)
	}
}

// faults makes two hundred calls that fail, or as many as a slow server takes in the time of three answers, and asks for the tools
// then.
func (r *runner) faults(s step) {
	const faults, most = 200, 3
	end := time.Now().Add(most * r.options.Timeout)
	for i := 0; i < faults && time.Now().Before(end); i++ {
		x := r.ask(r.options.Timeout, s, r.message(wire.MethodToolsCall, noCall))
		if x.answer.Err != nil || x.asks() != "" {
			r.file(x)
			return
		}
	}
	r.send(s, wire.MethodToolsList, noParams)
}

// garbage sends a text that is not JSON, and asks whether all is well, in a connection of its own.
func (r *runner) garbage(s step) {
	r.apart(s, func(apart *runner) {
		if !apart.initialize() {
			return
		}
		half := []byte(`{"jsonrpc": "2.0", "id": 5, "method": `)
		apart.exchange(r.options.Timeout, s, server.Message{Text: half, Head: apart.legacyHeaders()})
		if apart.conn != nil && apart.t.stopped == "" {
			apart.send(s, wire.MethodToolsList, noParams)
		}
	})
}

// apart takes steps in a connection of its own.
func (r *runner) apart(s step, do func(*runner)) {
	conn, err := r.to.Open(r.ctx)
	if err != nil {
		r.file(&exchange{step: s, answer: server.Reply{Err: err}})
		return
	}
	apart := r.apartIn(conn)
	do(apart)
	r.t.unrecorded += apart.t.unrecorded
	if apart.conn != nil { // another one, if the server has ended meanwhile
		apart.leave()
	}
	for _, x := range apart.t.exchanges {
		if x.step.probe == s.probe {
			x.died = r.t.stdio && errors.Is(x.answer.Err, server.ErrEnded)
			r.keep(x)
		}
		r.heed(x)
	}
}

// kill ends the server by force, and starts it again.
func (r *runner) kill(step) {
	r.t.strays = append(r.t.strays, r.conn.Strays()...)
	r.conn.Break()
	r.conn = nil
	again := r.open()
	r.t.again = &again
}

// The rules about living on.

func starts(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe != probeStart {
			continue
		}
		v.of(nil, x, when(x.answer.Text == nil || x.said.failed, "initialize: %s", x.why()))
		return
	}
}

func answers(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe == probeIDs || x.step.probe == probeGarbage { // rules of their own
			continue
		}
		v.of(x.step.tool, x, when(errors.Is(x.answer.Err, server.ErrSilent), "No answer in time to %s", x.step.describe()))
	}
}

func survives(t *transcript, v *verdict) {
	for _, x := range t.exchanges {
		if x.step.probe == probeGarbage || x.step.probe == probeStart {
			continue
		}
		v.of(x.step.tool, x, when(x.died, "It ended at %s", x.step.describe()))
	}
}

func survivesGarbage(t *transcript, v *verdict) {
	var last *exchange
	said := ""
	for _, last = range t.at(probeGarbage) {
		if err := last.answer.Err; err != nil { // it may end before anything else is asked
			said = "After a text that is not JSON, it does not answer any more: " + err.Error()
			break
		}
	}
	if last != nil {
		v.of(nil, last, said)
	}
}

func unknownMethod(t *transcript, v *verdict) {
	t.each(v, probeMethod, func(x *exchange) string {
		switch {
		case x.answer.Text == nil:
			return "There is no answer: " + x.why()
		case !x.said.rpc:
			return "It is answered with a result."
		case x.said.code != wire.CodeMethodNotFound:
			return fmt.Sprintf("It is the JSON-RPC error %d: %s", x.said.code, quoted(x.said.text))
		default:
			return ""
		}
	})
}

func idKept(t *transcript, v *verdict) {
	t.each(v, probeIDs, func(x *exchange) string {
		return when(x.answer.Text == nil, "A request with such an id has no answer with the same id: %s", x.sent)
	})
}

func headerChecked(t *transcript, v *verdict) { status(t, v, probeHeader, http.StatusBadRequest) }

func lostSession(t *transcript, v *verdict) { status(t, v, probeSession, http.StatusNotFound) }

// status judges by the status of an answer.
func status(t *transcript, v *verdict, of probe, want int) {
	for _, x := range t.at(of) {
		if x.answer.Status == 0 {
			continue
		}
		v.of(nil, x, when(x.answer.Status != want, "The status is %d.", x.answer.Status))
	}
}

func cleanStdout(t *transcript, v *verdict) {
	if !t.stdio || len(t.exchanges) == 0 {
		return
	}
	for _, s := range t.strays {
		if s.What == server.Garbage {
			v.of(nil, nil, "It wrote "+quoted(s.Text))
			return
		}
	}
	v.of(nil, nil, "")
}

func answersOnce(t *transcript, v *verdict) {
	if len(t.exchanges) < 2 {
		return
	}
	for _, s := range t.strays {
		if s.What == server.Second || s.What == server.Foreign {
			words := map[server.Sort]string{server.Second: "A second answer to one request: ", server.Foreign: "An answer to no request: "}
			v.of(nil, nil, words[s.What]+quoted(s.Text))
			return
		}
	}
	v.of(nil, nil, "")
}

func splitLines(t *transcript, v *verdict) {
	for i, x := range t.at(probeSplit) {
		said := ""
		if x.answer.Text == nil {
			said = []string{"A message in two pieces", "The second of two messages in one piece"}[min(i, 1)] + " has no answer."
		}
		v.of(nil, x, said)
	}
}

func manyAtOnce(t *transcript, v *verdict) {
	t.each(v, probeAtOnce, func(x *exchange) string {
		return when(x.answer.Text == nil, "Of twenty tools/list at once, one has no answer: %s", x.why())
	})
}

func aliveAfterFaults(t *transcript, v *verdict) {
	t.each(v, probeFaults, func(x *exchange) string { return x.notListed("After calls that failed: ") })
}

func hangUps(t *transcript, v *verdict) {
	t.each(v, probeHangUp, func(x *exchange) string { return x.notListed("After clients that did not wait for their answers: ") })
}

// notListed says after what the server does not list its tools any more; "": it does.
func (x *exchange) notListed(after string) string {
	return when(x.answer.Text == nil || x.said.failed, "%s%s", after, x.why())
}

func cancelIgnored(t *transcript, v *verdict) {
	for i, x := range t.at(probeCancel) {
		v.of(nil, x, when(x.died || i == 1 && x.answer.Text == nil, "After the cancellation of a request that is over: %s", x.why()))
	}
}

func startsAgain(t *transcript, v *verdict) {
	if t.again != nil {
		v.of(nil, nil, when(!*t.again, "Killed and started again, it does not answer initialize: %s", t.stopped))
	}
}

func leaves(t *transcript, v *verdict) {
	if !t.stdio {
		return
	}
	for _, clean := range t.left {
		v.of(nil, nil, when(!clean, "It still ran 5 s after its input had ended."))
	}
}
