package testkit

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long tests wait for what happens in another goroutine or process. Only what never happens takes as long,
// however busy the machine is.
const patience = 30 * time.Second

// Until waits until ok returns true, and reports whether it did so in time. It asks again after pauses of 20 ms at most: where what
// is awaited can wake its waiter, have it do that instead.
func Until(ok func() bool) bool {
	end := time.Now().Add(patience)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Eventually is [Until], and fails the test if what is to happen does not.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	if !Until(ok) {
		tb.Fatalf("testkit: never: %s", what)
	}
}

// A Buffer keeps what is written to it, such as a log. Its zero value is empty, and it is safe for concurrent use.
type Buffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next write; nil while nobody waits
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.text.Write(p)
}

// String returns what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Take returns what was written since the last Take, and forgets it.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	b.text.Reset()
	return text
}

// Until waits until what was written is as ok wants it, and reports whether it came to be so in time. It asks after each write.
func (b *Buffer) Until(ok func(text string) bool) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		text, changed := b.watch()
		if ok(text) {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return false
		}
	}
}

// Await waits until text has been written, and fails the test if it is not.
func (b *Buffer) Await(tb testing.TB, text string) {
	tb.Helper()
	if !b.Until(func(all string) bool { return strings.Contains(all, text) }) {
		tb.Fatalf("testkit: no %q in:\n%s", text, b)
	}
}

// watch returns what was written, and a channel that the next write closes.
func (b *Buffer) watch() (text string, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.text.String(), b.changed
}
