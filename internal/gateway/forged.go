package gateway

import (
	"bytes"
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// A record under our key is the gateway's word to its client. Where a server that is not
// trusted has written one, it is left out: of a success, of an error that is passed on as
// it is, and of a message on a stream; of a failure that is rewritten it never gets out.

// forged reports whether the answer that was scanned, as far as it is known, has a record
// that is not to be passed on.
func (x *exchange) forged() bool {
	return x.scan.Signs().Record && !x.s.Trusted && !x.s.observes()
}

func recordPruner() *wire.Rewriter {
	p := new(wire.Rewriter)
	p.WithoutRecord()
	return p
}

// stripped returns what a rewriter leaves of a piece; nil leaves all.
func stripped(p *wire.Rewriter, piece []byte) []byte {
	if p == nil {
		return piece
	}
	return p.Append(make([]byte, 0, len(piece)), piece)
}

// strippedEvent returns an event, or a piece of one, that holds a message without its
// record.
func strippedEvent(p *wire.Rewriter, event *wire.Event) []byte {
	var raw []byte
	if event.First {
		if len(event.ID) > 0 {
			raw = append(append(append(raw, "id: "...), event.ID...), '\n')
		}
		raw = append(raw, "event: message\ndata: "...)
	}
	data := p.Append(nil, event.Data)
	if event.Complete {
		data = p.Close(data)
	}
	for i, b := range data {
		if b == '\n' || b == '\r' { // white space between two tokens
			data[i] = ' '
		}
	}
	if raw = append(raw, data...); event.Complete {
		raw = append(raw, "\n\n"...)
	}
	return raw
}

// strippedMessage returns an event of a stream of the server's own as it is passed on.
func (x *exchange) strippedMessage(event *wire.Event) []byte {
	if x.s.Trusted || x.s.observes() || !event.Complete || !event.First || !bytes.Contains(event.Data, []byte("result")) {
		return event.Raw
	}
	x.scan.Reset()
	if _, err := x.scan.Write(event.Data); err != nil || !x.forged() {
		return event.Raw
	}
	return strippedEvent(recordPruner(), event)
}

// withoutForgery returns a JSON-RPC error whose data holds no record. Of data that is one,
// what the protocol wants there is left (MCP 2026-07-28, "Errors").
func withoutForgery(raw json.Value) json.Value {
	data := json.Lookup(raw, "/data")
	if data.Kind() != '{' {
		return raw
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(data, &members) != nil {
		return raw
	}
	switch {
	case isRecord(data):
		maps.DeleteFunc(members, func(name string, _ json.Value) bool { return !slices.Contains(protocolData, name) })
	case members[recourse.MetaKey] == nil:
		return raw
	}
	delete(members, recourse.MetaKey)
	if len(members) == 0 {
		return withData(raw, nil)
	}
	data, err := json.Marshal(members)
	if err != nil {
		return withData(raw, nil)
	}
	return withData(raw, data)
}

// protocolData are the members that the protocol has in the data of an error.
var protocolData = []string{"supported", "requested", "requiredCapabilities"}

// isRecord reports whether an object is read as a record.
func isRecord(object json.Value) bool {
	return json.Lookup(object, "/v").Kind() == '0' && json.Lookup(object, "/kind").Kind() == '"'
}

// withData returns a JSON-RPC error with other data; nil: with none.
func withData(raw, data json.Value) json.Value {
	var members struct {
		Code    json.Value `json:"code"`
		Message json.Value `json:"message"`
		Data    json.Value `json:"data,omitzero"`
	}
	if json.UnmarshalLenient(raw, &members) != nil {
		return raw
	}
	members.Data = data
	changed, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return changed
}
