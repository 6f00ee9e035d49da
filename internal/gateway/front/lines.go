package front

import (
	"errors"
	"io"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/spool"
)

// A lineWriter writes whole lines, one at a time.
type lineWriter struct {
	broken chan struct{} // closed after a line could not be written

	mu  sync.Mutex
	w   io.Writer
	err error
	buf []byte // the memory of a line
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: w, broken: make(chan struct{})}
}

func (w *lineWriter) failed() error {
	select {
	case <-w.broken:
		return w.err
	default:
		return nil
	}
}

// write sends a message as a line. After a failure nothing more is written.
func (w *lineWriter) write(line func(io.Writer) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if w.err = line(w.w); w.err != nil {
		close(w.broken)
	}
}

// line writes a message, which is in memory.
func (w *lineWriter) line(message []byte) {
	w.write(func(out io.Writer) error {
		w.buf = append(append(w.buf[:0], message...), '\n')
		wire.OneLine(w.buf[:len(message)])
		_, err := out.Write(w.buf)
		if cap(w.buf) > keptLine {
			w.buf = nil
		}
		return err
	})
}

// keptLine limits the memory that is kept for lines.
const keptLine = 64 << 10

// rpcError writes one of the front's own JSON-RPC errors.
func (w *lineWriter) rpcError(id wire.ID, code int, message string, data []byte) {
	w.line(wire.AppendError(nil, id, code, message, data))
}

// failure writes a failure that the front has found.
func (w *lineWriter) failure(id wire.ID, e *recourse.Error) {
	data, _ := json.Marshal(e) // a record without details always has a form
	w.rpcError(id, wire.CodeInternalError, e.Message, data)
}

// A lineText is a message that is assembled before it is written, since a line has to be complete and others
// wait to write theirs.
type lineText struct {
	*spool.Text

	err error
}

func (t *lineText) add(p []byte) {
	if t.err == nil {
		_, t.err = t.Write(p)
	}
}

func (t *lineText) drop() {
	t.Drop()
	t.err = nil
}

// inMemory returns the message unless it takes more than that.
func (t *lineText) inMemory(most int) []byte {
	if text, all := t.Bytes(); all && len(text) <= most {
		return text
	}
	return nil
}

func (t *lineText) writeLine(w io.Writer) error {
	if text, all := t.Bytes(); all {
		wire.OneLine(text)
		_, err := w.Write(append(text, '\n'))
		return err
	}
	_, err := io.Copy(oneLine{w}, t.Text)
	// A line is ended even if its rest is lost, so that the next one is separate.
	_, endErr := w.Write([]byte{'\n'})
	return errors.Join(err, endErr)
}

// oneLine writes a JSON text as one line. It changes what it is given, which is io.Copy's.
type oneLine struct{ io.Writer }

func (w oneLine) Write(p []byte) (int, error) {
	wire.OneLine(p)
	return w.Writer.Write(p)
}
