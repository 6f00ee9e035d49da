package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A pending call is a request that a child has been given, or is about to be given.
type pending struct {
	Mailbox

	id       int64   // of the request and of its progress, toward the child
	clientID wire.ID // as the client wrote it
	token    []byte  // the client's progress token as written; nil: none
	session  *childSession
	opening  bool          // it is the child's initialize: its client gets nothing before the answer
	listens  bool          // it is a subscription of the modern era, which lasts until one side ends it
	level    wire.LogLevel // level of the logs that its client, of the modern era, wants
	joined   bool          // another call was under way when it began

	// Where the request is in the data about to be written; guarded by child.mu.
	batch      uint64
	start, end int
}

// errUnsent ends a call that the child has not begun to read.
var errUnsent = errors.New("the request was not sent")

// accept gives the child a request as soon as there is room for it. The error is errDone if done ended the
// wait, or errUnsent if the child takes no more requests.
func (c *child) accept(done <-chan struct{}, m *wire.Message, x *childSession, stamp string) (*pending, error) {
	call := &pending{
		clientID: m.ID.Clone(), session: x, level: wire.LogLevelOf(m.LogLevel),
		opening: m.Method == wire.MethodInitialize, listens: m.Method == wire.MethodListen,
	}
	if isToken(m.ProgressToken) {
		call.token = bytes.Clone(m.ProgressToken)
	}
	if err := c.lockForRoom(done); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	c.lastID++
	call.id = c.lastID
	for _, other := range c.calls {
		call.joined = call.joined || !other.listens
	}
	c.calls[call.id] = call
	c.used = time.Now()
	id := wire.IntID(call.id)
	call.batch, call.start = c.batch, len(c.out)
	edits := make([]wire.Edit, 0, 3)
	edits = append(edits, wire.Edit{At: m.IDAt, With: id})
	if call.token != nil {
		edits = append(edits, wire.Edit{At: m.ProgressTokenAt, With: id})
	}
	if stamp != "" {
		edits = m.Stamp(edits, stamp)
	}
	c.out = wire.Splice(c.out, m.Raw, edits...)
	c.endLine(call.start)
	call.end = len(c.out)
	c.flush()
	return call, nil
}

// isToken reports whether raw is valid as a progress token: a string or a number.
func isToken(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// abandon gives up a call and tells the child why. It reports whether the child may have seen the request.
func (c *child) abandon(call *pending, reason string) (sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[call.id] != call {
		return true // it has been answered, or ended with the child
	}
	if c.withdraw(call) {
		return false
	}
	if !call.opening { // a client must not cancel it (MCP 2025-11-25, basic/utilities/cancellation)
		params := fmt.Appendf(nil, `{"requestId":%d,"reason":%q}`, call.id, reason)
		c.append(wire.AppendRequest(nil, nil, wire.MethodCancelled, params))
		c.probe()
	}
	return true
}

// withdraw removes a call, also from the data about to be written. It reports whether the child has seen
// nothing of it; otherwise a late answer may arrive.
func (c *child) withdraw(call *pending) bool {
	delete(c.calls, call.id)
	c.used = time.Now()
	if call.batch != c.batch {
		c.late(call.id)
		return false
	}
	size := call.end - call.start
	c.out = append(c.out[:call.start], c.out[call.end:]...)
	for _, other := range c.calls {
		if other.batch == c.batch && other.start > call.start {
			other.start, other.end = other.start-size, other.end-size
		}
	}
	return true
}

// maxLate limits how many abandoned calls are remembered, to recognise their late answers.
const maxLate = 1024

// late records that the answer to a call is no longer wanted. Since no id is used twice, an answer to a call
// that has been forgotten matches none.
func (c *child) late(id int64) {
	if len(c.lateIDs) >= maxLate {
		clear(c.lateIDs)
	}
	c.lateIDs[id], c.doubt = struct{}{}, true
}

// cancel passes on a client's cancellation. The client then expects no answer (MCP 2025-11-25,
// basic/utilities/cancellation), so the call ends here.
func (c *child) cancel(m *wire.Message, x *childSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call.session != x || call.opening || !call.clientID.Equal(m.RequestID) {
			continue
		}
		ended := recourse.Cancelled().WithOrigin(recourse.OriginCaller).WithProvider(c.s.name)
		if c.withdraw(call) {
			ended = ended.WithEffect(recourse.EffectNone)
		} else {
			c.append(wire.Splice(nil, m.Raw, wire.Edit{At: m.RequestIDAt, With: wire.IntID(call.id)}))
		}
		call.End(ended)
		return
	}
}

// answered removes the call that has been answered. known is false if no call has that id.
func (c *child) answered(id int64) (call *pending, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call = c.calls[id]; call != nil {
		delete(c.calls, id)
		c.used = time.Now()
		return call, true
	}
	_, known = c.lateIDs[id]
	delete(c.lateIDs, id)
	return nil, known
}

// onlyCall returns the only call in progress, to which an answer must belong even before its id is known. It
// returns nil if there are more, or if the answer may be late or for someone else.
func (c *child) onlyCall() *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared || c.doubt || len(c.calls) != 1 {
		return nil
	}
	for id, call := range c.calls {
		if call.batch == c.batch {
			return nil // it has not even been sent
		}
		delete(c.calls, id)
		return call
	}
	return nil
}

// byID returns the call with that id, which is also its progress token.
func (c *child) byID(id int64) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

func (c *child) newestCall() *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	var newest *pending
	for _, call := range c.calls {
		if !call.opening && (newest == nil || call.id > newest.id) {
			newest = call
		}
	}
	return newest
}

// exchange makes a request and returns its answer.
func (c *child) exchange(ctx context.Context, m *wire.Message, x *childSession) (delivery, error) {
	call, err := c.accept(ctx.Done(), m, x, "")
	if err != nil {
		return delivery{}, err
	}
	defer call.discard()
	return call.last(ctx)
}

// last waits for the answer and drops what comes before it.
func (call *pending) last(ctx context.Context) (delivery, error) {
	for {
		said, err := call.next(ctx)
		if err != nil || said.last {
			return said, err
		}
	}
}

// give hands the answer to the call, unless nobody is waiting any more.
func (call *pending) give(m delivery) {
	if !call.finish(m) {
		m.long.close()
	}
}

// discard drops what the call was given but nobody has read.
func (call *pending) discard() {
	for _, m := range call.drain(errClosed) {
		m.long.close()
	}
}
