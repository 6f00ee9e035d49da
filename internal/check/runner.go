package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/check/provider"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Options say how a server is checked.
type Options struct {
	Mode Mode
	// Reads names tools that only read, whatever they say of themselves: patterns with *.
	Reads []string
	// Writes are made in mode Owner.
	Writes []Write
	// Provider answers for the services that the server calls, in mode Wired.
	Provider *provider.Proxy
	// Seed tells the marks of one run from those of another.
	Seed int
	// Contract is what the server promises; nil: nothing.
	Contract *contract.Contract
	// Timeout is how long an answer may take; 0 means 10 s. The first ones may take six times as long, since a program may still be
	// installed, and so may those of calls whose provider fails.
	Timeout time.Duration
	// Progress gets a line for each step; nil: none.
	Progress io.Writer
}

// The bounds of a list of tools.
const (
	maxTools = 5000
	maxPages = 100
)

// starting is how many times as long a first answer may take, and one to a call whose provider fails.
const starting = 6

// maxDeaths is how often a server may end before the check stops.
const maxDeaths = 5

// runner takes the steps.
type runner struct {
	ctx     context.Context
	to      server.Server
	options Options
	reader  *contract.Reader
	conn    server.Conn // nil: there is none
	t       *transcript
	other   *runner // in the modern era, of a server of both; it has a connection from its first step on
	next    int
	asides  int // the last id of what was done aside
	deaths  int
	marks   int // of writes
}

// run makes the transcript of a server.
func run(ctx context.Context, to server.Server, options Options) *transcript {
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second
	}
	r := &runner{
		ctx: ctx, to: to, options: options, reader: readerOf(options.Contract),
		t: &transcript{stdio: to.Stdio(), promised: options.Contract},
	}
	if r.open() {
		r.list()
		r.bothEras()
		r.steps()
		if r.t.unrecorded > 0 && r.t.stopped == "" {
			r.t.stopped = fmt.Sprintf("the recording has no answer to %d of the requests", r.t.unrecorded)
		}
	}
	for _, in := range []*runner{r, r.other} {
		if in != nil && in.conn != nil {
			in.leave()
		}
	}
	return r.t
}

// steps takes those of the plan.
func (r *runner) steps() {
	steps := plan(r.options.Mode, r.t)
	for i, s := range steps {
		switch {
		case r.ctx.Err() != nil:
			r.t.stopped = "the check was ended"
			return
		case r.t.stopped != "":
			return
		}
		if r.options.Progress != nil {
			fmt.Fprintf(r.options.Progress, "%d/%d %s\n", i+1, len(steps), s.describe())
		}
		if s.modern {
			r.inModern(s)
		} else {
			r.take(s)
		}
	}
}

// take takes a step.
func (r *runner) take(s step) {
	if s.do != nil {
		s.do(r, s)
	} else {
		r.call(s)
	}
}

// open opens a connection, and the session in it.
func (r *runner) open() bool {
	conn, err := r.to.Open(r.ctx)
	if err != nil {
		r.t.exchanges = append(r.t.exchanges, &exchange{step: step{probe: probeStart}, answer: server.Reply{Err: err}, died: true})
		r.t.stopped = err.Error()
		return false
	}
	r.conn = conn
	return r.initialize()
}

// probeStart is the beginning of a session, in every mode.
const probeStart probe = "initialize"

// initialize begins the session. A server that refuses it may be of the modern era, which has none.
func (r *runner) initialize() bool {
	first := step{probe: probeStart}
	if r.t.modern { // which has no session to begin; the first answer may take long all the same
		return !r.heed(r.ask(starting*r.options.Timeout, first, r.message(wire.MethodToolsList, noParams)))
	}
	x := r.ask(starting*r.options.Timeout, first, r.message(wire.MethodInitialize, initializeParams(wire.Version20251125)))
	if x.said.failed || x.answer.Status >= http.StatusBadRequest {
		if r.discover(first) {
			return true
		}
	}
	r.file(x)
	if x.answer.Text == nil || x.said.failed {
		r.t.stopped = "initialize: " + x.why()
		for _, s := range r.conn.Strays() {
			if s.What == server.Garbage && x.answer.Text == nil {
				r.t.stopped += "; it wrote " + quoted(s.Text)
				break
			}
		}
		return false
	}
	if !r.t.started {
		r.t.started = true
		r.t.name = json.Text(x.said.result, "/serverInfo/name")
		r.t.version = json.Text(x.said.result, "/serverInfo/version")
		r.t.protocol = json.Text(x.said.result, "/protocolVersion")
		r.t.sessions = x.answer.Head.Get(wire.HeaderSession) != ""
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.options.Timeout)
	defer cancel()
	r.conn.Send(ctx, server.Message{Text: wire.AppendRequest(nil, wire.ID{}, wire.MethodInitialized, nil), Head: r.legacyHeaders()})
	return true
}

// discover asks the server whether it is of the modern era.
func (r *runner) discover(first step) bool {
	r.t.modern = true
	x := r.ask(r.options.Timeout, first, r.message(wire.MethodDiscover, nil))
	if r.heed(x) || x.said.failed || !wire.SpeaksModern(x.said.result) {
		r.t.modern = false
		return false
	}
	r.file(x)
	about := json.Pointer("/_meta/" + strings.ReplaceAll(wire.MetaServerInfo, "/", "~1"))
	r.t.started, r.t.protocol = true, wire.Version20260728
	r.t.name, r.t.version = json.Text(x.said.result, about+"/name"), json.Text(x.said.result, about+"/version")
	return true
}

// initializeParams are the params of initialize, of a client that offers nothing.
func initializeParams(version string) json.Value {
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}`, version, clientInfo)
}

// clientInfo is what a check calls itself.
const clientInfo = `{"name":"recourse check","version":"1"}`

// legacyHeaders are those of a message in a session.
func (r *runner) legacyHeaders() http.Header {
	if r.t.protocol == "" {
		return nil
	}
	return http.Header{wire.HeaderVersion: {r.t.protocol}}
}

// message is a request with an id of its own, in the form of the server's era.
func (r *runner) message(method string, params json.Value) server.Message {
	r.next++
	return r.messageOf(strconv.Itoa(r.next), method, params)
}

// messageOf is a request with that id.
func (r *runner) messageOf(id, method string, params json.Value) server.Message {
	if !r.t.modern {
		return server.Message{Text: wire.AppendRequest(nil, wire.ID(id), method, params), ID: id, Head: r.legacyHeaders()}
	}
	meta := slices.Concat([]byte{'{'}, wire.Introduction([]byte(clientInfo), []byte("{}")), []byte{'}'})
	introduced := json.Members{{Name: "_meta", Value: meta}}
	introduced = append(introduced, json.MembersOf(params)...)
	text := wire.AppendRequest(nil, wire.ID(id), method, introduced.AppendTo(nil))
	head := http.Header{}
	var m wire.Message
	if wire.Parse(text, &m) == nil {
		wire.SetHeaders(head, wire.Version20260728, &m)
	}
	return server.Message{Text: text, ID: id, Head: head}
}

// list reads the list of tools.
func (r *runner) list() {
	budget, seen, cursor, size := args.NewBudget(), map[string]bool{}, "", 0
	for page := 0; ; page++ {
		params := json.Value(`{}`)
		if cursor != "" {
			params = append(json.AppendQuote([]byte(`{"cursor":`), cursor), '}')
		}
		limit := r.options.Timeout
		if page == 0 { // a gateway may have answered initialize for a program that is still being started
			limit *= starting
		}
		x := r.exchange(limit, step{probe: probeList}, r.message(wire.MethodToolsList, params))
		if x.answer.Text == nil || x.said.failed {
			if x.asks() == "" {
				r.t.stopped = "tools/list: " + x.why()
			}
			return
		}
		size += len(x.answer.Text)
		if page == 0 {
			r.t.page = size
		}
		r.t.listed = true
		var found struct {
			Tools []*listedTool `json:"tools"`
			Next  string        `json:"nextCursor"`
		}
		if err := json.UnmarshalLenient(x.said.result, &found); err != nil {
			r.t.stopped = "tools/list: the result cannot be read: " + err.Error()
			return
		}
		x.shorten()
		for _, t := range found.Tools {
			if t != nil && len(r.t.tools) < maxTools {
				t.prepare(budget)
				t.believe(r.options.Reads)
				r.t.tools = append(r.t.tools, t)
			}
		}
		cursor = found.Next
		switch {
		case cursor == "" && len(r.t.tools) < maxTools:
			return
		case seen[cursor]:
			r.t.endless = fmt.Sprintf("The cursor %s comes again.", quoted(cursor))
			return
		case len(r.t.tools) >= maxTools || page+1 >= maxPages || size > server.MaxMessage:
			r.t.endless = fmt.Sprintf("There are %d tools on %d pages, and perhaps more.", len(r.t.tools), page+1)
			return
		}
		seen[cursor] = true
	}
}

// call takes a step that is a call of a tool.
func (r *runner) call(s step) *exchange {
	return r.exchange(r.options.Timeout, s, r.callOf(s.tool, s.args))
}

// callOf is the call of a tool.
func (r *runner) callOf(t *listedTool, arguments json.Value) server.Message {
	params := json.Members{}
	params.Add("name", json.AppendQuote(nil, t.Name))
	params.Add("arguments", arguments)
	return r.message(wire.MethodToolsCall, params.AppendTo(nil))
}

// send sends a request and files what comes of it.
func (r *runner) send(s step, method string, params json.Value) {
	r.exchange(r.options.Timeout, s, r.message(method, params))
}

// exchange sends a message and files what comes of it.
func (r *runner) exchange(limit time.Duration, s step, m server.Message) *exchange {
	x := r.ask(limit, s, m)
	r.file(x)
	return x
}

// ask sends a message and returns what comes of it.
func (r *runner) ask(limit time.Duration, s step, m server.Message) *exchange {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	x := &exchange{step: s, sent: m.Text, answer: r.conn.Send(ctx, m)}
	if x.answer.Text != nil {
		x.said = listen(r.reader, x.answer.Text)
	}
	return x
}

// file keeps an exchange. A server that has ended is started again; one that asks to wait or to sign in is not called any more.
func (r *runner) file(x *exchange) {
	r.keep(x)
	r.heed(x)
	if x.step.tool == nil && x.step.probe != probeList {
		x.shorten()
	}
	if r.t.stdio && errors.Is(x.answer.Err, server.ErrEnded) && x.step.probe != probeStart {
		x.died = true
		r.restart()
	}
}

// keep keeps exchanges, but for those that a recording has no answer to: nothing was observed.
func (r *runner) keep(list ...*exchange) {
	for _, x := range list {
		if strings.HasPrefix(x.said.text, wire.Unrecorded) {
			r.t.unrecorded++
		} else {
			r.t.exchanges = append(r.t.exchanges, x)
		}
	}
}

// shorten lets a long answer go, which nobody looks into any more.
func (x *exchange) shorten() {
	if len(x.answer.Text) > longList {
		x.answer.Text, x.said.result = bytes.Clone(x.answer.Text[:maxFrame]), nil
	}
}

// restart starts a server that has ended.
func (r *runner) restart() {
	r.deaths++
	r.leave()
	if r.deaths >= maxDeaths {
		r.t.stopped, r.t.dying = fmt.Sprintf("the server ended %d times", r.deaths), true
		return
	}
	r.open()
}

// anew ends a server that is stuck in a call, and starts it again.
func (r *runner) anew() {
	r.hangUp() // how it leaves now says nothing
	r.open()
}

// leave closes the connection, and notes how the server leaves.
func (r *runner) leave() {
	if clean := r.hangUp(); r.deaths == 0 {
		r.t.left = append(r.t.left, clean)
	}
}

// hangUp closes the connection, and reports whether the server has left by itself.
func (r *runner) hangUp() (clean bool) {
	r.t.strays = append(r.t.strays, r.conn.Strays()...)
	clean = r.conn.Close()
	r.conn = nil
	return clean
}

// why says why there is no usable answer.
func (x *exchange) why() string {
	switch {
	case x.answer.Text != nil && x.said.failed:
		return x.said.text
	case x.answer.Status >= http.StatusBadRequest || len(x.answer.Body) > 0:
		return fmt.Sprintf("HTTP %d %s", x.answer.Status, quoted(string(x.answer.Body)))
	case x.answer.Err != nil:
		return x.answer.Err.Error()
	default:
		return "no answer"
	}
}

// Plan returns what a check would call, one line each. It begins a session and lists the tools.
func Plan(ctx context.Context, to server.Server, options Options) ([]string, error) {
	mode := options.Mode
	options.Mode = Static
	t := run(ctx, to, options)
	if !t.listed {
		return nil, errors.New(t.stopped)
	}
	var lines []string
	for _, s := range plan(mode, t) {
		lines = append(lines, s.describe())
	}
	return lines, nil
}
