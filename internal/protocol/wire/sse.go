package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// DefaultWindow is the number of bytes of an event that an [EventReader] holds by default.
const DefaultWindow = 256 << 10

// Sizes of an EventReader, in bytes.
const (
	firstEvents = 256      // most streams of a server's own say little
	readSize    = 32 << 10 // the most that one read takes
	patience    = 100      // reads in a row that return nothing
	keptBuffer  = 64 << 10 // a larger buffer is not kept by Reset
	maxField    = 1 << 10  // the longest id, event or retry value that is understood
)

// ErrUnfinishedEvent means that a stream ended inside an event, without an error of the transport. Such
// an event must not be dispatched (HTML Standard, section 9.2.6).
var ErrUnfinishedEvent = errors.New("the event stream ends inside an event")

// Event is a server-sent event, a piece of one that is larger than the reader's window, or comments
// outside of events. All its slices are valid until the next call of Next or Reset.
type Event struct {
	// Raw is what was received: fields, comments, line ends. The Raw of all pieces together is the
	// stream, byte for byte. It is nil if the message did not come as an event.
	Raw []byte
	// Data is the part of the event's data that Raw holds. The Data of all its pieces together is the
	// event's data.
	Data []byte

	First    bool // Raw begins the event
	Complete bool // Raw ends the event; until then, the fields below are only what is known so far
	HasData  bool // there is a data field; an event without data is not dispatched
	HasID    bool // there is a usable id field

	ID    []byte        // the last id field
	Type  []byte        // the last event field; empty means message
	Retry time.Duration // from the last retry field, or negative

	// Signs are what a [Scanner] has found in the data of the event so far; nil: nothing has scanned it.
	Signs *Signs
}

// EventReader splits a stream of server-sent events (HTML Standard, section 9.2). It returns an event
// as soon as the blank line that ends it has been read, and comments outside of events as soon as there
// is nothing more to read for now. It buffers at most its window and one read.
//
// It is not safe for concurrent use.
type EventReader struct {
	src    io.Reader
	empty  int   // reads of it in a row that have returned nothing
	err    error // of src, to be returned when buf is used up
	window int

	buf   []byte // what was read: [start, pos) is the current piece, the rest has not been looked at yet
	start int
	pos   int

	line   linePhase
	skipLF bool // the last line ended in CR: a following LF belongs to it
	fields bool // the current event has a field
	field  sseField
	name   []byte // of the field whose name is being read
	value  []byte // of the field, other than data, whose value is being read
	joined bool   // the piece's data is not one range of buf, but copied to data
	from   int    // otherwise it is buf[from:to]
	to     int
	data   []byte
	lines  int // data fields of the current event

	id, kind []byte
	event    Event
}

type linePhase uint8

const (
	lineBOM linePhase = iota // at the beginning of the stream
	lineStart
	lineName
	lineSpace // after the colon
	lineValue
	lineSkip // a comment, or an unknown field
)

type sseField uint8

const (
	fieldOther sseField = iota
	fieldData
	fieldID
	fieldEvent
	fieldRetry
)

const byteOrderMark = "\ufeff"

// NewEventReader returns a reader for the stream r. An event larger than window bytes is returned in
// pieces; window 0 means [DefaultWindow].
func NewEventReader(r io.Reader, window int) *EventReader {
	e := &EventReader{}
	e.Reset(r, window)
	return e
}

// Reset makes r read another stream, from its beginning, and keeps its memory.
func (r *EventReader) Reset(src io.Reader, window int) {
	if window <= 0 {
		window = DefaultWindow
	}
	*r = EventReader{
		src: src, window: window,
		buf: r.buf[:0], data: r.data[:0],
		name: r.name[:0], value: r.value[:0], id: r.id[:0], kind: r.kind[:0],
		event: Event{Complete: true},
	}
	if cap(r.buf) > keptBuffer {
		r.buf = nil
	}
	if cap(r.data) > keptBuffer {
		r.data = nil
	}
}

// Next returns the next event or piece. If the stream has ended between two events, it returns io.EOF;
// if it has ended inside one, it returns what there is of it as an incomplete piece, and then
// [ErrUnfinishedEvent]. Any other error is the stream's, such as io.ErrUnexpectedEOF.
func (r *EventReader) Next() (*Event, error) {
	r.begin()
	for {
		ended, full := r.consume()
		if ended || full {
			return r.piece(ended), nil
		}
		// Everything read so far has been looked at.
		switch rest := r.pos > r.start; {
		case rest && r.atRest():
			return r.piece(true), nil
		case rest && r.over():
			return r.piece(false), nil
		case r.over():
			return nil, r.end()
		}
		r.fill()
	}
}

// begin forgets the last piece, and the last event if that was its end.
func (r *EventReader) begin() {
	first := r.event.Complete
	if first {
		r.fields, r.lines = false, 0
		r.id, r.kind = r.id[:0], r.kind[:0]
		r.event = Event{First: true, Retry: -1}
	}
	r.event.First, r.event.Complete = first, false
	r.start, r.joined, r.from, r.to, r.data = r.pos, false, r.pos, r.pos, r.data[:0]
}

// atRest reports whether the current piece only contains complete comments and blank lines.
func (r *EventReader) atRest() bool { return !r.fields && r.line == lineStart }

// piece returns the current piece.
func (r *EventReader) piece(complete bool) *Event {
	e := &r.event
	e.Raw = r.buf[r.start:r.pos:r.pos]
	e.Data = r.data
	if !r.joined {
		e.Data = r.buf[r.from:r.to:r.to]
	}
	e.Complete = complete
	e.ID, e.Type = r.id, r.kind
	return e
}

// over reports whether there is nothing more to read from the stream.
func (r *EventReader) over() bool { return r.err != nil }

func (r *EventReader) end() error {
	if errors.Is(r.err, io.EOF) && r.fields {
		return ErrUnfinishedEvent
	}
	return r.err
}

// fill reads once. It is called when the buffer is used up. What waits in it, maybe for hours, should need little of the stack.
func (r *EventReader) fill() { r.took(r.src.Read(r.space())) }

// took takes in what a read has returned.
func (r *EventReader) took(n int, err error) {
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	switch r.empty++; {
	case n > 0 || err != nil:
		r.empty = 0
	case r.empty >= patience:
		r.err = io.ErrNoProgress
	}
}

// space returns where to read to.
func (r *EventReader) space() []byte {
	if r.start > 0 {
		n := copy(r.buf, r.buf[r.start:])
		r.buf = r.buf[:n]
		r.pos, r.from, r.to = r.pos-r.start, r.from-r.start, r.to-r.start
		r.start = 0
	}
	if len(r.buf) == cap(r.buf) {
		r.grow()
	}
	return r.buf[len(r.buf):min(cap(r.buf), len(r.buf)+readSize)]
}

func (r *EventReader) grow() {
	size := min(max(firstEvents, 2*cap(r.buf)), max(r.window+readSize, len(r.buf)+1))
	r.buf = append(make([]byte, 0, size), r.buf...)
}

// consume looks at what has been read, up to the end of an event, of the window, or of the buffer.
func (r *EventReader) consume() (ended, full bool) {
	for r.pos < len(r.buf) {
		if r.skipLF {
			r.skipLF = false
			if r.buf[r.pos] == '\n' {
				r.pos++
				continue
			}
		}
		room := r.room()
		if room < 2 {
			return false, true
		}
		if r.step(r.buf[r.pos:min(len(r.buf), r.pos+room/2)]) {
			if r.skipLF && r.pos < len(r.buf) && r.buf[r.pos] == '\n' {
				r.skipLF = false
				r.pos++
			}
			return true, false
		}
	}
	return false, false
}

// room returns how many more bytes may be held.
func (r *EventReader) room() int {
	room := r.window - (r.pos - r.start) - len(r.data)
	if !r.joined && r.line == lineName && string(r.name) == "data" {
		room -= r.to - r.from // join is about to copy them
	}
	return room
}

// step consumes one or more bytes of a line from p, which is not empty. It reports whether they end the
// event.
func (r *EventReader) step(p []byte) bool {
	c := p[0]
	switch r.line {
	case lineBOM:
		return r.stepBOM(c)
	case lineStart:
		return r.startLine(c)
	case lineName:
		switch {
		case c == '\n' || c == '\r':
			r.startValue()
			r.endLine(c)
			return false
		case c == ':':
			r.startValue()
		case len(r.name) <= len("retry"): // longer names are unknown anyway
			r.name = append(r.name, c)
		}
		r.pos++
	case lineSpace:
		r.line = lineValue
		if c == ' ' {
			r.pos++
		}
	case lineValue, lineSkip:
		n := lineLength(p)
		r.addValue(n)
		r.pos += n
		if n < len(p) {
			r.endLine(p[n])
		}
	}
	return false
}

// stepBOM skips the byte order mark that a stream may begin with.
func (r *EventReader) stepBOM(c byte) bool {
	seen := len(r.name)
	switch {
	case c != byteOrderMark[seen] && seen == 0:
		return r.startLine(c)
	case c != byteOrderMark[seen]:
		r.fields, r.line = true, lineName // of an unknown field
		return false
	}
	r.name = append(r.name, c)
	r.pos++
	if len(r.name) == len(byteOrderMark) {
		r.line = lineStart
	}
	return false
}

// startLine consumes the first byte of a line. A blank line ends the event, if there is one.
func (r *EventReader) startLine(c byte) bool {
	switch c {
	case '\n', '\r':
		r.endLine(c)
		return r.fields
	case ':':
		r.line, r.field = lineSkip, fieldOther
	default:
		r.fields, r.line, r.name = true, lineName, r.name[:0]
		return false
	}
	r.pos++
	return false
}

// startValue is called after the name of a field.
func (r *EventReader) startValue() {
	r.line, r.value = lineSpace, r.value[:0]
	switch string(r.name) {
	case "data":
		r.field, r.event.HasData = fieldData, true
		if r.lines++; r.lines > 1 {
			r.join()
			r.data = append(r.data, '\n')
		}
	case "id":
		r.field = fieldID
	case "event":
		r.field = fieldEvent
	case "retry":
		r.field = fieldRetry
	default:
		r.field = fieldOther
	}
}

// join moves the piece's data out of buf, because more data will follow that is not adjacent.
func (r *EventReader) join() {
	if !r.joined {
		r.joined = true
		r.data = append(r.data[:0], r.buf[r.from:r.to]...)
	}
}

// addValue consumes the next n bytes of a line.
func (r *EventReader) addValue(n int) {
	p := r.buf[r.pos : r.pos+n]
	switch {
	case r.field == fieldOther:
	case r.field != fieldData:
		r.value = append(r.value, p[:min(n, maxField+1-len(r.value))]...)
	case r.joined:
		r.data = append(r.data, p...)
	case r.from == r.to:
		r.from, r.to = r.pos, r.pos+n
	default:
		r.to += n
	}
}

// endLine consumes the first byte of a line's end.
func (r *EventReader) endLine(c byte) {
	r.pos++
	r.skipLF = c == '\r'
	if r.line == lineSpace || r.line == lineValue {
		r.endField()
	}
	r.line = lineStart
}

func (r *EventReader) endField() {
	if len(r.value) > maxField {
		return
	}
	switch r.field {
	case fieldID:
		if bytes.IndexByte(r.value, 0) < 0 {
			r.id, r.event.HasID = append(r.id[:0], r.value...), true
		}
	case fieldEvent:
		r.kind = append(r.kind[:0], r.value...)
	case fieldRetry:
		if ms, err := strconv.ParseUint(string(r.value), 10, 31); err == nil {
			r.event.Retry = time.Duration(ms) * time.Millisecond
		}
	case fieldData, fieldOther:
	}
}

// lineLength returns the number of bytes of p before the end of the line.
func lineLength(p []byte) int {
	n := len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		n = i
	}
	if i := bytes.IndexByte(p[:n], '\r'); i >= 0 {
		n = i
	}
	return n
}
