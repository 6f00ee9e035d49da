package check

import (
	"bytes"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A server of both eras is checked in the legacy one. What an era could change is done in the modern one as well: a runner with a
// transcript of its own does it, and the same judges judge it.

// bothEras finds out whether a server that has begun a session speaks the modern era as well, in a connection of its own.
func (r *runner) bothEras() {
	if r.t.modern || r.t.stopped != "" {
		return
	}
	conn, err := r.to.Open(r.ctx)
	if err != nil {
		return // it starts again, or does not, in other steps
	}
	other := r.apartIn(conn)
	if other.discover(step{probe: probeStart}) {
		r.other, r.t.other = other, other.t
	}
	other.leave()
	other.t.left = nil // a program may not leave that was asked nothing else
	r.t.stopped = other.t.stopped
}

// An Era is a generation of the protocol.
type Era string

// The eras.
const (
	Legacy Era = "legacy" // it begins sessions
	Modern Era = "modern" // each request stands by itself
)

// eras returns those in which the server was checked.
func (t *transcript) eras() []Era {
	switch {
	case !t.started:
		return nil
	case t.modern:
		return []Era{Modern}
	case t.other != nil:
		return []Era{Legacy, Modern}
	default:
		return []Era{Legacy}
	}
}

// inModern counts what was seen in the modern era of a server of both.
func (v *verdict) inModern(judge func(*transcript, *verdict), other *transcript) {
	if other == nil {
		return
	}
	before := len(v.broken)
	judge(other, v)
	for i := range v.broken[before:] {
		v.broken[before+i].said = "In the modern era: " + v.broken[before+i].said
	}
}

// inModern takes a step in the modern era.
func (r *runner) inModern(s step) {
	if r.other.conn != nil || r.other.open() {
		r.other.take(s)
	}
	r.t.stopped, r.t.dying = r.other.t.stopped, r.other.t.dying
	r.t.unrecorded, r.other.t.unrecorded = r.t.unrecorded+r.other.t.unrecorded, 0
}

// apartIn returns a runner that takes steps in another connection.
func (r *runner) apartIn(conn server.Conn) *runner {
	return &runner{
		ctx: r.ctx, to: r.to, options: r.options, reader: r.reader, conn: conn,
		t: &transcript{stdio: r.t.stdio, protocol: r.t.protocol, modern: r.t.modern, promised: r.t.promised},
	}
}

// ofProtocol returns the steps that an era could make a difference to, and that are no calls of a tool.
func ofProtocol(t *transcript) (steps []step) {
	add := func(p probe, do func(*runner, step)) { steps = append(steps, step{probe: p, do: do}) }
	add(probeNoTool, (*runner).unknownTool)
	add(probeNoToolAgain, (*runner).unknownTool)
	add(probeMethod, (*runner).unknownMethod)
	add(probeIDs, (*runner).ids)
	add(probeCancel, (*runner).cancel)
	add(probeVersion, (*runner).version)
	if !t.stdio {
		add(probeHeader, (*runner).header)
	}
	add(probeGarbage, (*runner).garbage)
	return steps
}

// planModern returns what is done in the modern era with a server of both: the first call of each tool, and what is no call.
func planModern(t *transcript) (steps []step) {
	for _, tool := range t.tools[:min(len(t.tools), maxToolsCalled)] {
		if calls := callsOf(tool); len(calls) > 0 {
			steps = append(steps, calls[0])
		}
	}
	steps = append(steps, ofProtocol(t.other)...)
	for i := range steps {
		steps[i].modern = true
	}
	return steps
}

// unknownVersion is a version of the protocol that there is not.
const unknownVersion = "2099-01-01"

// version begins a session of a version that does not exist, in a connection of its own. The modern era has none to begin: each
// request says its version.
func (r *runner) version(s step) {
	if !r.t.modern {
		r.apart(s, func(apart *runner) {
			apart.exchange(starting*r.options.Timeout, s, apart.message(wire.MethodInitialize, initializeParams(unknownVersion)))
		})
		return
	}
	m := r.message(wire.MethodToolsList, noParams)
	m.Text = bytes.ReplaceAll(m.Text, []byte(wire.Version20260728), []byte(unknownVersion))
	m.Head.Set(wire.HeaderVersion, unknownVersion)
	r.exchange(r.options.Timeout, s, m)
}

func versionAnswered(t *transcript, v *verdict) {
	t.each(v, probeVersion, func(x *exchange) string {
		refused := x.said.failed && x.said.code == wire.CodeUnsupportedVersion
		switch {
		case refused, x.answer.Text != nil && !x.said.failed && !t.modern:
			return ""
		case x.answer.Text != nil && !x.said.failed:
			return "A request of the version " + unknownVersion + " is answered as if there were one."
		default:
			return "The version " + unknownVersion + ": " + x.why()
		}
	})
}
