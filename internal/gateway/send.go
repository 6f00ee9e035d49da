package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/gateway/hedge"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// send sends the message once and handles the answer. A transport failure, or a server that does not accept
// the message, is a [*recourse.Error]; any other answer settles the call.
func send(c *call, _ next) error {
	method, header := c.req.http.Method, c.upstreamHeader()
	if method != http.MethodPost {
		if delete(header, "Content-Type"); method == http.MethodGet {
			header["Accept"] = acceptSSE
		}
		if c.out.renewed { // the events belonged to the lost session
			delete(header, wire.HeaderLastEventID)
		}
	}
	generation := c.addSession(header)
	c.out.attempt()
	c.out.last.session, c.out.last.generation = header.Get(wire.HeaderSession), generation
	c.in.cut, c.in.id = "", nil
	c.addKey(header)
	r := c.who.request(header, nil)
	switch r.Method = method; {
	case method != http.MethodPost:
	case c.req.msg.Kind == wire.Response: // whose id routeDelivery has removed
		r.Body = c.req.body
	default:
		r.Message = c.continueTrace(header)
	}
	do := c.to.up.Do
	if c.hedges() {
		do = c.hedge
	}
	message := r.Message
	resp, err := do(c.ctx, r)
	if message != nil && message != c.req.msg { // it is the attempt's own
		message.Return()
	}
	if err != nil {
		e := c.provided(recourse.From(err))
		c.out.ended(e)
		return e
	}
	c.out.last.answered, c.out.last.Status = resp.StatusCode == http.StatusOK, resp.StatusCode
	c.in.resp = resp
	err = c.reply.manner.answer(c)
	if !c.in.goesOn {
		_ = resp.Body.Close() // its answer is known
	}
	e, again := err.(*recourse.Error) //nolint:errorlint // returned unwrapped
	if again {
		c.closeAnswer()
	}
	c.out.ended(e)
	return err
}

// keyMembers are the members of _meta in which a client sends a call's idempotency key, the most likely
// first.
var keyMembers = []string{"io.github.recoursehq/idempotencyKey", "idempotency-key", "idempotency_key"}

// addKey gives an HTTP API the call's idempotency key, the same for every repetition. A client's own key is
// kept apart from those of other callers and tools.
func (c *call) addKey(header http.Header) {
	if c.to.API == nil || !c.req.isCall() {
		return
	}
	if c.out.key == "" {
		c.out.key = c.newKey()
	}
	header[api.KeyHeader] = []string{c.out.key}
}

func (c *call) newKey() string {
	given := c.req.http.Header.Get(api.KeyHeader)
	for _, name := range keyMembers {
		if raw := json.Lookup(c.req.msg.Meta, json.Pointer("").AppendToken(name)); raw.Kind() == '"' && given == "" {
			given = string(raw)
		}
	}
	if given == "" {
		return rand.Text()
	}
	sum := sha256.Sum256(slices.Concat(c.who.id[:], []byte(c.on.Name+" "+c.req.msg.Name+" "+given)))
	return hex.EncodeToString(sum[:16])
}

// request returns a request to the server for the caller.
func (who *caller) request(header http.Header, body []byte) *upstream.Request {
	return &upstream.Request{Header: header, Body: body, Caller: who.server}
}

// upstreamHeader returns the headers that are sent with the client's message.
func (c *call) upstreamHeader() http.Header {
	from := c.req.http.Header
	h := make(http.Header)
	for _, name := range passedOn {
		if values, ok := from[name]; ok {
			h[name] = values
		}
	}
	switch {
	case c.req.era != wire.Modern:
	case c.req.stdio && c.rule.listed.Tool != nil:
		wire.SetParamHeaders(h, c.req.msg.Arguments, c.rule.listed.Tool.ParamHeaders())
	default:
		for name, values := range from {
			if strings.HasPrefix(name, wire.HeaderParamPrefix) {
				h[name] = values
			}
		}
	}
	for _, name := range c.on.forward {
		if values := c.forwarded(name); len(values) > 0 {
			h[name] = values
		}
	}
	c.addUser(h)
	if c.account.Header != "" {
		h[c.account.Header] = []string{c.account.Value}
	}
	h["Accept"] = acceptBoth
	h[wire.HeaderRequestID] = []string{c.req.id}
	return h
}

// forwarded returns the value of a client's header for the server, if the entry forwards it.
func (c *call) forwarded(name string) []string {
	values := c.req.http.Header[name]
	if peer, _, err := net.SplitHostPort(c.req.http.RemoteAddr); err == nil && name == wire.HeaderForwardedFor && c.member == nil {
		values = append(slices.Clip(values), peer)
	}
	return values
}

// addUser tells the server whose request it is, in the header that the contract names. The client's own
// header of that name is not forwarded.
func (c *call) addUser(header http.Header) {
	name := c.on.contract.Session.UserHeader
	if name == "" {
		return
	}
	header.Del(name)
	if c.who.user != "" {
		header.Set(name, c.who.user)
	}
}

// addSession adds the id of the session at the server to the headers, and returns the session's generation.
func (c *call) addSession(header http.Header) (generation int) {
	if c.session == nil {
		return 0
	}
	_, id, generation := c.session.At()
	delete(header, wire.HeaderSession)
	if id != "" {
		header[wire.HeaderSession] = []string{id}
	}
	return generation
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

// A runner is one of a call's two attempts.
type runner struct {
	*hedge.Attempt

	id     wire.ID // toward the server: ids in a session must differ
	header http.Header
	tried  attempt
}

func (c *call) hedges() bool {
	return c.to.Hedge != nil && c.req.isCall() && c.rule.nature == retry.Reads && c.on.manner.acts()
}

// hedge sends a call that only reads, and sends it again if the answer does not begin in time. Both attempts
// may outlive the call, so they share nothing with it.
func (c *call) hedge(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	raw, spare := r.Message.Raw, r.Clone()
	one := c.start(ctx, r, raw, c.req.msg.ID)
	if one.Within(c.to.Hedge.After) {
		return one.Resp, one.Err
	}
	leave, ok := c.mayHedge()
	if !ok {
		one.Wait()
		return one.Resp, one.Err
	}
	one.tried.Reason = "its answer had not begun, and the tool only reads"
	c.out.attempt()
	c.out.last.session, c.out.last.generation = one.tried.session, one.tried.generation
	id := wire.ID(fmt.Sprintf("%q", c.req.id+"-hedge"))
	m := c.continueTrace(spare.Header)
	two := c.start(ctx, spare, wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: id}), id)

	winner, loser := one, two
	if !one.Outruns(two.Attempt) {
		winner, loser = two, one
	}
	if winner.Answered {
		c.out.Attempts = append(c.out.Attempts, loser.ended(true))
		c.outrun(loser, leave)
	} else { // only the other one is left
		winner, loser = loser, winner
		c.out.Attempts = append(c.out.Attempts, loser.ended(false))
		winner.tried.outlived = c.verdictOf(c.endOf(loser))
		loser.Drop()
		winner.Wait()
		leave()
	}
	c.out.last, c.in.id = winner.tried, winner.id
	return winner.Resp, winner.Err
}

func (c *call) start(ctx context.Context, r *upstream.Request, message []byte, id wire.ID) *runner {
	run := &runner{id: id, header: r.Header.Clone(), tried: c.out.last}
	r.Message, r.Body = nil, message
	up := c.to.up
	run.Attempt = hedge.Start(ctx, func(ctx context.Context) (*http.Response, error) { return up.Do(ctx, r) })
	return run
}

// mayHedge reports whether another attempt is possible: a place in each bulkhead, which leave gives back, a
// closed breaker, and a repetition left in the budget.
func (c *call) mayHedge() (leave func(), ok bool) {
	if c.to.breaker != nil && !c.to.breaker.Closed(c.lane()) {
		return nil, false
	}
	var places []*bulkhead.Bulkhead
	leave = func() {
		for _, b := range places {
			b.Leave()
		}
	}
	for _, b := range []*bulkhead.Bulkhead{c.to.toolBulkheads[c.rule.Concurrency], c.to.bulkhead} {
		if b == nil {
			continue
		}
		if !b.Try() {
			leave()
			return nil, false
		}
		places = append(places, b)
	}
	if !c.to.Budget.Take() {
		leave()
		return nil, false
	}
	return leave, true
}

// cancelTime limits the time for telling a server that an attempt is no longer wanted.
const cancelTime = 5 * time.Second

// outrun ends the attempt that was not answered first. A legacy server needs a notification (MCP 2025-11-25,
// basic/utilities/cancellation); a modern one notices that nobody is listening.
func (c *call) outrun(loser *runner, leave func()) {
	loser.Cancel()
	up, caller, legacy := c.to.up, c.who.server, c.req.era == wire.Legacy
	c.g.background(cancelTime, func(ctx context.Context) {
		defer leave()
		if legacy {
			params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, loser.id, hedge.ErrOutrun)
			body := wire.AppendRequest(nil, nil, wire.MethodCancelled, params)
			resp, err := up.Do(ctx, &upstream.Request{Header: loser.header, Body: body, Caller: caller})
			if err == nil {
				_ = resp.Body.Close() // it is a notification
			}
		}
		loser.Drop()
	})
}

// endOf returns how an attempt ended whose answer has not begun: the status, 0 if there was none, and the
// error.
func (c *call) endOf(r *runner) (status int, e *recourse.Error) {
	switch {
	case r.Err != nil:
		return 0, recourse.From(r.Err)
	case r.Resp.StatusCode != http.StatusOK:
		return r.Resp.StatusCode, c.to.reader.HTTP(r.Resp.StatusCode, r.Resp.Header, nil, "").Error()
	}
	if r.Broken != nil {
		e = c.to.broken(c.ctx, r.Broken)
	}
	return http.StatusOK, e
}

// ended returns the record of an attempt that does not count, because it was outrun or has failed.
func (r *runner) ended(outrun bool) observe.Attempt {
	tried := r.tried.Attempt
	tried.Took = time.Since(tried.Began)
	switch {
	case outrun:
		tried.Failure = recourse.KindCancelled
	case r.Err != nil:
		tried.Failure = recourse.From(r.Err).Kind
	default:
		tried.Status = r.Resp.StatusCode
		tried.Failure = recourse.FromStatus("", tried.Status).Kind
	}
	return tried
}
