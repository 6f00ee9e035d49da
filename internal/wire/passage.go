package wire

import "bytes"

// A Passage takes a message from a [MessageReader] to a client: through its Rewriter, which
// is made ready before [Passage.Begin], and as a server-sent event or as the text alone.
type Passage struct {
	Rewriter

	from    *MessageReader
	part    *Part // nil: the next one is to be read
	asEvent bool
	out     []byte
}

// Begin begins the passage of the message of which part is the first piece.
func (p *Passage) Begin(from *MessageReader, part *Part, asEvent bool) {
	p.from, p.part, p.asEvent = from, part, asEvent
}

// Next returns what the client gets next; it is valid until the next call. last reports
// whether that is the end of the message. An error is the reader's, and comes with what
// goes out before the message breaks off.
func (p *Passage) Next() (piece []byte, last bool, err error) {
	part := p.part
	if p.part = nil; part == nil {
		part, err = p.from.Next()
	}
	p.out = p.out[:0]
	if part != nil && part.First && p.asEvent {
		p.out = append(p.out, EventBegin...)
	}
	start := len(p.out)
	if part != nil {
		p.out = p.Append(p.out, part.Data)
	}
	if last = err == nil && part.Complete; last || err != nil {
		p.out = p.Close(p.out)
	}
	if !p.asEvent {
		return p.out, last, err
	}
	OneLine(p.out[start:])
	if last {
		p.out = append(p.out, EventEnd...)
	}
	return p.out, last, err
}

// EventBegin and EventEnd stand around the text of a message that is an event.
const (
	EventBegin = "event: message\ndata: "
	EventEnd   = "\n\n"
)

// AppendMessage appends an event that holds a message.
func AppendMessage(dst, text []byte) []byte { return AppendEvent(dst, "", "message", text) }

// OneLine makes a JSON text one line, in place: between two tokens, a line end can as
// well be a space.
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
