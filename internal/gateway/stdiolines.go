package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// A lineWriter writes whole lines, one at a time.
type lineWriter struct {
	broken chan struct{} // closed after a line could not be written

	mu  sync.Mutex
	w   io.Writer
	err error
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: w, broken: make(chan struct{})}
}

// failed returns why a line could not be written.
func (w *lineWriter) failed() error {
	select {
	case <-w.broken:
		return w.err
	default:
		return nil
	}
}

// write writes the message in t as a line. After a failure nothing more is written.
func (w *lineWriter) write(t *lineText) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if w.err = t.writeTo(w.w); w.err != nil {
		close(w.broken)
	}
}

// rpcError writes a JSON-RPC error of the front's own.
func (w *lineWriter) rpcError(id wire.ID, code int, message string, data []byte) {
	w.write(&lineText{memory: wire.AppendError(nil, id, code, message, data)})
}

// failure writes a failure that the front has found.
func (w *lineWriter) failure(id wire.ID, e *recourse.Error) {
	data, _ := json.Marshal(e) // a record without details always has a form
	w.rpcError(id, wire.CodeInternalError, e.Message, data)
}

const (
	// lineMemory is what a message takes of memory until it can be written as a whole;
	// the rest of it waits in a temporary file.
	lineMemory = 4 << 20
	// roomMemory and roomFiles bound what all messages to a host take.
	roomMemory = 32 << 20
	roomFiles  = 1 << 30
	// lineKept is how much memory a message leaves to the next one.
	lineKept = 64 << 10
)

var errLineRoom = fmt.Errorf("messages that are not whole hold more than %d MiB already", roomFiles>>20)

// A lineRoom counts what the messages to a host hold, in bytes.
type lineRoom struct{ memory, files atomic.Int64 }

// claim counts n more bytes of a total, and reports whether it stays within most.
func claim(total *atomic.Int64, held *int64, n int, most int64) bool {
	if total.Add(int64(n)) > most {
		total.Add(-int64(n))
		return false
	}
	*held += int64(n)
	return true
}

// A lineText is a message that is put together before it is written, since a line
// has to be whole and others wait to write theirs. Its line ends, which JSON has
// between tokens only, become spaces.
type lineText struct {
	room   *lineRoom
	memory []byte
	file   *os.File
	err    error

	inMemory, inFile int64 // that are counted in room
}

// add appends a part of the message.
func (t *lineText) add(p []byte) {
	switch {
	case t.err != nil:
		return
	case t.file == nil && len(t.memory)+len(p) <= lineMemory && claim(&t.room.memory, &t.inMemory, len(p), roomMemory):
		start := len(t.memory)
		t.memory = append(t.memory, p...)
		wire.OneLine(t.memory[start:])
		return
	case t.file == nil:
		if t.file, t.err = os.CreateTemp("", "recourse-*"); t.err != nil {
			return
		}
		_ = os.Remove(t.file.Name()) // where an open file cannot be removed, drop does it
	}
	if !claim(&t.room.files, &t.inFile, len(p), roomFiles) {
		t.err = errLineRoom
		return
	}
	p = bytes.Clone(p)
	wire.OneLine(p)
	_, t.err = t.file.Write(p)
}

// drop forgets the message, and keeps a little memory.
func (t *lineText) drop() {
	if t.file != nil {
		_ = t.file.Close()
		_ = os.Remove(t.file.Name())
	}
	if t.room != nil {
		t.room.memory.Add(-t.inMemory)
		t.room.files.Add(-t.inFile)
	}
	kept := t.memory[:0]
	if cap(kept) > lineKept {
		kept = nil
	}
	*t = lineText{room: t.room, memory: kept}
}

func (t *lineText) writeTo(w io.Writer) error {
	if t.file == nil {
		_, err := w.Write(append(t.memory, '\n'))
		return err
	}
	if _, err := w.Write(t.memory); err != nil {
		return err
	}
	_, err := t.file.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(w, t.file)
	}
	// A line is ended even if its rest is lost, so that the next one stands alone.
	_, endErr := w.Write([]byte{'\n'})
	return errors.Join(err, endErr)
}
