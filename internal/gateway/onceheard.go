package gateway

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

const (
	// maxKeptAnswer is the largest answer that is kept.
	maxKeptAnswer = 256 << 10
	// maxLate limits how many servers are listened to after their calls have ended, and maxLateBytes what each may send.
	maxLate      = 100
	maxLateBytes = 4 << 20
	// maxRefused limits what is read of an answer that is not one to the call.
	maxRefused = 1 << 20
)

// A listening is a connection whose answers are heard to their end, even if the call that waits for them ends before that.
type listening struct {
	upstream.Connection

	k *keyed
}

// Do implements [upstream.Connection].
func (l listening) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	k := l.k
	if ctx.Err() != nil {
		return nil, upstream.EndedBeforeSend(ctx, l.Name())
	}
	if !k.claimed.MaySend() {
		return nil, k.noStore(errNoBeat).Err
	}
	own, err := k.ownRequest(r)
	if err != nil {
		return nil, err
	}
	b := k.call.on.backend
	if !b.Hold() {
		return nil, k.call.on.removed()
	}
	h := newHeard(ctx, k.call.on.reader, own.Message.ID)
	h.claim = k.claimed
	if !k.call.req.isOrdered() {
		h.claim = nil
	}
	if k.heard != nil {
		k.heard.stop()
	}
	k.heard = h
	longest, window, up := k.call.on.entry.MaxTimeout+k.call.rule.wait+lateFor, int(k.call.table.config.DecideWithin), l.Connection
	k.call.g.background(longest, func(life context.Context) { // which may outlive the call, and its memory
		defer b.Leave()
		h.run(life, up, own, window)
	})
	select {
	case b := <-h.begun:
		return b.resp, b.err
	case <-ctx.Done():
		h.desert()
		return nil, upstream.Broken(ctx, l.Name(), context.Cause(ctx))
	}
}

// ownRequest returns a request in memory of its own, with the key by which the other side may recognise the call.
func (k *keyed) ownRequest(r *upstream.Request) (*upstream.Request, error) {
	own := *r
	own.Message = new(wire.Message)
	text := bytes.Clone(r.Message.Raw)
	switch by := k.call.on.entry.IdempotentBy; by {
	case "":
	case "meta":
		text = withKey(r.Message, k.outKey())
	default:
		own.Header[by] = []string{k.outKey()}
	}
	if err := wire.Parse(text, own.Message); err != nil {
		return nil, internal(err)
	}
	return &own, nil
}

// withKey returns a message with that key in its _meta, and no other one.
func withKey(m *wire.Message, key string) []byte {
	meta := m.Meta
	for _, name := range claims.KeyMembers {
		meta = json.Without(meta, name)
	}
	text := m.Raw
	if m.Meta != nil {
		text = wire.Splice(nil, text, wire.Edit{At: m.MetaAt, With: meta})
	}
	bare := new(wire.Message)
	if wire.Parse(bytes.Clone(text), bare) != nil {
		return text
	}
	member := json.AppendQuote(append(json.AppendQuote(nil, claims.KeyMembers[0]), ':'), key)
	return wire.Splice(nil, bare.Raw, bare.PutMeta(member))
}

// A heard is what the server says to an attempt.
type heard struct {
	reader *failures.Reader
	id     wire.ID
	begun  chan begun
	gone   chan struct{}   // closed when nobody waits for the beginning any more
	of     context.Context //nolint:containedctx // of the call: the listening goes on without it
	life   context.Context //nolint:containedctx // of the listening
	stop   func()          // ends it
	claim  *claims.Claim   // of a client whose next message shows that it has got the answer; or nil

	mu    sync.Mutex
	text  []byte // the answer; nil: there is none yet, or it is too large
	size  int64  // of the answer, as far as it has come
	whole bool   // it has come to its end
	asks  bool   // it is a question
	ended bool   // nothing more comes
	err   error  // why
	late  func() // is called then, or once it is whole, if the call has ended; nil: it has not, or that has been done
}

func newHeard(of context.Context, reader *failures.Reader, id wire.ID) *heard {
	h := &heard{reader: reader, id: id, begun: make(chan begun, 1), gone: make(chan struct{}), of: of}
	h.life, h.stop = context.WithCancel(context.WithoutCancel(of))
	return h
}

// desert says that nobody waits for the beginning of the answer any more.
func (h *heard) desert() {
	close(h.gone)
	select {
	case b := <-h.begun:
		if b.resp != nil {
			_ = b.resp.Close()
		}
	default:
	}
}

type begun struct {
	resp *wire.Answer
	err  error
}

// isQuestion reports whether the server has answered with a question.
func (h *heard) isQuestion() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asks
}

// answer returns the server's answer, and how long it is; 0: there is none.
func (h *heard) answer() (text []byte, size int64) {
	if h == nil {
		return nil, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.whole {
		return nil, 0
	}
	return h.text, h.size
}

// run makes the request and hears the answer.
func (h *heard) run(ctx context.Context, up upstream.Connection, r *upstream.Request, window int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	defer h.stop()
	resp, err := up.Do(ctx, r)
	switch {
	case err != nil:
		h.end(err)
		h.begun <- begun{err: err}
	case resp.Status != http.StatusOK:
		body, _ := resp.Peek(maxRefused)
		_ = resp.Close()
		h.end(nil)
		h.begun <- begun{resp: refusedWith(resp, body)}
	default:
		h.hear(resp, window)
	}
}

// refusedWith returns the same answer with its body, which has been read.
func refusedWith(resp *wire.Answer, body []byte) *wire.Answer {
	kept := wire.Respond(resp.Status, body)
	kept.Header, kept.Failure = resp.Header, resp.Failure
	return kept
}

// hear passes the answer on, message by message, and listens to the rest of it when nobody reads it any more.
func (h *heard) hear(resp *wire.Answer, window int) {
	defer func() { _ = resp.Close() }()
	messages := wire.NewMessageReader(resp, window)
	part, err := messages.Next()
	if !resp.Stream && err == nil && part.First && part.Complete && part.Err == nil && part.Signs != nil {
		h.note(part)
		h.end(nil)
		signs := part.Signs.Edited()
		h.begun <- begun{resp: as(resp, wire.RespondMessage(bytes.Clone(part.Data), &signs))}
		return
	}
	pipe := wire.NewPipe()
	defer context.AfterFunc(h.of, func() { pipe.End(context.Cause(h.of)) })()
	h.begun <- begun{resp: as(resp, wire.RespondParts(pipe, pipe))}
	select {
	case <-h.gone:
		_ = pipe.Close()
	default:
	}
	gone, size := false, 0
	for ; part != nil; part, err = messages.Next() {
		h.note(part)
		if !gone && pipe.Send(part) != nil {
			gone = true
		}
		if size += len(part.Data); gone && (size > maxLateBytes || h.isWhole()) {
			break
		}
		if err != nil { // of a JSON text, with what came before it
			break
		}
	}
	h.end(err)
	if wire.BrokeOff(err) {
		pipe.End(err)
	} else {
		pipe.End(nil)
	}
}

// as returns an answer that says the same as another one about itself.
func as(from, to *wire.Answer) *wire.Answer {
	to.Status, to.Header, to.Stream, to.Length, to.Failure = from.Status, from.Header, from.Stream, from.Length, from.Failure
	return to
}

// note keeps the first answer to the request.
func (h *heard) note(part *wire.Part) {
	defer h.closeLate()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole || part.Other || part.Kind == wire.Notification || part.Kind == wire.Request {
		return
	}
	if part.First {
		h.size = 0
	}
	h.size += int64(len(part.Data))
	if !part.Complete {
		return
	}
	if part.Kind != wire.Response || part.Signs == nil || !part.Signs.ID.Equal(h.id) || !answer.IsWhole(part.Signs) {
		h.size = 0
		return
	}
	if h.claim != nil {
		h.claim.Arrived()
	}
	if h.whole = true; part.First && h.size <= maxKeptAnswer {
		h.text, h.asks = bytes.Clone(part.Data), failures.Asks(part.Data, part.Signs)
	}
}

func (h *heard) isWhole() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.whole
}

// end notes that nothing more comes.
func (h *heard) end(err error) {
	defer h.closeLate()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.err = true, err
}

// leave hands the claim over: it is closed by the answer, which may have come already. It reports false if too much is listened to.
func (h *heard) leave(k *keyed, claim *claims.Claim) bool {
	if h == nil {
		return false
	}
	g := k.call.g
	if g.late.Add(1) > maxLate {
		g.late.Add(-1)
		h.stop()
		return false
	}
	timer := time.AfterFunc(lateFor, h.stop)
	states, purpose := k.call.table.states, k.purpose()
	claim.Late()
	late := observe.Late{ID: k.call.req.id, Server: k.call.on.entry.Name, Name: k.call.req.msg.Name}
	if k.call.rule.listed.Tool != nil {
		late.Tool = late.Name
	}
	told := k.call.out.tellsLate(g, late)
	h.mu.Lock()
	h.late = func() {
		timer.Stop()
		g.late.Add(-1)
		told(h.settle(claim, func(answer []byte) string { return states.Seal(answer, purpose) }))
	}
	h.mu.Unlock()
	h.closeLate()
	return true
}

// closeLate has the claim of a call closed that has ended, when its answer has come or cannot come any more.
func (h *heard) closeLate() {
	h.mu.Lock()
	late := h.late
	if late == nil || !h.ended && !h.whole {
		h.mu.Unlock()
		return
	}
	h.late = nil
	h.mu.Unlock()
	late()
}

// settle closes the claim, and says what has come.
func (h *heard) settle(claim *claims.Claim, sealed func(answer []byte) string) string {
	switch {
	case h.whole && h.text != nil && h.succeeded():
		claim.Answered(sealed(h.text), h.size, false, false, "answered late")
		return "success"
	case !h.whole && h.err != nil && retry.Effect(recourse.From(h.err), retry.Writes) == recourse.EffectNone:
		claim.Free()
		return "not sent"
	}
	claim.Unknown("its answer did not come, or said that it failed")
	switch {
	case !h.whole:
		return "none"
	case h.text == nil:
		return "too long"
	default:
		return "failure"
	}
}

// succeeded reports whether the answer, which has come, is no failure.
func (h *heard) succeeded() bool {
	var scan wire.Scanner
	if _, err := scan.Write(h.text); err != nil || scan.Close() != nil {
		return false
	}
	reading, _, ok := h.reader.Answer(h.text, scan.Signs(), true, "", func(raw []byte) []byte { return raw })
	return !ok || reading.Error() == nil
}
