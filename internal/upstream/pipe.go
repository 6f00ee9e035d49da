package upstream

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/process"
)

const (
	// maxWaiting limits the data waiting to be written, in bytes; beyond it, callers wait.
	maxWaiting = 4 << 20
	// writeChunk is what a child has to read within its patience.
	writeChunk = 64 << 10
	// writtenAtOnce is what a caller writes itself: a pipe takes that much in one piece or not at all.
	writtenAtOnce = 4 << 10
	// keptBuffer is the most that is kept of a buffer while it is not used.
	keptBuffer = 256 << 10
)

// lockForRoom waits until there is room, and locks c.mu. On an error it is not locked: errDone means that
// done ended the wait, errUnsent that the child takes no more.
func (c *child) lockForRoom(done <-chan struct{}) error {
	c.mu.Lock()
	for c.gone == nil && len(c.out) > maxWaiting {
		if c.room == nil {
			c.room = make(chan struct{})
		}
		room := c.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-done:
			return errDone
		}
		c.mu.Lock()
	}
	if c.gone != nil {
		c.mu.Unlock()
		return errUnsent
	}
	return nil
}

// errDone says that the caller's context has ended.
var errDone = errors.New("the caller has gone")

// endLine turns what was appended to c.out from start on into one line.
func (c *child) endLine(start int) {
	wire.OneLine(c.out[start:])
	c.out = append(c.out, '\n')
}

// flush writes c.out: at once if it is small and the pipe has room, which saves a switch of goroutines, and
// otherwise through write. c.mu is held.
func (c *child) flush() {
	if !c.writing && len(c.out) <= writtenAtOnce {
		if n := process.WriteOnce(c.stdin, c.out); n > 0 {
			c.out = c.out[:copy(c.out, c.out[n:])]
			c.batch++
		}
	}
	if len(c.out) > 0 {
		wake(c.outReady)
	}
}

// tell gives the child a message that expects no answer. Its errors are those of lockForRoom.
func (c *child) tell(done <-chan struct{}, text []byte) error {
	if err := c.lockForRoom(done); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.append(text)
	return nil
}

// reply answers a request from the child. It does not block the receiver: a child that does not read its
// answers gets none.
func (c *child) reply(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil && len(c.out) <= maxWaiting {
		c.append(text)
	}
}

func (c *child) append(text []byte) {
	start := len(c.out)
	c.out = append(c.out, text...)
	c.endLine(start)
	c.flush()
}

// write writes what flush has left, everything that has accumulated at once, until the child has to end; then
// it closes stdin.
func (c *child) write() {
	defer c.stdin.Close()
	stalled := time.AfterFunc(time.Hour, func() { c.stop(errStalled) })
	stalled.Stop()
	var spare []byte
	for {
		select {
		case <-c.outReady:
		case <-c.quit:
			return
		}
		c.mu.Lock()
		text := c.out
		c.out = spare[:0]
		batch := c.batch
		c.batch++
		c.writing = true
		if c.room != nil {
			close(c.room)
			c.room = nil
		}
		c.mu.Unlock()
		for rest := text; len(rest) > 0; {
			n := min(len(rest), writeChunk)
			stalled.Reset(c.s.patience.Stall)
			accepted, err := c.stdin.Write(rest[:n])
			stalled.Stop()
			if err != nil {
				if accepted == 0 && len(rest) == len(text) {
					c.mu.Lock()
					c.refused = batch
					c.mu.Unlock()
				}
				c.stop(fmt.Errorf("%w: %w", errInputClosed, err))
				return
			}
			rest = rest[n:]
		}
		if spare = text; cap(spare) > keptBuffer {
			spare = nil
		}
		c.mu.Lock()
		c.writing = false
		c.mu.Unlock()
	}
}

// probe asks a child that left a call unanswered for a sign of life: with a ping or, in the modern era, with
// server/discover. A child that stays silent for a while has hung, and is ended. c.mu is held.
func (c *child) probe() {
	if c.probing != nil {
		return
	}
	if c.modern.Load() { // any message will do
		c.order(wire.MethodDiscover, DiscoverParams)
	} else {
		c.order(wire.MethodPing, nil)
	}
	said := c.said.Load()
	c.probing = time.AfterFunc(c.s.patience.Silence, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.probing = nil
		if c.said.Load() == said {
			c.stop(errSilent)
		}
	})
}

// order makes a request of our own whose answer nobody waits for. c.mu is held.
func (c *child) order(method string, params []byte) {
	c.lastID++
	c.late(c.lastID)
	c.append(wire.AppendRequest(nil, wire.IntID(c.lastID), method, params))
}
