package mcptool

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// idMark begins the strings that stand for ids which the Go SDK would alter.
//
// The SDK reads a number as a float64 and writes it as an int64, so that 2^53 + 1 comes back
// as somebody else's id. Such an id passes through it as a string: the mark, and then the id
// as its client wrote it. So does a string that begins with the mark. No two ids become
// one, and nothing has to be remembered to turn them back.
const idMark = "io.github.recoursehq.id:"

// carryIDs returns a client's message with strings in place of the ids and progress tokens that
// the SDK would alter, or nil where there are none. A response is left alone: its id is the
// server's own.
func carryIDs(m *wire.Message) []byte {
	var edits []wire.Edit
	carry := func(at wire.Span, id []byte) {
		if !survives(id) {
			edits = append(edits, wire.Edit{At: at, With: json.AppendQuote(nil, idMark+string(id))})
		}
	}
	switch m.Kind {
	case wire.Request:
		carry(m.IDAt, m.ID)
		carry(m.ProgressTokenAt, m.ProgressToken)
	case wire.Notification:
		carry(m.RequestIDAt, m.RequestID) // of notifications/cancelled; the token of a progress is the server's own
	default:
	}
	if edits == nil {
		return nil
	}
	return wire.Splice(nil, m.Raw, edits...)
}

// survives reports whether the SDK writes an id as it was sent.
func survives(id []byte) bool {
	switch json.Value(id).Kind() {
	case '"':
		return !bytes.HasPrefix(id, []byte(`"`+idMark)) && (bytes.IndexByte(id, '\\') < 0 || !strings.HasPrefix(textOf(id), idMark))
	case '0':
		n, err := strconv.ParseFloat(string(id), 64)
		return err == nil && strconv.FormatInt(int64(n), 10) == string(id)
	default:
		return true
	}
}

// textOf returns the text of a string in JSON, or "" for any other value.
func textOf(raw []byte) string {
	text, err := json.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(text)
}

// restoreIDs returns a server's message with the ids as the client spelled them.
func restoreIDs(text []byte) []byte {
	if !bytes.Contains(text, []byte(idMark)) {
		return text
	}
	var scan wire.Scanner // which takes a result that repeats a name, too
	_, _ = scan.Write(text)
	if signs := scan.Signs(); signs.Message() == wire.Response {
		text = restoreAt(text, signs.IDAt)
	}
	var m wire.Message
	if wire.Parse(text, &m) != nil || m.Kind == wire.Request { // whose id is the server's own
		return text
	}
	return restoreAt(text, m.ProgressTokenAt, m.RequestIDAt, m.SubscriptionAt)
}

// restoreAt returns a message with the ids in these places as the client spelled them.
func restoreAt(text []byte, places ...wire.Span) []byte {
	var edits []wire.Edit
	for _, at := range places {
		if id, marked := strings.CutPrefix(textOf(at.Of(text)), idMark); marked {
			edits = append(edits, wire.Edit{At: at, With: []byte(id)})
		}
	}
	return wire.Splice(nil, text, edits...)
}
