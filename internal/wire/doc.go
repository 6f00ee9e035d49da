// Package wire reads and writes what travels between MCP clients and servers: the
// JSON-RPC 2.0 envelope, ids, server-sent events, and the headers and members that
// tell the protocol's eras apart.
//
// It has two readers of JSON over one grammar. [Parse] takes a client's message,
// which is in memory and small, and is strict: what it accepts means the same to
// every other reader, so that the message that was checked is the message that is
// forwarded. [Scanner] takes a server's answer, of any size and in pieces, in
// constant memory, and is as lenient as JSON is: it only notes the signs by which
// an answer is told from a failure.
//
// Whoever reads a server's answer does so by a [MessageReader], JSON or event stream:
//
//	messages.Reset(resp.Body, wire.IsEvents(resp), resp.ContentLength, window)
//	for {
//		part, err := messages.Next()
//		...
//	}
//
// A [Part] is a message that was scanned, whole or in pieces, with its raw bytes; nobody
// scans it again. What it holds goes on as it is (Raw), or rewritten by a [Rewriter], which
// a [Passage] does for a message of any size. MessageReader.Rest collects a message that
// came in pieces.
//
// Nothing here decodes arguments or results. Both readers give the places of the
// values in the text, and [Splice] replaces some of them and leaves the rest byte
// for byte as it was sent.
package wire

// MaxDepth is the number of levels to which objects and arrays may be nested.
const MaxDepth = 128

// Span is the half-open range of bytes [Start, End) in which a value stands. The
// zero Span stands for a value that is absent.
type Span struct {
	Start, End int
}

// IsZero reports whether the value is absent.
func (s Span) IsZero() bool { return s.End == 0 }

// Of returns the bytes of s in text, or nil when the value is absent.
func (s Span) Of(text []byte) []byte {
	if s.IsZero() {
		return nil
	}
	return text[s.Start:s.End:s.End]
}
