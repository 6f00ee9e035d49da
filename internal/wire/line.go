package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A Line is a message as it arrives on standard input: all of it, or the first part if it is larger
// than the limit.
type Line struct {
	Text []byte
	Size int // of the whole line, in bytes
}

// Cut reports whether Text is only a part of the line.
func (l Line) Cut() bool { return l.Size > len(l.Text) }

// A LineReader reads lines in bounded memory.
type LineReader struct {
	r     *bufio.Reader
	limit int
}

// NewLineReader returns a reader for lines of at most limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// firstOfLine is how much is kept of a line that is too large: its id may be in there.
const firstOfLine = 1 << 10

// Next returns the next non-empty line, without its line ending. Anything beyond the limit is read and
// dropped. An unfinished line at the end of the input counts as a line.
func (l *LineReader) Next() (Line, error) {
	var next Line
	for {
		part, err := l.r.ReadSlice('\n')
		next.Size += len(part)
		switch {
		case next.Size <= l.limit+len("\r\n"):
			next.Text = append(next.Text, part...)
		case len(next.Text) < firstOfLine || cap(next.Text) > 2*firstOfLine: // the rest is not needed
			next.Text = append(next.Text, part[:min(len(part), firstOfLine)]...)
			next.Text = bytes.Clone(next.Text[:min(len(next.Text), firstOfLine)])
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return Line{}, err
		}
		if !next.Cut() {
			next.Text = bytes.TrimSpace(next.Text)
			next.Size = len(next.Text)
		}
		if next.Size > 0 {
			return next, nil
		}
		if err != nil {
			return Line{}, err
		}
		next = Line{}
	}
}
