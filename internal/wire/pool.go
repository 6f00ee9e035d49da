package wire

import "sync"

// messages keeps the memory of messages that were parsed.
var messages = sync.Pool{New: func() any { return new(Message) }}

// BorrowMessage returns an empty message for [Parse], whose memory may have served
// another one. Give it back with [Message.Return] when neither it nor a slice of it is
// used any more; slices of the text that was parsed may be.
func BorrowMessage() *Message {
	m, _ := messages.Get().(*Message)
	return m
}

// Return takes a borrowed message back, and forgets all that it says.
func (m *Message) Return() {
	m.Reset()
	messages.Put(m)
}
