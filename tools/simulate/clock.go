package main

import (
	"context"
	"iter"
	"slices"
	"time"
)

// epoch is when each world begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A clock is the time of one world. One of its tasks runs at a time; when it waits, the one that wakes up next
// continues. It implements recovery.Clock.
type clock struct {
	now     time.Time
	running *task
	waiting []sleeper // by time, then by when they fell asleep
}

// A sleeper is a task that waits.
type sleeper struct {
	wakes time.Time
	task  *task
}

// Now returns the current time.
func (c *clock) Now() time.Time { return c.now }

// Sleep makes the agent wait for d, or until the deadline of its task. The deadline of ctx is in real time and is
// ignored.
func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	began := c.now
	defer func() { c.running.slept += c.now.Sub(began) }()
	if ends := c.running.deadline; ends.Before(c.now.Add(d)) {
		c.until(ends)
		return context.DeadlineExceeded
	}
	c.until(c.now.Add(d))
	return nil
}

// until lets the running task continue at t.
func (c *clock) until(t time.Time) {
	if !t.After(c.now) {
		return
	}
	running := c.running
	if !running.yield(t) { // it is no longer waited for
		c.now = t
	}
	c.running = running
}

// start begins a task.
func (c *clock) start(t *task, work func(*task)) {
	t.next, t.stop = iter.Pull(func(yield func(time.Time) bool) {
		t.yield = yield
		work(t)
	})
	c.goOn(t)
}

// goOn lets a task run until it waits or ends.
func (c *clock) goOn(t *task) {
	c.running = t
	wakes, waits := t.next()
	if !waits {
		return
	}
	at, _ := slices.BinarySearchFunc(c.waiting, wakes, func(s sleeper, wakes time.Time) int {
		if s.wakes.After(wakes) {
			return 1
		}
		return -1
	})
	c.waiting = slices.Insert(c.waiting, at, sleeper{wakes, t})
}

// wake runs everything that happens before a time, then sets the clock to it.
func (c *clock) wake(before time.Time) {
	for len(c.waiting) > 0 && c.waiting[0].wakes.Before(before) {
		first := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		c.now = first.wakes
		c.goOn(first.task)
	}
	c.now = before
}

// stop ends the waiting tasks.
func (c *clock) stop() {
	for _, s := range c.waiting {
		c.running = s.task
		s.task.stop()
	}
	c.waiting = nil
}
