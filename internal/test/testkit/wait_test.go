package testkit_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		if !testkit.Until(func() bool { asked++; return time.Since(began) > 10*time.Second }) || time.Since(began) > 11*time.Second {
			t.Errorf("got %s, want 10s", time.Since(began))
		}
		if asked > 1000 {
			t.Errorf("checked %d times", asked)
		}
		if testkit.Until(func() bool { return false }) {
			t.Error("Until returned true for a condition that never held")
		}
	})
}

// Everything that goroutines write is kept, and a waiter wakes up when its part is written.
func TestBuffer(t *testing.T) {
	t.Parallel()
	var b testkit.Buffer
	var work sync.WaitGroup
	for i := range 10 {
		work.Go(func() { _, _ = fmt.Fprintf(&b, "<%d>", i) })
		work.Go(func() {
			if !b.Until(func(text string) bool { return strings.Contains(text, fmt.Sprintf("<%d>", i)) }) {
				t.Errorf("no waiter woke up for <%d>", i)
			}
		})
	}
	work.Wait()
	if all := b.Take(); len(all) != 30 || b.String() != "" {
		t.Errorf("got %q, and then %q", all, b.String())
	}
}

func TestBufferWithoutTheText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b testkit.Buffer
		var writing sync.WaitGroup
		writing.Go(func() {
			for range 100 {
				_, _ = b.Write([]byte("no"))
				time.Sleep(time.Second)
			}
		})
		if b.Until(func(text string) bool { return strings.Contains(text, "yes") }) {
			t.Error("found a text that was never written")
		}
		writing.Wait()
	})
}
