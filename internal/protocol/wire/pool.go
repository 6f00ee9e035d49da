package wire

import "sync"

// messages and parsers keep the memory of parsed messages for reuse.
var (
	messages = sync.Pool{New: func() any { return new(Message) }}
	parsers  = sync.Pool{New: func() any { return new(parser) }}
)

// BorrowMessage returns an empty message for [Parse], whose memory may have been used before. Give it
// back with [Message.Return] once neither it nor a slice of it is used any more; slices of the parsed
// text may still be.
func BorrowMessage() *Message {
	m, _ := messages.Get().(*Message)
	return m
}

// Return gives a borrowed message back, and forgets its content.
func (m *Message) Return() {
	m.Reset()
	messages.Put(m)
}

func borrowParser(body []byte) *parser {
	p, _ := parsers.Get().(*parser)
	p.reset(body)
	return p
}

// giveBack keeps the memory for another text, and forgets this one.
func (p *parser) giveBack() {
	p.reset(nil)
	parsers.Put(p)
}
