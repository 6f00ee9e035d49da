package wire

import "github.com/recoursehq/recourse/internal/protocol/json"

// Keys of _meta with which a request says which trace it is a part of (SEP-414), and the headers with
// the same content.
const (
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"

	HeaderTraceParent = "Traceparent"
	HeaderTraceState  = "Tracestate"
	HeaderBaggage     = "Baggage"
)

// Trace is what a request says about its trace, verbatim. Members that are missing or not strings are
// empty.
type Trace struct{ Parent, State, Baggage string }

// Trace returns what the message's _meta says about its trace.
func (m *Message) Trace() Trace {
	if m.Kind != Request && m.Kind != Notification || m.Meta == nil {
		return Trace{}
	}
	return Trace{textOf(m.traceAt[0].Of(m.Raw)), textOf(m.traceAt[1].Of(m.Raw)), textOf(m.traceAt[2].Of(m.Raw))}
}

// WithTrace returns the text of the message with that trace in its _meta, replacing any other. It
// returns nil if params or _meta is not an object.
func (m *Message) WithTrace(t Trace) []byte {
	if len(m.Params) > 0 && m.Params[0] != '{' || len(m.Meta) > 0 && m.Meta[0] != '{' {
		return nil
	}
	var edits []Edit
	var missing []byte
	for i, said := range [...]struct{ name, value string }{
		{MetaTraceParent, t.Parent}, {MetaTraceState, t.State}, {MetaBaggage, t.Baggage},
	} {
		switch at := m.traceAt[i]; {
		case !at.IsZero():
			edits = append(edits, Edit{At: at, With: json.AppendQuote(nil, said.value)})
		case said.value != "":
			if len(missing) > 0 {
				missing = append(missing, ',')
			}
			missing = append(json.AppendQuote(missing, said.name), ':')
			missing = json.AppendQuote(missing, said.value)
		}
	}
	if len(missing) > 0 {
		edits = append(edits, m.PutMeta(missing))
	}
	return Splice(make([]byte, 0, len(m.Raw)+len(missing)+128), m.Raw, edits...)
}
