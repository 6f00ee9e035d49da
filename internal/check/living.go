package check

import (
	"errors"
	"net/http"
	"slices"
	"sync"

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
func (r *runner) unknownMethod(s step) { r.send(s, "recourse/no-such-method", json.Value("{}")) }

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

// version begins a session of a version that does not exist, in a connection of its own.
func (r *runner) version(s step) {
	r.apart(s, func(apart *runner) {
		apart.exchange(starting*r.options.Timeout, s, apart.message(wire.MethodInitialize, initializeParams("2099-01-01")))
	})
}

// header sends a request whose header names a version that does not exist.
func (r *runner) header(s step) {
	m := r.message(wire.MethodToolsList, noParams)
	m.Head = http.Header{wire.HeaderVersion: {"2099-01-01"}}
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
	r.t.exchanges = append(r.t.exchanges, found[1:]...)
	r.file(found[0])
}

// faults makes two hundred calls that fail, and asks for the tools then.
func (r *runner) faults(s step) {
	const faults = 200
	for range faults {
		x := r.ask(r.options.Timeout, s, r.message(wire.MethodToolsCall, noCall))
		if x.answer.Err != nil {
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
		if apart.conn != nil {
			apart.send(s, wire.MethodToolsList, noParams)
		}
	})
}

// apart takes steps in a connection of its own.
func (r *runner) apart(s step, do func(*runner)) {
	conn, err := r.to.Open(r.ctx)
	if err != nil {
		r.file(&exchange{step: s, answer: server.Answer{Err: err}})
		return
	}
	apart := &runner{
		ctx: r.ctx, to: r.to, options: r.options, reader: r.reader, conn: conn,
		t: &transcript{stdio: r.t.stdio, protocol: r.t.protocol, modern: r.t.modern},
	}
	do(apart)
	conn.Close()
	for _, x := range apart.t.exchanges {
		if x.step.probe == s.probe {
			x.died = r.t.stdio && errors.Is(x.answer.Err, server.ErrEnded)
			r.t.exchanges = append(r.t.exchanges, x)
		}
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
