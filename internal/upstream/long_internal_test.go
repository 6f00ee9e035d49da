package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

// A long answer fails if unread answers have filled the room. Closing them makes room again.
func TestLongAnswersHaveRoom(t *testing.T) {
	t.Parallel()
	room := &spool.Room{Memory: 2 << 20, Files: 4 << 20}
	fill := func(n int) *longAnswer {
		a := newLongAnswer(room)
		for range n {
			a.put(make([]byte, 1<<20))
		}
		a.finish(io.EOF)
		return a
	}
	read := func(a *longAnswer) (int64, error) {
		var size int64
		for {
			piece, err := a.next(context.Background())
			if size += int64(len(piece)); err != nil {
				return size, err
			}
		}
	}

	unread := fill(5)
	refused := fill(3)
	if _, err := read(refused); !errors.Is(err, spool.ErrRoom) {
		t.Errorf("got %v, want an answer without room to fail", err)
	}
	refused.close()
	unread.close()
	unread.close() // a second time has no effect
	if memory, files := room.Held(); memory != 0 || files != 0 {
		t.Errorf("got %d and %d bytes held after all answers were closed", memory, files)
	}
	whole := fill(6)
	if n, err := read(whole); n != 6<<20 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes, %v", n, err)
	}
	whole.close()
	if memory, files := room.Held(); memory != 0 || files != 0 {
		t.Errorf("got %d and %d bytes held after all answers were closed", memory, files)
	}
}

// A reader that is faster than the child gets each piece once, in order, and the client's id instead of the child's.
func TestLongAnswerInPieces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":17,"result":{"text":"abcdefghijklmnopqrstuvwxyz"}}`, `{"jsonrpc":"2.0","result":{"text":"abcdefghijklmnopqrstuvwxyz"},"id":17}`,
	} {
		for size := 1; size <= len(text); size++ {
			synctest.Test(t, func(t *testing.T) {
				a := newLongAnswer(&spool.Room{Memory: 1 << 20, Files: 1 << 20})
				defer a.close()
				a.renumber(wire.IntID(17), wire.ID(`"the client's"`))
				read := make(chan string, 1)
				go func() {
					for got := ""; ; {
						piece, err := a.next(t.Context())
						if got += string(piece); err != nil {
							read <- fmt.Sprint(got, err)
							return
						}
					}
				}()
				for piece := range slices.Chunk([]byte(text), size) {
					a.put(piece)
					synctest.Wait() // the reader has read the whole piece
				}
				a.finish(io.EOF)
				if got, want := <-read, strings.Replace(text, "17", `"the client's"`, 1)+io.EOF.Error(); got != want {
					t.Errorf("in pieces of %d: got %s, want %s", size, got, want)
				}
			})
		}
	}
}
