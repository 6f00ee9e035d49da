package upstream

import (
	"bufio"
	"bytes"
	"io"
)

const (
	lineBuffer = 64 << 10  // what is read at a time
	keptBuffer = 256 << 10 // the most that is kept while nothing is being read
)

// A lineReader splits a stream into lines. A line that fits into the window is returned whole, a longer one
// in pieces as they arrive; the first piece fills the window.
type lineReader struct {
	src    *bufio.Reader
	window int
	begun  []byte // the beginning of an incomplete line
	long   bool   // the last piece did not end its line
}

func newLineReader(src io.Reader, window int) *lineReader {
	return &lineReader{src: bufio.NewReaderSize(src, min(lineBuffer, window)), window: window}
}

// next returns the next line without its line feed, or the next piece of one; last says whether it ends the
// line. A carriage return becomes a space, which is the same in JSON and cannot break a server-sent event.
// The piece is valid until the next call. The stream's error is returned after everything before it.
func (l *lineReader) next() (piece []byte, last bool, err error) {
	if l.begun = l.begun[:0]; cap(l.begun) > keptBuffer && !l.long {
		l.begun = nil
	}
	for {
		if _, err := l.src.Peek(1); err != nil {
			if len(l.begun) == 0 && !l.long {
				return nil, false, err
			}
			l.long = false
			return l.with(nil), true, nil
		}
		text, _ := l.src.Peek(min(l.src.Buffered(), l.window-len(l.begun))) // never fails: it is there
		end := bytes.IndexByte(text, '\n')
		if end >= 0 {
			_, _ = l.src.Discard(end + 1) // as above
			l.long = false
			return l.with(text[:end]), true, nil
		}
		_, _ = l.src.Discard(len(text)) // as above
		if l.long || len(l.begun)+len(text) >= l.window {
			l.long = true
			return l.with(text), false, nil
		}
		l.begun = append(l.begun, text...)
	}
}

// with returns the beginning of the line followed by text, with spaces for carriage returns.
func (l *lineReader) with(text []byte) []byte {
	if len(l.begun) > 0 {
		l.begun = append(l.begun, text...)
		text = l.begun
	}
	for rest := text; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			return text
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}
