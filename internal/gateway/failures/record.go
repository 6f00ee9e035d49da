package failures

import (
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// WithoutRecord returns a JSON-RPC error without a record in its data. If the data itself is a record, only
// the members that the protocol defines remain (MCP 2026-07-28, "Errors").
func WithoutRecord(raw json.Value) json.Value {
	data := json.Lookup(raw, "/data")
	all, record := json.MembersOf(data), isRecord(data)
	own := slices.DeleteFunc(slices.Clone(all), func(m json.Member) bool {
		return m.Name == recourse.MetaKey || record && !slices.Contains(protocolData, m.Name)
	})
	switch len(own) {
	case len(all):
		return raw
	case 0:
		return withData(raw, nil)
	default:
		return withData(raw, own.AppendTo(nil))
	}
}

// protocolData are the members that the protocol defines for an error's data.
var protocolData = []string{"supported", "requested", "requiredCapabilities"}

// isRecord reports whether an object is read as a record.
func isRecord(object json.Value) bool {
	return json.Lookup(object, "/v").Kind() == '0' && json.Lookup(object, "/kind").Kind() == '"'
}

// withData returns a JSON-RPC error with other data, or without data if data is nil.
func withData(raw, data json.Value) json.Value {
	e := json.Members{
		{Name: "code", Value: json.Lookup(raw, "/code")},
		{Name: "message", Value: json.Lookup(raw, "/message")},
		{Name: "data", Value: data},
	}
	return e.AppendTo(nil)
}

// WithRecord adds the record to the data of a JSON-RPC error: as the data if there is none, or as a member of
// it if it is an object.
func WithRecord(raw json.Value, record *recourse.Error) json.Value {
	form, err := record.MarshalJSON()
	data := json.Lookup(raw, "/data")
	switch {
	case err != nil:
		return raw
	case data == nil || data.Kind() == 'n':
		return withData(raw, form)
	case data.Kind() != '{':
		return raw
	}
	members := json.MembersOf(json.Without(data, recourse.MetaKey))
	members.Add(recourse.MetaKey, form)
	return withData(raw, members.AppendTo(nil))
}
