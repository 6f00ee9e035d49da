package recovery

import (
	"encoding/json"

	"github.com/recoursehq/recourse/internal/contractform"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
)

// lookup returns the value at a JSON Pointer, or nil.
func lookup(raw json.RawMessage, pointer string) json.RawMessage {
	return json.RawMessage(internaljson.Lookup(internaljson.Value(raw), internaljson.Pointer(pointer)))
}

// member returns a member of an object, or nil.
func member(raw json.RawMessage, name string) json.RawMessage {
	return lookup(raw, string(internaljson.Pointer("").AppendToken(name)))
}

// textOf returns the text of a JSON string, or "".
func textOf(raw json.RawMessage) string {
	text, _ := internaljson.TextOf(internaljson.Value(raw))
	return text
}

// dataOf returns the data of a tool result, or nil.
func dataOf(result json.RawMessage) json.RawMessage {
	return json.RawMessage(contractform.DataOf(internaljson.Value(result)))
}

// withMembers returns arguments with members added. Arguments that are not an object are returned unchanged.
func withMembers(arguments json.RawMessage, members map[string]any) json.RawMessage {
	all := map[string]json.RawMessage{}
	if len(arguments) > 0 && json.Unmarshal(arguments, &all) != nil {
		return arguments
	}
	if all == nil { // null
		all = map[string]json.RawMessage{}
	}
	for name, value := range members {
		raw, err := json.Marshal(value)
		if err != nil {
			return arguments
		}
		all[name] = raw
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return arguments
	}
	return raw
}
