package wire

import "bytes"

// A Passage carries a message from a [MessageReader] to a client: through its Rewriter, which is
// prepared before [Passage.Begin], and as a server-sent event or as plain text.
type Passage struct {
	Rewriter

	from    *MessageReader
	part    *Part // nil: the next one has to be read
	asEvent bool
	out     []byte
}

// Begin starts the passage of the message whose first piece is part.
func (p *Passage) Begin(from *MessageReader, part *Part, asEvent bool) {
	p.from, p.part, p.asEvent = from, part, asEvent
}

// Next returns what to send to the client next; it is valid until the next call. last reports whether
// that is the end of the message. An error is the reader's, and comes with what is sent before the
// message breaks off.
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

// EventBegin and EventEnd go around the text of a message that is an event.
const (
	EventBegin = "event: message\ndata: "
	EventEnd   = "\n\n"
)

// AppendMessage appends an event that holds a message.
func AppendMessage(dst, text []byte) []byte { return AppendEvent(dst, "", "message", text) }

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
