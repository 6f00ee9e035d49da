package upstream

import (
	"bytes"
	"io"
)

const (
	lineBuffer = 64 << 10  // with which a lineReader begins
	keptBuffer = 256 << 10 // the most that it keeps while there is nothing to read
)

// A lineReader splits a stream into lines. A line up to the window comes as a whole, a longer
// one in pieces as they arrive; the first fills the window.
type lineReader struct {
	src    io.Reader
	err    error // of src
	window int

	buf   []byte
	start int  // buf[start:end] was read and not returned
	end   int  //
	seen  int  // bytes of it without a line feed
	long  bool // the last piece was not the end of its line
}

func newLineReader(src io.Reader, window int) *lineReader {
	return &lineReader{src: src, window: window, buf: make([]byte, min(lineBuffer, window))}
}

// next returns the next line without its line feed, or the next piece of one; last says
// whether it ends the line. A carriage return comes as a space, which is the same in JSON and
// cannot break a server-sent event. The piece is valid until the next call. The error is that
// of the stream, once everything before it has been returned.
func (l *lineReader) next() (piece []byte, last bool, err error) {
	for {
		unseen := l.buf[l.start+l.seen : l.end]
		if i := bytes.IndexByte(unseen, '\n'); i >= 0 {
			piece = l.take(l.seen + i)
			l.start++
			l.long = false
			return piece, true, nil
		}
		l.seen += len(unseen)
		switch {
		case l.seen > 0 && (l.long || l.seen >= l.window):
			l.long = true
			return l.take(l.seen), false, nil
		case l.err != nil && (l.seen > 0 || l.long):
			l.long = false
			return l.take(l.seen), true, nil
		case l.err != nil:
			return nil, false, l.err
		}
		l.fill()
	}
}

// take returns the next n bytes.
func (l *lineReader) take(n int) []byte {
	piece := l.buf[l.start : l.start+n : l.start+n]
	l.start, l.seen = l.start+n, 0
	for rest := piece; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			return piece
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

// fill reads once, into a buffer that grows up to the window.
func (l *lineReader) fill() {
	if l.start == l.end {
		l.start, l.end = 0, 0
		if len(l.buf) > keptBuffer && !l.long {
			l.buf = make([]byte, lineBuffer)
		}
	}
	if l.end == len(l.buf) {
		to := l.buf
		if l.start == 0 {
			to = make([]byte, min(2*len(l.buf), l.window))
		}
		l.end = copy(to, l.buf[l.start:l.end])
		l.buf, l.start = to, 0
	}
	const patience = 100 // reads in a row that return nothing
	for range patience {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
