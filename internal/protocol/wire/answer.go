package wire

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// AppendRequest appends a request, or a notification if id is empty. params is JSON; if it is empty,
// the member is left out.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = appendEnvelope(dst, id)
	dst = json.AppendQuote(append(dst, `,"method":`...), method)
	if len(params) > 0 {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// AppendResult appends the response with the given id and JSON result.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendFailure appends the error response with the given id and JSON error.
func AppendFailure(dst []byte, id ID, failure []byte) []byte {
	dst = append(appendEnvelope(dst, id), `,"error":`...)
	return append(append(dst, failure...), '}')
}

// AppendError appends the error response with the given id, code, message and JSON data. data is left
// out if it is empty, and id if that of the request could not be read.
func AppendError(dst []byte, id ID, code int, message string, data []byte) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = json.AppendQuote(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, "}}"...)
}

func appendEnvelope(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id.IsZero() {
		return dst
	}
	dst = append(dst, `,"id":`...)
	return append(dst, id...)
}

// Edit replaces the bytes of a span in a text. An empty span inserts the replacement.
type Edit struct {
	At   Span
	With []byte
}

// Splice appends text to dst with the edits made, and everything between them unchanged. Edits must not
// overlap; Splice sorts them by place, and keeps the order of those at the same place.
func Splice(dst, text []byte, edits ...Edit) []byte {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.At.Start, b.At.Start) })
	room := len(text)
	for _, e := range edits {
		room += len(e.With)
	}
	dst = slices.Grow(dst, room)
	done := 0
	for _, e := range edits {
		dst = append(dst, text[done:e.At.Start]...)
		dst = append(dst, e.With...)
		done = e.At.End
	}
	return append(dst, text[done:]...)
}

// SpliceID appends the message text to dst with its id, which is at the span at, replaced. Thus an
// answer goes back with the id that the client sent.
func SpliceID(dst, text []byte, at Span, id ID) []byte {
	return Splice(dst, text, Edit{At: at, With: id})
}
