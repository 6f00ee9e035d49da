package testkit

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long tests wait for another goroutine or process. It is long enough for a very busy machine.
const patience = 30 * time.Second

// Virtual runs a parallel subtest in a bubble of testing/synctest, where time passes while nothing else can happen. Its servers
// must listen in memory: see [Dial].
func Virtual(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// InEachEra runs a test as [Virtual] does for each era.
func InEachEra(t *testing.T, test func(t *testing.T, era Era)) {
	t.Helper()
	for _, era := range Eras {
		Virtual(t, era.String(), func(t *testing.T) { test(t, era) })
	}
}

// Until calls ok until it returns true, and reports whether it did so in time. It polls: use something that wakes the test
// where there is such a thing, for instance [Buffer.Await] or [Server.Await].
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

// Eventually is like [Until], but fails the test if ok does not return true in time.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	if !Until(ok) {
		tb.Fatalf("testkit: never: %s", what)
	}
}

// A Buffer keeps everything that is written to it, for instance a log. It is safe for concurrent use. Its zero value is empty.
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

// String returns everything written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Take returns everything written so far, and empties the buffer.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	b.text.Reset()
	return text
}

// Until calls ok with everything written so far, after each write, until it returns true. It reports whether ok did so in time.
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

// Await waits until the buffer contains text, and fails the test if that takes too long.
func (b *Buffer) Await(tb testing.TB, text string) {
	tb.Helper()
	if !b.Until(func(all string) bool { return strings.Contains(all, text) }) {
		tb.Fatalf("testkit: no %q in:\n%s", text, b)
	}
}

// watch returns everything written so far, and a channel that the next write closes.
func (b *Buffer) watch() (text string, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.text.String(), b.changed
}
