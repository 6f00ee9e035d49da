package protocol

import (
	"encoding/json"
	"strings"
)

// Envelope returns a JSON-RPC message with an id, if there is one, and another member, or several.
func Envelope(id json.RawMessage, member string) string {
	if id == nil {
		return `{"jsonrpc":"2.0",` + member + `}`
	}
	return `{"jsonrpc":"2.0","id":` + string(id) + `,` + member + `}`
}

// Answer returns the answer to a request with a result, which is JSON.
func Answer(id json.RawMessage, result string) string { return Envelope(id, `"result":`+result) }

// Refusal returns the answer to a request with an error; data is JSON, or empty.
func Refusal(id json.RawMessage, code int, text, data string) string {
	members := []any{"code", code, "message", text}
	if data != "" {
		members = append(members, "data", json.RawMessage(data))
	}
	return Envelope(id, `"error":`+Object(members...))
}

// Object returns a JSON object from alternating names and values, in this order.
func Object(members ...any) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(Quote(members[i]))
		b.WriteByte(':')
		b.WriteString(Quote(members[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}

// Quote returns v, which is a string, a number, a list or raw JSON, as JSON.
func Quote(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TextResult returns the JSON of a tool result with one text block.
func TextResult(text string) string {
	return `{"content":[` + Object("type", "text", "text", text) + `]}`
}

// ErrorResult returns the JSON of a tool result with one text block and isError.
func ErrorResult(text string) string {
	return `{"content":[` + Object("type", "text", "text", text) + `],"isError":true}`
}

// StructuredResult returns the JSON of a tool result with structured content, which is also its text.
func StructuredResult(structure string) string {
	return `{"content":[` + Object("type", "text", "text", structure) + `],"structuredContent":` + structure + `}`
}

// Member returns a member of a JSON object; null if there is none.
func Member(raw json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members[name] == nil {
		return json.RawMessage("null")
	}
	return members[name]
}

// Completed returns a result with the members that the modern era requires.
func Completed(result string) string {
	members := `{"resultType":"complete"`
	if !strings.Contains(result, `"_meta"`) {
		members += `,"_meta":{"` + MetaServerInfo + `":` + ServerInfo + `}`
	}
	if result == "{}" {
		return members + "}"
	}
	return members + "," + strings.TrimPrefix(result, "{")
}

// Subscribed returns a notification for the subscription that was made by the request with that id.
func Subscribed(method string, id json.RawMessage, members string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"` + MetaSubscription + `":` + string(id) + `}` + members + `}}`
}

// Event returns a message as an event of a stream, with an id unless it is empty.
func Event(id, msg string) string {
	data := "data: " + strings.ReplaceAll(msg, "\n", "\ndata: ") + "\n\n"
	if id != "" {
		return "event: message\nid: " + id + "\n" + data
	}
	return "event: message\n" + data
}
