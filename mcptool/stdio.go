package mcptool

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Stdio returns a transport over in and out, usually os.Stdin and os.Stdout. Unlike on
// the SDK's own, a line that is not a message does not end the server: it is answered
// with the JSON-RPC error that the protocol has for it (-32700, -32600), under its id if
// that can be read, with the record of the default contract as data. The same goes for a
// message of more than 4 MiB. The end of the session closes in, but not out.
func Stdio(in io.ReadCloser, out io.Writer) mcp.Transport {
	plain := contract.MustBuiltin(contract.Default)
	w := &lineWriter{w: out}
	return &mcp.IOTransport{
		Reader: &stdioReader{Closer: in, lines: wire.NewLineReader(in, maxRequest+len("\r\n")), out: w, contract: plain},
		Writer: w,
	}
}

// A stdioReader passes on to an SDK transport only the lines that are messages.
type stdioReader struct {
	io.Closer

	lines    *wire.LineReader
	out      *lineWriter
	contract *contract.Contract // the default one
	rest     []byte             // of the line that is being read
}

// Read reads from the next message. Lines before it that are not messages are answered.
func (s *stdioReader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		line, err := s.lines.Next()
		if err != nil {
			return 0, err
		}
		var m wire.Message
		failure := parseLine(line, &m)
		switch {
		case failure != nil:
			if err := s.out.write(s.refuse(line, failure)); err != nil {
				return 0, err
			}
		case m.Kind == wire.Response && !isResponse(line.Text): // a malformed answer is ignored
		default:
			if text := carryIDs(&m); text != nil {
				s.out.restores.Store(true)
				line.Text = text
			}
			line.Text = append(line.Text, '\n')
			s.rest = line.Text
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// parseLine reads a line into m, or returns why it is not a message.
func parseLine(line wire.Line, m *wire.Message) *recourse.Error {
	if line.Cut() {
		return recourse.TooLarge(maxRequest)
	}
	if err := wire.Parse(line.Text, m); err != nil {
		return door.Refused(err).CausedBy(err)
	}
	return checkParams(m)
}

// isResponse reports whether the SDK can read a response; if not, the SDK would end the
// session.
func isResponse(text []byte) bool {
	_, err := jsonrpc.DecodeMessage(text)
	return err == nil
}

// refuse returns the answer to a line that is not a message.
func (s *stdioReader) refuse(line wire.Line, failure *recourse.Error) []byte {
	e := failure.With(func(e *recourse.Error) {
		e.Effect, e.Origin, e.RequestID = recourse.EffectNone, recourse.OriginCaller, wire.RequestID("")
	})
	answer := s.contract.Write(e, &contract.Call{At: contract.AtSession})
	return append(wire.AppendError(nil, door.FirstID(line.Text), answer.RPCCode, answer.Message, answer.Data), '\n')
}

// A lineWriter writes the lines of the SDK and of the reader, one at a time. Closing it closes
// nothing.
type lineWriter struct {
	mu       sync.Mutex
	w        io.Writer
	restores atomic.Bool // a message was read with ids that are to be restored
}

// Write writes a line of the SDK's.
func (w *lineWriter) Write(p []byte) (int, error) {
	if !w.restores.Load() {
		return len(p), w.write(p)
	}
	text := restoreIDs(bytes.TrimSuffix(p, []byte("\n")))
	return len(p), w.write(append(bytes.Clone(text), '\n'))
}

// write writes a line.
func (w *lineWriter) write(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(line)
	return err
}

// Close does nothing.
func (*lineWriter) Close() error { return nil }
