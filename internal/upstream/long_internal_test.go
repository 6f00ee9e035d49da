package upstream

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/recoursehq/recourse/internal/spool"
)

// An answer that nobody reads fails when there is no room for it; what is given up makes room
// for others.
func TestLongAnswersHaveRoom(t *testing.T) {
	t.Parallel()
	room := &spool.Room{Memory: 2 << 20, Files: 4 << 20}
	fill := func(n int) *longAnswer {
		a := newLongAnswer(room)
		for range n {
			a.put(make([]byte, 1<<20))
		}
		a.finish(nil)
		return a
	}
	read := func(a *longAnswer) (int64, error) {
		return io.Copy(io.Discard, &longBody{ctx: context.Background(), answer: a})
	}

	unread := fill(5)
	refused := fill(3)
	if _, err := read(refused); !errors.Is(err, spool.ErrRoom) {
		t.Errorf("an answer found room where there is none: %v", err)
	}
	refused.close()
	unread.close()
	unread.close() // twice is once
	if memory, files := room.Held(); memory != 0 || files != 0 {
		t.Errorf("%d and %d bytes are held by nobody", memory, files)
	}
	whole := fill(6)
	if n, err := read(whole); n != 6<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	whole.close()
	if memory, files := room.Held(); memory != 0 || files != 0 {
		t.Errorf("%d and %d bytes are held by nobody", memory, files)
	}
}
