package testkit_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/testkit"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		if !testkit.Until(func() bool { asked++; return time.Since(began) > 10*time.Second }) || time.Since(began) > 11*time.Second {
			t.Errorf("it has happened after 10 s, not %s", time.Since(began))
		}
		if asked > 1000 {
			t.Errorf("asked %d times", asked)
		}
		if testkit.Until(func() bool { return false }) {
			t.Error("it has never happened")
		}
	})
}

// Everything that is written at once is kept, and whoever waits for a part of it is woken.
func TestBuffer(t *testing.T) {
	t.Parallel()
	var b testkit.Buffer
	var work sync.WaitGroup
	for i := range 10 {
		work.Go(func() { _, _ = fmt.Fprintf(&b, "<%d>", i) })
		work.Go(func() {
			if !b.Until(func(text string) bool { return strings.Contains(text, fmt.Sprintf("<%d>", i)) }) {
				t.Errorf("nobody is woken by <%d>", i)
			}
		})
	}
	work.Wait()
	if all := b.Take(); len(all) != 30 || b.String() != "" {
		t.Errorf("%q is kept, and %q afterwards", all, b.String())
	}
}

func TestBufferNeverHasIt(t *testing.T) {
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
			t.Error("it was not written")
		}
		writing.Wait()
	})
}
