package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// spoolMemory is what a spool holds in memory; more goes to a temporary file.
	spoolMemory = 4 << 20
	// spoolLimit bounds the text.
	spoolLimit = 1 << 30
	// roomMemory and roomFiles bound what all spools of a server hold.
	roomMemory = 32 << 20
	roomFiles  = 1 << 30
	// heldBack is how many bytes at the end of a text stay in the spool while it is
	// not known where the id stands: more than any id of ours takes.
	heldBack = 32
)

var (
	errSpoolLimit = fmt.Errorf("the answer is larger than %d MiB", spoolLimit>>20)
	errRoom       = fmt.Errorf("answers that are not read hold more than %d MiB already", roomFiles>>20)
	errForeignID  = errors.New("the id of the answer is not spelled as an integer")
	errClosed     = errors.New("the answer was closed")
)

// A spool passes a long answer from the child to the one that waits for it. The
// child is never kept waiting, since others wait for what it says next; what the
// reader is behind with is held in memory up to a bound, and then in a file. The id,
// which may stand last, is replaced on the way.
//
// One goroutine writes and another reads; close may be called by any.
type spool struct {
	wake chan struct{} // holds a token when there is something new
	room *spoolRoom

	mu      sync.Mutex
	memory  []byte // what was written first: memory[at:] is not read yet
	at      int
	file    *os.File // what was written behind it, from read up to write
	read    int64
	write   int64
	written int64 // bytes of the text
	given   int64 // bytes of it that were read

	id               wire.Span // where it stands, once that is known
	instead          wire.ID   // what is given in its place
	inMemory, inFile int64     // that are counted in room

	ended  bool  // nothing more is written
	err    error // with which it ends, io.EOF when the text is whole
	closed bool  // nobody reads it
}

// A spoolRoom counts what the spools of a server hold, in bytes.
type spoolRoom struct{ memory, files atomic.Int64 }

// claim raises have, which is a part of total, to need, and reports whether total stays
// within most.
func claim(total *atomic.Int64, have *int64, need, most int64) bool {
	more := need - *have
	if more <= 0 {
		return true
	}
	if total.Add(more) > most {
		total.Add(-more)
		return false
	}
	*have = need
	return true
}

func newSpool(room *spoolRoom) *spool { return &spool{wake: make(chan struct{}, 1), room: room} }

// replace names the id that the reader gets; it is called before the spool is
// handed out.
func (s *spool) replace(instead wire.ID) { s.instead = instead }

// place tells where the id stands, before what holds its end is written.
func (s *spool) place(at wire.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id = at; int64(at.Start) < s.given || at.End-at.Start > heldBack {
		s.end(errForeignID)
	}
}

// put writes a piece of the text. What goes wrong is told to the reader.
func (s *spool) put(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.closed || len(p) == 0 {
		return
	}
	if s.written += int64(len(p)); s.written > spoolLimit {
		s.end(errSpoolLimit)
		return
	}
	if s.read == s.write && len(s.memory)-s.at+len(p) <= spoolMemory &&
		claim(&s.room.memory, &s.inMemory, int64(len(s.memory)+len(p)), roomMemory) {
		if s.at > 0 && len(s.memory)+len(p) > cap(s.memory) {
			s.memory = s.memory[:copy(s.memory, s.memory[s.at:])]
			s.at = 0
		}
		s.memory = append(s.memory, p...)
	} else if err := s.putFile(p); err != nil {
		s.end(fmt.Errorf("hold an answer in a file: %w", err))
	}
	wake(s.wake)
}

func (s *spool) putFile(p []byte) error {
	if s.file == nil {
		file, err := createTemp()
		if err != nil {
			return err
		}
		s.file = file
	}
	if s.read == s.write {
		s.read, s.write = 0, 0
	}
	if !claim(&s.room.files, &s.inFile, s.write+int64(len(p)), roomFiles) {
		return errRoom
	}
	n, err := s.file.WriteAt(p, s.write)
	s.write += int64(n)
	return err
}

// finish says that the text is whole, or with err why it will not be.
func (s *spool) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	s.end(err)
}

func (s *spool) end(err error) {
	if !s.ended {
		s.ended, s.err = true, err
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		s.drop()
	}
	wake(s.wake)
}

// close says that nobody reads any more.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.drop()
	wake(s.wake)
}

// drop frees what the text takes.
func (s *spool) drop() {
	s.memory, s.at, s.read, s.write = nil, 0, 0, 0
	s.room.memory.Add(-s.inMemory)
	s.room.files.Add(-s.inFile)
	s.inMemory, s.inFile = 0, 0
	if s.file != nil {
		removeTemp(s.file)
		s.file = nil
	}
}

// next reads a piece of the text into p, and waits for one. It returns io.EOF at the
// end of a whole text, else what has gone wrong, and the cause of ctx when that ends.
func (s *spool) next(ctx context.Context, p []byte) (int, error) {
	for {
		n, err := s.poll(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// poll reads what there is.
func (s *spool) poll(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	if s.ended && !errors.Is(s.err, io.EOF) {
		return 0, s.err
	}
	ready := s.held()
	if s.id.IsZero() && !s.ended {
		ready = max(0, ready-heldBack)
	}
	if !s.id.IsZero() {
		start, end := int64(s.id.Start), int64(s.id.End)
		switch {
		case s.given < start:
			ready = min(ready, start-s.given)
		case s.given == start && ready < end-start:
			ready = 0
		case s.given == start:
			return s.giveID(p, int(end-start))
		}
	}
	if ready == 0 && s.ended {
		return 0, s.err
	}
	return s.get(p[:min(int64(len(p)), ready)])
}

// giveID gives the id that stands in place of the next n bytes.
func (s *spool) giveID(p []byte, n int) (int, error) {
	given := copy(p, s.instead)
	if s.instead = s.instead[given:]; len(s.instead) > 0 {
		return given, nil
	}
	var skipped [heldBack]byte
	for n > 0 { // it may begin in memory and end in the file
		done, err := s.get(skipped[:n])
		if err != nil {
			return given, err
		}
		n -= done
	}
	return given, nil
}

// held returns the number of bytes that are written and not read.
func (s *spool) held() int64 { return s.written - s.given }

// get reads len(p) bytes, or fewer where memory ends and the file begins.
func (s *spool) get(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.at < len(s.memory) {
		n := copy(p, s.memory[s.at:])
		if s.at += n; s.at == len(s.memory) {
			s.memory, s.at = s.memory[:0], 0
		}
		s.given += int64(n)
		return n, nil
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.write-s.read)], s.read)
	s.read += int64(n)
	s.given += int64(n)
	if err != nil {
		err = fmt.Errorf("hold an answer in a file: %w", err)
		s.end(err)
	}
	return n, err
}

// wake puts a token into a channel that has room for one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
