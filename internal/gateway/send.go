package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// prepare makes the request of an attempt.
func prepare(a *attempt, try try) end {
	c, method, header := a.of, a.of.req.method, a.of.upstreamHeader()
	if method != http.MethodPost {
		delete(header, "Content-Type")
		if method == http.MethodGet {
			header["Accept"] = acceptSSE
		}
		if c.out.renewed { // the events belonged to the lost session
			delete(header, wire.HeaderLastEventID)
		}
	}
	a.generation = c.session.SetHeader(header)
	a.session = header.Get(wire.HeaderSession)
	if c.on.entry.API != nil && c.req.isCall() {
		if c.once != nil {
			c.out.key = c.once.outKey()
		}
		if c.out.key == "" {
			c.out.key = newKey(&c.req, &c.who, c.on)
		}
		header[claims.KeyHeader] = []string{c.out.key}
	}
	a.request = c.who.request(header, nil)
	a.request.Beside = c.beside
	switch a.request.Method = method; {
	case method != http.MethodPost:
	case c.req.msg.Kind == wire.Response: // whose id routeDelivery has removed
		a.request.Body = c.req.body
	default:
		a.request.Message = c.req.msg
	}
	return try(a)
}

// send sends the message once and handles the answer.
func send(a *attempt, _ try) end {
	c := a.of
	if r := a.request; a.id != nil {
		r.Message, r.Body = nil, wire.SpliceID(nil, r.Message.Raw, r.Message.IDAt, a.id)
	}
	a.begin()
	resp, err := a.do()
	if a.half != nil && !<-a.half.turn {
		return a.yielded(resp, err)
	}
	c.expect(a, resp)
	if err != nil {
		end := c.provided(recourse.From(err))
		a.note(end.Status, end.Err)
		return end
	}
	c.reply.From = resp
	if c.req.msg.Method == wire.MethodInitialize {
		c.reply.Opening = c.openSession
	}
	end := c.on.mode.answer(c)
	end.Status, end.Full, end.Generation = resp.Status, resp.Status == http.StatusOK, a.generation
	if f := end.Failure; f != nil && f.Reason != "" {
		c.out.Reason = f.Reason
	}
	if end.Late != nil {
		c.out.record(c.failing(&end).effect(end.Late), "failure beyond the decision window: not rewritten")
	}
	if c.out.Seeming = end.Seeming; end.Seeming != nil {
		end.Seeming.Error = c.failing(&end).effect(end.Seeming.Error)
	}
	if !c.in.Continues && c.later == nil {
		_ = resp.Close() // its answer is known
	}
	if end.Err != nil {
		c.in.Close()
	}
	a.note(end.Status, end.Err)
	return end
}

// expect prepares for the server's answer to an attempt.
func (c *call) expect(a *attempt, resp *wire.Answer) {
	in, on := c.in, c.on
	in.Request, in.Era, in.By, in.ID, in.Session = c.req.msg, c.req.era, c.req.id, a.id, a.session
	in.Server, in.Reader, in.Config, in.Log, in.Large = on.entry, on.reader, c.table.config, c.g.log, c.g.large
	in.Reply, in.Deadline, in.Resp, in.Cut = &c.reply, c.deadline, resp, ""
	in.Masks, in.Whole, in.Binds = on.redact != redact.Off, on.editsList(&c.req), c.bindsStates()
	if c.rule.patient {
		in.Wait = c.during
	}
}

// do makes the request, and waits for the beginning of the answer.
func (a *attempt) do() (*wire.Answer, error) {
	up := a.of.on.up
	if k := a.of.once; k != nil {
		up = listening{up, k}
	}
	switch {
	case a.half != nil:
		return a.half.do(a.ctx, up, a.request)
	case !a.of.rule.patient:
		return up.Do(a.ctx, a.request)
	default:
		var resp *wire.Answer
		var err error
		a.of.during(func() { resp, err = up.Do(a.ctx, a.request) })
		return resp, err
	}
}

// newKey returns a call's idempotency key for an HTTP API, which is the same for every repetition. A client's own
// key is kept apart from those of other callers and tools.
func newKey(of *request, who *caller, on *endpoint) string {
	given := of.header.Get(claims.KeyHeader)
	for _, name := range claims.KeyMembers {
		if raw := json.Lookup(of.msg.Meta, json.Pointer("").AppendToken(name)); raw.Kind() == '"' && given == "" {
			given = string(raw)
		}
	}
	if given == "" {
		return rand.Text()
	}
	sum := sha256.Sum256(slices.Concat(who.owner[:], []byte(on.entry.Name+" "+of.msg.Name+" "+given)))
	return hex.EncodeToString(sum[:16])
}

// request returns a request to the server for the caller.
func (who *caller) request(header http.Header, body []byte) *upstream.Request {
	r := &upstream.Request{Header: header, Body: body, Caller: who.server}
	if who.outer != nil {
		r.Outer = who.outer
	}
	return r
}

// upstreamHeader returns the headers that are sent with the client's message.
func (c *call) upstreamHeader() http.Header {
	r, on, who, rule := &c.req, c.on, &c.who, &c.rule
	from := r.header
	h := make(http.Header)
	for _, name := range passedOn {
		if values, ok := from[name]; ok {
			h[name] = values
		}
	}
	if r.intake.Line != nil { // which came without headers
		h["Content-Type"] = []string{wire.TypeJSON}
		if r.era == wire.Modern {
			wire.SetHeaders(h, r.msg.ProtocolVersion, r.msg)
		}
	}
	switch {
	case r.era != wire.Modern:
	case r.stdio && rule.listed.Tool != nil:
		wire.SetParamHeaders(h, r.msg.Arguments, rule.listed.Tool.ParamHeaders())
	default:
		for name, values := range from {
			if strings.HasPrefix(name, wire.HeaderParamPrefix) && rule.mirrors(on, r, name) {
				h[name] = values
			}
		}
	}
	for _, name := range on.forward {
		if values := r.forwarded(name); len(values) > 0 {
			h[name] = values
		}
	}
	on.tellUser(h, who.user)
	if who.account.Header != "" {
		h[who.account.Header] = []string{who.account.Value}
	}
	if values := from[claims.KeyHeader]; who.outer != nil && values != nil {
		h[claims.KeyHeader] = values
	}
	h["Accept"] = acceptBoth
	h[wire.HeaderRequestID] = []string{r.id}
	return h
}

// mirrors reports whether a header of the client mirrors an argument, as far as that is known: if the tool declares it, it
// has been compared. Nothing has looked at any other, which a server might act on.
func (r *rule) mirrors(on *endpoint, of *request, header string) bool {
	switch tool := r.listed.Tool; {
	case !on.checks:
		return true // the servers' own stages decide, or nobody does
	case tool == nil:
		return of.isCall() && r.list == nil
	default:
		return slices.ContainsFunc(tool.ParamHeaders(), func(p wire.ParamHeader) bool { return p.Header == header })
	}
}

// forwarded returns the value of a client's header for the server, if the entry forwards it.
func (r *request) forwarded(name string) []string {
	values := r.header[name]
	if peer, _, err := net.SplitHostPort(r.from.RemoteAddr); err == nil && name == wire.HeaderForwardedFor && !r.nested {
		values = append(slices.Clip(values), peer)
	}
	return values
}

// tellUser tells the server whose request it is, in the header of [endpoint.userHeader]. The client's own
// header of that name is not forwarded.
func (on *endpoint) tellUser(header http.Header, user string) {
	name := on.userHeader()
	if name == "" {
		return
	}
	header.Del(name)
	if user != "" {
		header.Set(name, user)
	}
}

var (
	acceptBoth = []string{"application/json, text/event-stream"}
	acceptSSE  = []string{"text/event-stream"}
	// passedOn are the protocol's headers and those for tracing.
	passedOn = []string{
		"Content-Type", wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName,
		wire.HeaderLastEventID, wire.HeaderTraceParent, wire.HeaderTraceState, wire.HeaderBaggage,
	}
)

// A spanContext is where a request is in a distributed trace, with what is forwarded to the server.
type spanContext struct {
	observe.Span

	baggage string
}

// trace continues the client's trace, or begins one, if the configuration asks for traces. _meta takes
// precedence over headers, since an HTTP library may have set those.
func trace(c *call, next next) *failure {
	if c.table.config.Tracing == nil || !c.req.asks() {
		return next(c)
	}
	t, meta := &c.trace, c.req.msg.Trace()
	of, ok := tracecontext.Parse(c.req.only(wire.HeaderTraceParent))
	t.Parent, t.State, t.baggage = of, c.req.only(wire.HeaderTraceState), c.req.only(wire.HeaderBaggage)
	if inner, okInner := tracecontext.Parse(meta.Parent); okInner {
		if ok && inner != of {
			t.Link = of
		}
		t.Parent, t.State, ok = inner, meta.State, true
	}
	if meta.Baggage != "" {
		t.baggage = meta.Baggage
	}
	if ok {
		t.Own = t.Parent.Child()
	} else {
		t.Own, t.State = tracecontext.New(c.table.config.Tracing.Sample), "" // the state belongs to the parent
	}
	return next(c)
}

// spread tells the server an attempt's span, in the header and in _meta. What the client sent is passed on as it is if
// there is no trace, or one that the client does not record.
func spread(a *attempt, try try) end {
	t, r := &a.of.trace, a.request
	if r.Message == nil || t.Own.IsZero() || !t.Own.Sampled && !t.Parent.IsZero() {
		return try(a)
	}
	span := t.Own.Child()
	a.report.Span = span.Span
	said := wire.Trace{Parent: span.String(), State: t.State, Baggage: t.baggage}
	r.Header[wire.HeaderTraceParent] = []string{said.Parent}
	delete(r.Header, wire.HeaderTraceState)
	if tracecontext.Passes(said.State) {
		r.Header[wire.HeaderTraceState] = []string{said.State}
	}
	delete(r.Header, wire.HeaderBaggage)
	if tracecontext.Passes(said.Baggage) {
		r.Header[wire.HeaderBaggage] = []string{said.Baggage}
	}
	if !t.Own.Sampled {
		return try(a)
	}
	m := wire.BorrowMessage()
	defer m.Return()
	if text := r.Message.WithTrace(said); text != nil && wire.Parse(text, m) == nil {
		r.Message = m
	}
	return try(a)
}
