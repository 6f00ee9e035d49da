package wire

import (
	"bufio"
	"bytes"
	"io"
)

const (
	lineBuffer  = 64 << 10  // what a LineReader reads at a time
	keptLine    = 256 << 10 // the most that it keeps while nothing is being read
	firstOfLine = 1 << 10   // how much is kept of a line that is too large
)

// A LineReader splits a stream into lines, in bounded memory. An unfinished line at the end of the stream
// counts as a line.
type LineReader struct {
	src    *bufio.Reader
	window int
	begun  []byte // the beginning of an incomplete line
	long   bool   // the last piece did not end its line
}

// NewLineReader returns a reader for lines that, with their ends, take up to window bytes. Longer ones are
// returned in pieces, or cut.
func NewLineReader(src io.Reader, window int) *LineReader {
	return &LineReader{src: bufio.NewReaderSize(src, min(lineBuffer, window)), window: window}
}

// Piece returns the next line without its line feed, or the next piece of one that does not fit into the
// window; last says whether it ends the line. The first piece of such a line fills the window, and the others
// come as they arrive. A piece is valid until the next call, and may be changed. The stream's error is
// returned after everything before it.
func (l *LineReader) Piece() (piece []byte, last bool, err error) {
	if l.begun = l.begun[:0]; cap(l.begun) > keptLine && !l.long {
		l.begun = nil
	}
	for {
		if _, err := l.src.Peek(1); err != nil {
			if len(l.begun) == 0 && !l.long {
				return nil, false, err
			}
			l.long = false
			return l.begun, true, nil
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

// with returns the beginning of the line followed by text.
func (l *LineReader) with(text []byte) []byte {
	if len(l.begun) == 0 {
		return text
	}
	l.begun = append(l.begun, text...)
	return l.begun
}

// A Line is a message as it arrives on standard input, without white space around it; or the first part of
// one that is too large.
type Line struct {
	Text    []byte
	Size    int     // of the whole line, in bytes
	Outline Outline // of one that is too large
}

// Cut reports whether Text is only a part of the line.
func (l Line) Cut() bool { return l.Size > len(l.Text) }

// Next returns the next line that is not blank. What does not fit into the window is read and dropped.
func (l *LineReader) Next() (Line, error) {
	for {
		piece, last, err := l.Piece()
		if err != nil {
			return Line{}, err
		}
		if !last {
			return l.cut(piece), nil
		}
		if text := bytes.TrimSpace(piece); len(text) > 0 {
			return Line{Text: bytes.Clone(text), Size: len(text)}, nil
		}
	}
}

// cut returns a line that does not fit into the window, and begins with piece.
func (l *LineReader) cut(piece []byte) Line {
	line := Line{Text: bytes.Clone(piece[:min(len(piece), firstOfLine)]), Size: len(piece) + len("\n")}
	var scan Scanner
	_, _ = scan.Write(piece) // what it has noticed is enough
	for last := false; !last; {
		piece, last, _ = l.Piece() // an error comes after the line
		line.Size += len(piece)
		_, _ = scan.Write(piece)
	}
	line.Outline = scan.outline()
	return line
}

// OneLine puts a JSON text on one line, in place: between two tokens, a space is as good as a line
// break.
func OneLine(text []byte) {
	for _, end := range []byte("\n\r") {
		for rest := text; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}
