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
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/retry"
)

// send sends the message once and handles the answer. A transport failure, or a server that does not accept
// the message, is a [*recourse.Error]; any other answer settles the call.
func send(c *call, _ next) error {
	method, header, acts := c.req.method, c.upstreamHeader(), c.on.manner.acts()
	if method != http.MethodPost {
		if delete(header, "Content-Type"); method == http.MethodGet {
			header["Accept"] = acceptSSE
		}
		if c.out.renewed { // the events belonged to the lost session
			delete(header, wire.HeaderLastEventID)
		}
	}
	generation := c.session.SetHeader(header)
	c.out.attempt()
	c.out.last.session, c.out.last.generation = header.Get(wire.HeaderSession), generation
	c.in.reset(&c.req, c.to, c.table.config)
	if c.to.entry.API != nil && c.req.isCall() {
		if c.out.key == "" {
			c.out.key = newKey(&c.req, &c.who, c.on)
		}
		header[api.KeyHeader] = []string{c.out.key}
	}
	r := c.who.request(header, nil)
	switch r.Method = method; {
	case method != http.MethodPost:
	case c.req.msg.Kind == wire.Response: // whose id routeDelivery has removed
		r.Body = c.req.body
	default:
		r.Message = c.req.msg
		if acts {
			r.Message, c.out.last.Span = c.trace.continued(c.req.msg, header)
		}
	}
	do := c.to.up.Do
	if c.to.entry.Hedge != nil && c.req.isCall() && c.rule.nature == retry.Reads && acts {
		do = c.hedge
	}
	message := r.Message
	resp, err := c.sendPatiently(do, r)
	if message != nil && message != c.req.msg { // it is the attempt's own
		message.Return()
	}
	if err != nil {
		e := c.provided(recourse.From(err))
		c.out.ended(e)
		return e
	}
	c.out.last.answered, c.out.last.Status = resp.Status == http.StatusOK, resp.Status
	c.in.resp, c.reply.from = resp, resp
	if c.req.msg.Method == wire.MethodInitialize {
		c.reply.opening = c.openSession
	}
	err = c.reply.manner.answer(c)
	if !c.in.continues {
		_ = resp.Close() // its answer is known
	}
	e, again := err.(*recourse.Error) //nolint:errorlint // returned unwrapped
	if again {
		c.in.close()
	}
	c.out.ended(e)
	return err
}

// keyMembers are the members of _meta in which a client sends a call's idempotency key, the most likely
// first.
var keyMembers = []string{"io.github.recoursehq/idempotencyKey", "idempotency-key", "idempotency_key"}

// newKey returns a call's idempotency key for an HTTP API, which is the same for every repetition. A client's own
// key is kept apart from those of other callers and tools.
func newKey(of *request, who *caller, on *endpoint) string {
	given := of.header.Get(api.KeyHeader)
	for _, name := range keyMembers {
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
	return &upstream.Request{Header: header, Body: body, Caller: who.server}
}

// upstreamHeader returns the headers that are sent with the client's message.
func (c *call) upstreamHeader() http.Header {
	from := c.req.header
	h := make(http.Header)
	for _, name := range passedOn {
		if values, ok := from[name]; ok {
			h[name] = values
		}
	}
	if c.req.line != nil { // which came without headers
		h["Content-Type"] = []string{wire.TypeJSON}
		if c.req.era == wire.Modern {
			wire.SetHeaders(h, c.req.msg.ProtocolVersion, c.req.msg)
		}
	}
	switch {
	case c.req.era != wire.Modern:
	case c.req.stdio && c.rule.listed.Tool != nil:
		wire.SetParamHeaders(h, c.req.msg.Arguments, c.rule.listed.Tool.ParamHeaders())
	default:
		for name, values := range from {
			if strings.HasPrefix(name, wire.HeaderParamPrefix) && c.mirrors(name) {
				h[name] = values
			}
		}
	}
	for _, name := range c.on.forward {
		if values := c.req.forwarded(name); len(values) > 0 {
			h[name] = values
		}
	}
	c.on.tellUser(h, c.who.user)
	if c.account.Header != "" {
		h[c.account.Header] = []string{c.account.Value}
	}
	h["Accept"] = acceptBoth
	h[wire.HeaderRequestID] = []string{c.req.id}
	return h
}

// mirrors reports whether a header of the client mirrors an argument, as far as that is known: if the tool declares it, it
// has been compared. Nothing has looked at any other, which a server might act on.
func (c *call) mirrors(header string) bool {
	switch tool := c.rule.listed.Tool; {
	case c.on.many != nil, !c.on.manner.acts():
		return true // the servers' own stages decide, or nobody does
	case tool == nil:
		return c.req.isCall() && c.rule.list == nil
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
