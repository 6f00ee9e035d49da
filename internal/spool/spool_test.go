package spool_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/recoursehq/recourse/internal/spool"
)

// A room limits the total size of its texts, in memory and then in files, and reuses what is freed.
func TestRoom(t *testing.T) {
	t.Parallel()
	room := spool.Room{Files: spool.Memory + 10}
	piece := make([]byte, spool.Memory)
	var texts []*spool.Text
	for range spool.RoomMemory/spool.Memory + 1 {
		text := spool.NewText(&room)
		if _, err := text.Write(piece); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	last := texts[len(texts)-1]
	if _, all := last.Bytes(); all {
		t.Error("the last text is in memory")
	}
	if _, err := last.Write(piece[:10]); err != nil {
		t.Error(err)
	}
	if _, err := last.Write(piece[:1]); !errors.Is(err, spool.ErrRoom) {
		t.Errorf("got %v, want an error about room", err)
	}
	if memory, files := room.Held(); memory != spool.RoomMemory || files != room.Files {
		t.Errorf("%d bytes in memory and %d in files", memory, files)
	}
	for _, text := range texts {
		text.Drop()
		text.Drop() // dropping twice has no effect
	}
	if memory, files := room.Held(); memory != 0 || files != 0 {
		t.Errorf("still %d bytes in memory and %d in files", memory, files)
	}
}

// A text is read as written, wherever it is stored, and can be written again.
func TestTextIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var room spool.Room
	text := spool.NewText(&room)
	defer text.Drop()
	for _, sizes := range [][]int{{1}, {spool.Memory, 10}, {spool.Memory - 1, 2, 1 << 20, 3}, {spool.Memory + 1, 5}} {
		var want []byte
		for i, size := range sizes {
			piece := bytes.Repeat([]byte{byte('a' + i)}, size)
			want = append(want, piece...)
			if n, err := text.Write(piece); err != nil || n != size {
				t.Fatal(n, err)
			}
		}
		if got, err := io.ReadAll(text); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d: %d bytes, %v", sizes, len(got), err)
		}
	}
}
