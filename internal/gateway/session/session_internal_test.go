package session

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestBoundsAreDocumented(t *testing.T) {
	t.Parallel()
	testkit.Documented(t,
		fmt.Sprintf("%d,000, %d MiB; %d KiB each", maxSessions/1000, maxSessionBytes>>20, maxOpening>>10),
		fmt.Sprintf("%d KiB each, %d MiB a day from each process", maxOpening>>10, maxSessionBytes>>20),
	)
}

// All sessions together have a limit in bytes. The longest idle one is dropped first.
func TestSessionsHaveRoom(t *testing.T) {
	t.Parallel()

	all := NewStore()
	for i := range 100 {
		s := &Session{ID: strconv.Itoa(i)}
		all.byID.Put(s.ID, s, 1<<20)
	}
	all.byID.Trim(0, nil)
	_, oldest := all.byID.Peek("0")
	_, newest := all.byID.Peek("99")
	if all.byID.Bytes() > maxSessionBytes || all.byID.Len() != maxSessionBytes>>20 || oldest || !newest {
		t.Errorf("got %d sessions with %d bytes", all.byID.Len(), all.byID.Bytes())
	}
	for _, s := range all.byID.All() {
		all.remove(s)
	}
	if all.byID.Bytes() != 0 {
		t.Errorf("got %d bytes left", all.byID.Bytes())
	}
}

// A process writes a limited number of bytes to Redis in a day, even if they are deleted again.
func TestWritesToRedisAreBounded(t *testing.T) {
	t.Parallel()
	s, now := NewStore(), time.Now()
	if !s.mayWrite(maxSessionBytes, now) || s.mayWrite(1, now.Add(sessionIdle-1)) || !s.mayWrite(1, now.Add(sessionIdle)) {
		t.Error("got another number of bytes in a day")
	}
}
