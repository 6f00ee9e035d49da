package wire

import "sync"

// messages keeps the memory of parsed messages for reuse.
var messages = sync.Pool{New: func() any { return new(Message) }}

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
