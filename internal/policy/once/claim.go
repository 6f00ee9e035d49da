package once

import (
	"context"
	"log/slog"
	"time"
)

// shownFor is how long an answer that was delivered is kept for those who have waited for it, if the call may be made again.
const shownFor = 15 * time.Minute

// MaySend reports whether the call may be sent now. It may not if this process could be taken for dead, because it has not been
// able to beat for a while.
func (c *Claim) MaySend() bool {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return time.Since(c.l.beaten) < c.l.times.Lease*2/3
}

// Answered says that the call has happened. answer is sealed; "" means that it is not kept. brief says that the answer has been
// delivered and the same call may be made again, so that only those who wait for it need the row.
func (c *Claim) Answered(answer string, size int64, delivered, brief bool, note string) {
	row := *c.Row
	row.State, row.Answer, row.Size, row.Delivered, row.Note = Answered, answer, size, delivered, note
	row.Changed = c.l.now()
	if delivered && brief {
		row.Expires = row.Changed.Add(min(shownFor, row.Expires.Sub(row.Created)))
	}
	c.close(func(ctx context.Context) error {
		_, err := c.l.store.Change(ctx, &row, row.Fence, Sent, Unknown)
		return err
	})
}

// Arrived says that the answer is there, and that whatever the client sends once it has got it comes after this.
func (c *Claim) Arrived() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.flight.arrived = true
}

// Late says that the client has been answered, although the call's own answer may still come.
func (c *Claim) Late() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.flight.late = true
}

// Unknown says that the call may have happened.
func (c *Claim) Unknown(note string) {
	row := *c.Row
	row.State, row.Changed, row.Note = Unknown, c.l.now(), note
	c.l.doubtsAbout(&row)
	c.close(func(ctx context.Context) error {
		_, err := c.l.store.Change(ctx, &row, row.Fence, Sent)
		return err
	})
}

// Free says that the call has certainly not happened: the next one is the first.
func (c *Claim) Free() {
	c.close(func(ctx context.Context) error { return c.l.store.Remove(ctx, c.Row.ID, c.Row.Fence) })
}

// close ends the claim, once. If that cannot be written now, it is later, and until then the call is under way.
func (c *Claim) close(write func(ctx context.Context) error) {
	c.once.Do(func() {
		if err := write(context.Background()); err != nil {
			c.l.log.LogAttrs(context.Background(), slog.LevelError, "cannot write what became of a call that is made once; trying again",
				slog.String("server", c.Row.Server), slog.String("tool", c.Row.Tool),
				slog.String("request_id", c.Row.RequestID), slog.String("cause", err.Error()))
			c.l.later(c.Row.ID, func() error { return write(context.Background()) })
		}
		c.l.leave(c.Row.ID, c.flight)
	})
}
