package upstream

import (
	"errors"
	"io"
	"testing"
)

// Answers that nobody reads hold no more than a certain amount altogether; what is
// given up makes room for others.
func TestSpoolsHaveRoom(t *testing.T) {
	t.Parallel()

	room := &spoolRoom{}
	piece := make([]byte, 1<<20)
	fill := func(n int) *spool {
		s := newSpool(room)
		for range n {
			s.put(piece)
		}
		return s
	}
	fails := func(s *spool) bool {
		_, err := s.poll(make([]byte, 1))
		return errors.Is(err, errRoom)
	}
	var unread []*spool
	for range 3 * roomMemory / spoolMemory {
		unread = append(unread, fill(3))
	}
	if held := room.memory.Load(); held > roomMemory {
		t.Errorf("%d bytes are held in memory", held)
	}
	if room.files.Load() == 0 {
		t.Error("nothing is held in files")
	}
	room.files.Store(roomFiles - 1<<20) // as if there were that much
	if s := fill(3); !fails(s) {
		t.Error("an answer found room where there is none")
	}
	room.files.Store(0)
	for _, s := range unread {
		s.inFile = 0
		s.close()
		s.close() // twice is once
	}
	if room.memory.Load() != 0 || room.files.Load() != 0 {
		t.Errorf("%d and %d bytes are held by nobody", room.memory.Load(), room.files.Load())
	}
	s := fill(10)
	s.finish(nil)
	n := 0
	for buffer := make([]byte, 1<<20); ; {
		read, err := s.poll(buffer)
		n += read
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.close(); n != 10<<20 || room.files.Load() != 0 {
		t.Errorf("%d bytes were read, %d are held", n, room.files.Load())
	}
}
