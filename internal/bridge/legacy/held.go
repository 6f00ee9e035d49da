package legacy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// maxHeld bounds the calls that wait for an answer of their client, and maxHeldByCaller
	// those of one known caller.
	maxHeld         = 100
	maxHeldByCaller = 10
	// holdTimeout is how long a call waits.
	holdTimeout = 10 * time.Minute
)

// keepCall holds a call until its client brings the answer to a question, and returns the state
// that names it. It reports false when too many are held already.
func (o *Server) keepCall(c *call, q *question) (state string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of := c.s.key.of; len(o.held) >= maxHeld || o.heldBy[of] >= maxHeldByCaller && !of.IsAnonymous() {
		return "", false
	}
	o.lastHold++
	c.hold, c.question = o.lastHold, q
	o.hold(c)
	name := binary.BigEndian.AppendUint64(nil, uint64(c.hold)) //nolint:gosec // it counts from 1
	return o.seal.close(name, purposeOf(c.s.key.of, c.method, c.name)), true
}

// hold makes c known under its number. o.mu is held.
func (o *Server) hold(c *call) {
	o.held[c.hold] = c
	o.heldBy[c.s.key.of]++
	c.s.held++
	number := c.hold
	c.expires = time.AfterFunc(holdTimeout, func() {
		if c := o.takeCall(number); c != nil {
			c.giveUp(errExpired)
		}
	})
}

var errExpired = errors.New("the client has not answered the question in time")

// takeCall returns the call that is held under that number, and lets go of it; nil: there is
// none.
func (o *Server) takeCall(number int64) *call {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.held[number]
	if c == nil {
		return nil
	}
	c.expires.Stop()
	delete(o.held, number)
	if o.heldBy[c.s.key.of]--; o.heldBy[c.s.key.of] == 0 {
		delete(o.heldBy, c.s.key.of)
	}
	c.s.held--
	return c
}

// isHeld reports whether the call waits for its client.
func (o *Server) isHeld(c *call) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held[c.hold] == c
}

// purposeOf says what a state is for: the caller and the call.
func purposeOf(of upstream.Caller, method, name string) []byte {
	sum := sha256.New()
	_, _ = sum.Write(of[:]) // never fails
	_, _ = sum.Write([]byte(method + "\x00" + name))
	return sum.Sum(nil)
}

// stateOf returns the requestState of a request, or "".
func stateOf(m *wire.Message) string {
	var state string
	if wire.Named(m.Method) {
		_ = json.Unmarshal(json.Lookup(m.Params, "/requestState"), &state) // no string is no state of ours
	}
	return state
}

// resume takes the client's answer to the server, and begins the call's next turn.
func (o *Server) resume(ctx context.Context, r *upstream.Request, state string) (*http.Response, error) {
	m := r.Message
	name, err := o.seal.open(state, purposeOf(r.Caller, m.Method, m.Name))
	if err != nil {
		return o.stranger(ctx, r, err)
	}
	c := o.takeCall(int64(binary.BigEndian.Uint64(name))) //nolint:gosec // it was one before
	if c == nil {
		return nil, o.notHeld(nil)
	}
	t := c.turn(ctx, m)
	answer := json.Lookup(m.Params, "/inputResponses/"+inputKey)
	if answer.Kind() != '{' { // it is asked once more
		if text := t.ask(c.question); text != nil {
			return wire.Respond(http.StatusOK, text), nil
		}
		return t.begin()
	}
	if err := c.answer(answer); err != nil {
		if e := recourse.From(err); e.Effect == recourse.EffectNone && t.stop() { // it can be brought again
			o.mu.Lock()
			o.hold(c)
			o.mu.Unlock()
			return nil, e
		}
		c.giveUp(err)
		return nil, err
	}
	return t.begin()
}

// stranger answers a request with a state that is not the bridge's, or not for this request. The
// state may be that of a server which speaks the modern era by now: then ready says so.
func (o *Server) stranger(ctx context.Context, r *upstream.Request, why error) (*http.Response, error) {
	s := o.enter(r)
	defer o.leave(s)
	if _, err := s.ready(ctx, nil); err != nil {
		return refusedOpening(err)
	}
	return nil, o.notHeld(why)
}

// notHeld is the failure of a state that names no call. The call may have been answered before,
// so that its effect is not known.
func (o *Server) notHeld(cause error) *recourse.Error {
	return recourse.New(recourse.KindInvalidState, "").
		WithMessage("The call that this answers is not waiting any more. Call again from the start.").
		WithOrigin(recourse.OriginGateway).WithProvider(o.p.Name()).WithEffect(recourse.EffectUnknown).CausedBy(cause)
}

func (c *call) answer(result json.Value) error {
	o := c.s.o
	resp, err := c.s.post(c.ctx, c.s.headerAt(c.at), wire.AppendResult(nil, c.question.id, result))
	switch {
	case err != nil:
		return err
	case resp.StatusCode < http.StatusMultipleChoices:
		drain(resp)
		return nil
	case c.s.lostBy(c.ctx, c.at, resp):
		drain(resp)
		return o.notHeld(errors.New("the server has lost the session"))
	}
	text, _ := peer.Keep(resp) // a broken body says no more than the status
	_ = resp.Body.Close()
	return failedAnswer(o.p.Name(), &upstream.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}).
		WithEffect(recourse.EffectUnknown)
}
