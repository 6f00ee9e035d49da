package mcptool

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// carry gives ids a form that the handler behind the guard preserves, and restores them in
// its answers: to the request, and on a resumed stream.
func (x *visit) carry() {
	text := carryIDs(&x.msg)
	if text == nil && (x.r.Method != http.MethodGet || x.r.Header.Get(wire.HeaderLastEventID) == "") {
		return
	}
	x.w.ids = new(idWriter)
	x.r.Header.Del("Accept-Encoding") // an answer has to be legible
	if text != nil {
		x.r.Body = io.NopCloser(bytes.NewReader(text))
		x.r.ContentLength = int64(len(text))
		x.r.Header.Del("Content-Length")
	}
}

// An idWriter restores ids in an answer. It holds a message until it is complete, as the
// SDK does.
type idWriter struct {
	isStream bool
	held     []byte // the beginning of a message
}

// begin takes the head of the answer.
func (w *idWriter) begin(header http.Header) {
	w.isStream = strings.HasPrefix(header.Get("Content-Type"), wire.TypeEventStream)
	header.Del("Content-Length") // of the text as it was
}

// write writes the messages that p completes.
func (w *idWriter) write(out io.Writer, p []byte) error {
	w.held = append(w.held, p...)
	for w.isStream {
		end := endOfEvent(w.held)
		if end == 0 {
			break
		}
		if _, err := out.Write(restoreEvent(w.held[:end])); err != nil {
			return err
		}
		w.held = w.held[end:]
	}
	return nil
}

// end writes the rest.
func (w *idWriter) end(out io.Writer) {
	if !w.isStream {
		w.held = restoreIDs(w.held)
	}
	if len(w.held) > 0 {
		_, _ = out.Write(w.held) // the client has gone
	}
}

// endOfEvent returns where the first event of a stream ends, or 0.
func endOfEvent(stream []byte) int {
	first := 0
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.Index(stream, []byte(blank)); i >= 0 && (first == 0 || i+len(blank) < first) {
			first = i + len(blank)
		}
	}
	return first
}

// restoreEvent returns an event with the ids of its message restored.
func restoreEvent(event []byte) []byte {
	if !bytes.Contains(event, []byte(idMark)) {
		return event
	}
	read, err := wire.NewEventReader(bytes.NewReader(event), wire.DefaultWindow+2*len(event)).Next()
	if err != nil || !read.Complete {
		return event
	}
	return wire.AppendEvent(nil, string(read.ID), string(read.Type), restoreIDs(read.Data))
}
