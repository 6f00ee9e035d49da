// Package wire reads and writes the messages between MCP clients and servers: the JSON-RPC 2.0
// envelope, ids, server-sent events, and the headers and members that distinguish the protocol's eras.
//
//	client
//	  |  Parse           strict; the whole message
//	  v
//	Message              what it says, and where in the text
//	  |  Splice          puts other values in some places
//	  v
//	server
//	  |  MessageReader   an Answer of any size, which a Scanner sees piece by piece
//	  v
//	Part                 raw bytes, and the signs of a failure
//	  |  Rewriter        as it is, or changed
//	  v
//	client
//
// It has two JSON readers that share a grammar. [Parse] reads a client's message, which is in memory
// and small, and is strict: what it accepts means the same to every other reader, so that the message
// that was checked is the message that is forwarded. [Scanner] reads a server's answer, of any size and
// in pieces, in constant memory, and is as lenient as JSON is: it only records the signs that
// distinguish an answer from a failure.
//
// A server's [Answer] has come over HTTP, as JSON or as an event stream, or consists of [Parts] from within this
// program, of which a [Pipe] carries some from one goroutine to another. It is read with a [MessageReader]:
//
//	messages.Read(resp, window)
//	for part := range messages.Parts() {
//		...
//	}
//	err := messages.End()
//
// A [Part] is a scanned message, whole or in pieces, with its raw bytes if it came as an event. It travels with its signs,
// and is scanned again only where its text is changed by a [Rewriter], or it is larger than its next reader's window.
// Who writes to an HTTP client makes it an event: [Event.AppendTo]. MessageReader.Rest collects a message that came in
// pieces, and Whole passes over those that are too large to come as a whole.
//
// A message is parsed where it comes in, and travels as a [Message]: only who changes its text, such as its id or
// a name in it, has it parsed again.
//
// Nothing here decodes arguments or results. Both readers return the positions of values in the text,
// and [Splice] replaces some of them and leaves the rest byte for byte as it was sent.
package wire

// Span is the half-open range of bytes [Start, End) of a value. The zero Span means that the value is
// absent.
type Span struct {
	Start, End int
}

// IsZero reports whether the value is absent.
func (s Span) IsZero() bool { return s.End == 0 }

// Of returns the bytes of s in text, or nil if the value is absent.
func (s Span) Of(text []byte) []byte {
	if s.IsZero() {
		return nil
	}
	return text[s.Start:s.End:s.End]
}
