package legacy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

const (
	// maxHeld limits the calls that wait for an answer from their client, and maxHeldByCaller those of one
	// known caller.
	maxHeld         = 100
	maxHeldByCaller = 10
	// holdTimeout is how long a call waits.
	holdTimeout = 10 * time.Minute
)

// keepCall holds a call until its client brings the answer to a question, and returns the state that
// identifies it. It reports false if too many are held already.
func (srv *Bridge) keepCall(c *exchange, q *question) (state string, ok bool) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if of := c.s.key.of; len(srv.held) >= maxHeld || srv.heldBy[of] >= maxHeldByCaller && !of.IsAnonymous() {
		return "", false
	}
	c.state, c.question = statePrefix+rand.Text(), q
	srv.hold(c)
	return c.state, true
}

// statePrefix distinguishes the states of a bridge from those of servers.
const statePrefix = "held-"

// Holds reports whether a state is a bridge's, for a call that waits.
func Holds(state string) bool { return strings.HasPrefix(state, statePrefix) }

// hold registers c under its state. Bridge.mu is held.
func (srv *Bridge) hold(c *exchange) {
	srv.held[c.state] = c
	srv.heldBy[c.s.key.of]++
	c.s.held++
	c.expires = time.AfterFunc(holdTimeout, func() {
		if srv.take(c) {
			c.giveUp(errExpired)
		}
	})
}

var errExpired = errors.New("the client did not answer the question in time")

// heldFor returns the call that waits for a request with that state, or nil. Nobody can guess a state, but it may have been passed on:
// it is good for the same call by the same caller.
func (srv *Bridge) heldFor(state string, r *upstream.Request) *exchange {
	srv.mu.Lock()
	c := srv.held[state]
	srv.mu.Unlock()
	if c == nil || c.s.key.of != r.Caller || c.sum() != r.Message.Sum() || !srv.take(c) {
		return nil
	}
	return c
}

// sum returns that of the client's request. Most calls never need it.
func (c *exchange) sum() [sha256.Size]byte {
	var m wire.Message
	_ = wire.Parse(c.body, &m) // it was a message
	return m.Sum()
}

// take stops holding a call. It reports false if it is not held.
func (srv *Bridge) take(c *exchange) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.held[c.state] != c {
		return false
	}
	c.expires.Stop()
	delete(srv.held, c.state)
	if srv.heldBy[c.s.key.of]--; srv.heldBy[c.s.key.of] == 0 {
		delete(srv.heldBy, c.s.key.of)
	}
	c.s.held--
	return true
}

// isHeld reports whether the call waits for its client.
func (srv *Bridge) isHeld(c *exchange) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.held[c.state] == c
}

// stateOf returns the requestState of a request, or "".
func stateOf(m *wire.Message) string {
	if m.State == nil || !wire.Named(m.Method) {
		return ""
	}
	return json.Text(m.State, "") // any other value is not a state of ours
}

// resume passes the client's answer to the server, and begins the call's next turn.
func (srv *Bridge) resume(ctx context.Context, m *wire.Message, c *exchange) (*wire.Answer, error) {
	t := c.turn(ctx, m)
	answer := json.Lookup(m.Params, "/inputResponses/"+inputKey)
	if answer.Kind() != '{' { // the question is repeated
		if part := t.ask(c.question); part != nil {
			return wire.RespondMessage(part.Data, nil), nil
		}
		return t.begin()
	}
	if err := c.answer(answer); err != nil && !c.hasEnded() {
		if e := recourse.From(err); e.Effect == recourse.EffectNone && t.stop() { // the answer can be sent again
			srv.mu.Lock()
			srv.hold(c)
			srv.mu.Unlock()
			return nil, e
		}
		c.giveUp(err)
		return nil, err
	}
	return t.begin()
}

// hasEnded reports whether it is known how the call ended, which says more than that its question cannot be answered. If a program
// has ended, its calls hear of that in a moment.
func (c *exchange) hasEnded() bool {
	select {
	case e := <-c.ending:
		c.ending <- e
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

// forgotten is the failure for a state that identifies no call. The call may have been answered before, so its
// effect is not known.
func (srv *Bridge) forgotten(cause error) *recourse.Error {
	return recourse.New(recourse.KindInvalidState, "").
		WithMessage("The call that this answers is no longer waiting. Call again from the start.").
		WithOrigin(recourse.OriginGateway).WithProvider(srv.p.Name()).WithEffect(recourse.EffectUnknown).CausedBy(cause)
}

func (c *exchange) answer(result json.Value) error {
	srv := c.s.srv
	resp, err := c.s.post(c.ctx, c.s.headerAt(c.at), wire.AppendResult(nil, c.question.id, result), nil)
	switch {
	case err != nil:
		return err
	case resp.Status < http.StatusMultipleChoices:
		drain(resp)
		return nil
	case c.s.lostBy(c.ctx, c.at, resp):
		drain(resp)
		return srv.forgotten(errors.New("the server has lost the session"))
	}
	defer resp.Close()
	return srv.p.Refused(resp).WithEffect(recourse.EffectUnknown)
}
