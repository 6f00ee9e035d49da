package wire

import (
	"errors"
	"io"
	"iter"
	"slices"
	"time"
)

// A Part is a message of a server, a piece of one that is larger than the window of its
// [MessageReader], or something between the messages of an event stream, such as a comment. Its slices
// and signs are valid until the next call of Next or Reset.
type Part struct {
	Event // for a JSON body, Raw and Data are the body, and First and Complete say which part of it

	// Other says that clients ignore this: it is neither a message nor a piece of one.
	Other bool
	// MessageKind is the message's kind, as far as it is known before Complete.
	Kind MessageKind
	// Err is the *lexer.SyntaxError if the text turned out not to be a message.
	Err error
}

// Whole returns the part that is a message of its own, which has not been scanned.
func Whole(text []byte) Part {
	return Part{Event: *MessageEvent(text)}
}

// MessageEvent returns an event with a message of our own.
func MessageEvent(message []byte) *Event {
	return &Event{Data: message, First: true, Complete: true, HasData: true, Type: messageType, Retry: -1}
}

var messageType = []byte("message") // never changed

// MessageReader reads a server's messages: the one message in a JSON body, those in an event stream, or [Parts].
// Each is scanned once, as it arrives, unless it has been scanned before. A message that fits the window is
// returned as a whole, a larger one in pieces as they arrive, so that an answer of any size passes in constant
// memory. The Raw of all parts together is the body, byte for byte.
//
// It is not safe for concurrent use.
type MessageReader struct {
	events  EventReader
	isJSON  bool
	src     io.Reader // of a JSON body, or a message that is read in pieces
	length  int64     // of the body, if positive
	window  int
	asIs    bool // parts are returned in the pieces in which they come
	buf     []byte
	over    bool // the body has been read to its end
	other   bool // the event that is being read is ignored by clients
	scan    Scanner
	current Part
	end     error // of Parts

	parts  Parts  // nil: there is a body
	pieces pieces // of a message that does not fit into the window, or is not there as a whole
}

// NewMessageReader returns a reader of an answer; see [MessageReader.Reset].
func NewMessageReader(resp *Answer, window int) *MessageReader {
	r := &MessageReader{}
	r.Read(resp, window)
	return r
}

// firstBuffer is how many bytes of a body are read at first.
const firstBuffer = 1 << 10

// AsIs is the window of a reader that returns the messages of [Parts] in the pieces in which they come.
const AsIs = -1

// Read makes r read an answer; see [MessageReader.Reset].
func (r *MessageReader) Read(resp *Answer, window int) {
	r.Reset(resp.body, resp.Stream, resp.Length, window)
	r.parts, r.asIs = resp.parts, window == AsIs
}

// Reset makes r read another body, an event stream or a JSON text, and keeps its memory. A length above
// 0 is the body's, and saves memory. Window 0 means [DefaultWindow].
func (r *MessageReader) Reset(body io.Reader, isEvents bool, length int64, window int) {
	if window <= 0 {
		window = DefaultWindow
	}
	r.events.Reset(body, window)
	r.scan.Reset()
	r.isJSON, r.src, r.length, r.window, r.buf = !isEvents, body, length, window, r.buf[:0]
	r.over, r.other, r.end, r.current = false, false, nil, Part{Event: Event{Complete: true}}
	r.parts, r.asIs, r.pieces = nil, false, pieces{}
	if cap(r.buf) > keptBuffer {
		r.buf = nil
	}
}

// Next returns the next part. A JSON body that turns out not to be a message is returned as far as it
// was read. At the end of the body the error is io.EOF; if an event stream ends inside an event it is
// [ErrUnfinishedEvent]; otherwise it is the body's own. An error of a JSON body comes with what was
// read before it.
func (r *MessageReader) Next() (*Part, error) {
	p := &r.current
	switch {
	case r.parts != nil:
		return r.nextOfParts(p)
	case r.isJSON:
		return r.nextJSON(p)
	}
	event, err := r.events.Next()
	if err != nil {
		return nil, err
	}
	return r.take(p, event), nil
}

// take returns the part that an event is. It is a function of its own since what waits for the event, maybe for hours, should need
// little of the stack.
func (r *MessageReader) take(p *Part, event *Event) *Part {
	*p = Part{Event: *event}
	if p.First {
		r.scan.Reset()
		r.other = len(p.Type) > 0 && string(p.Type) != "message" || p.Complete && len(p.Data) == 0
	}
	if p.Other = r.other; !p.Other {
		r.look(p, p.Data)
	}
	return p
}

// Parts returns the parts of the body, one after the other; the caller may read some of them itself, with
// [MessageReader.Next] or Rest. [MessageReader.End] says why there are no more. What Next returns of a JSON
// body along with an error is left out.
func (r *MessageReader) Parts() iter.Seq[*Part] {
	return func(yield func(*Part) bool) {
		for {
			part, err := r.Next()
			r.end = err
			if err != nil || !yield(part) {
				return
			}
		}
	}
}

// Whole returns the parts that are a message which fits the window, or a text that is not one (see
// Part.Err). It passes over larger messages and what stands between messages.
func (r *MessageReader) Whole() iter.Seq[*Part] {
	return func(yield func(*Part) bool) {
		for part := range r.Parts() {
			if part.First && !part.Other && (part.Complete || part.Err != nil) && !yield(part) {
				return
			}
		}
	}
}

// End returns why Parts or Whole has ended, as Next does. [BrokeOff] tells the connection's errors apart.
func (r *MessageReader) End() error { return r.end }

// BrokeOff reports whether an error of a MessageReader is the connection's: the server itself has not ended
// the body, not even inside an event.
func BrokeOff(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrUnfinishedEvent)
}

// Rest reads the rest of the message that part is the first piece of. The data and the signs of part are
// then those of the whole message. A message of more than limit bytes returns [ErrTooLong].
func (r *MessageReader) Rest(part *Part, limit int) error {
	text := append([]byte(nil), part.Data...)
	for !part.Complete {
		next, err := r.Next()
		if err != nil {
			return err
		}
		if text = append(text, next.Data...); len(text) > limit {
			return ErrTooLong
		}
	}
	part.Data = text
	return nil
}

// Drain reads what a server still sends in resp, up to the window and for at most a second, and closes
// it, so that its connection can be kept.
func (r *MessageReader) Drain(resp *Answer) {
	defer resp.Close()
	timer := time.AfterFunc(time.Second, func() { _ = resp.Close() }) // the rest is not needed
	defer timer.Stop()
	more := 0
	for part := range r.Parts() {
		if more += max(len(part.Raw), len(part.Data)); more >= r.window {
			return
		}
	}
}

// ErrTooLong means that a message is longer than its reader accepts.
var ErrTooLong = errors.New("the message is too long")

// look scans the next piece of the message that p is a part of.
func (r *MessageReader) look(p *Part, piece []byte) {
	_, err := r.scan.Write(piece)
	if err == nil && p.Complete {
		err = r.scan.Close()
	}
	p.Err, p.Signs = err, r.scan.Signs()
	p.Kind = p.Signs.Message()
	if err != nil {
		p.Kind = Invalid
	}
}

// nextOfParts returns a message that has been scanned as it is. Any other is scanned here.
func (r *MessageReader) nextOfParts(p *Part) (*Part, error) {
	if r.pieces.from == nil {
		next, err := r.parts.Next()
		switch {
		case err != nil:
			return nil, err
		case next.Other:
			*p = *next
			return p, nil
		case r.asIs || next.Complete && len(next.Data) <= r.window:
			if *p = *next; p.Signs != nil {
				p.Kind = p.Signs.Message()
				return p, nil
			}
			if p.First {
				r.scan.Reset()
			}
			r.look(p, p.Data)
			return p, nil
		}
		r.pieces = pieces{from: r.parts, text: next.Data, last: next.Complete}
		r.src, r.length = &r.pieces, 0
		r.scan.Reset()
		p.Complete = true // what comes is the first piece
	}
	piece, err := r.nextJSON(p)
	if piece != nil {
		piece.Raw, piece.Type = nil, messageType
	}
	if r.over || err != nil {
		r.pieces, r.over = pieces{}, false
	}
	return piece, err
}

// pieces are a message as a body, which ends with it.
type pieces struct {
	from Parts // nil: no message is being read
	text []byte
	last bool
}

// Read implements [io.Reader].
func (m *pieces) Read(p []byte) (int, error) {
	for len(m.text) == 0 {
		if m.last {
			return 0, io.EOF
		}
		next, err := m.from.Next()
		if errors.Is(err, io.EOF) {
			return 0, ErrUnfinishedEvent
		}
		if err != nil {
			return 0, err
		}
		m.text, m.last = next.Data, next.Complete
	}
	n := copy(p, m.text)
	if m.text = m.text[n:]; len(m.text) == 0 && m.last {
		return n, io.EOF
	}
	return n, nil
}

// nextJSON reads the first part of a JSON body up to the window, and then each piece as it arrives.
func (r *MessageReader) nextJSON(p *Part) (*Part, error) {
	if r.over {
		return nil, io.EOF
	}
	first := p.Complete
	*p = Part{Event: Event{First: first, HasData: true, Retry: -1}}
	r.buf = r.buf[:0]
	if first && r.length > 0 && r.length <= int64(r.window) && r.length >= int64(cap(r.buf)) {
		r.buf = make([]byte, 0, r.length+1) // one more byte, to see the end
	}
	for {
		piece, err := r.read()
		p.Complete = errors.Is(err, io.EOF)
		p.Raw, p.Data = r.buf, r.buf
		r.look(p, piece)
		switch {
		case p.Complete:
			r.over = true
			return p, nil
		case err != nil:
			return p, err
		case !first && len(piece) > 0, len(r.buf) >= r.window, p.Err != nil:
			return p, nil
		}
	}
}

// read reads once, into the free end of buf.
func (r *MessageReader) read() ([]byte, error) {
	if len(r.buf) == cap(r.buf) {
		r.buf = slices.Grow(r.buf, min(max(len(r.buf), firstBuffer), r.window))
	}
	from := len(r.buf)
	n, err := r.src.Read(r.buf[from:min(cap(r.buf), r.window)])
	r.buf = r.buf[:from+n]
	return r.buf[from:], err
}
