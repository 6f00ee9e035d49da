package explain

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A WireForm is an answer as it is on the wire, without the record.
type WireForm struct {
	Surface string             `json:"surface"` // result, rpc or http
	Status  int                `json:"status,omitempty"`
	Headers http.Header        `json:"headers,omitempty"`
	Body    stdjson.RawMessage `json:"body"` // the result, the JSON-RPC error, or the HTTP body
}

// FormOf returns the wire form of an answer.
func FormOf(answer contract.Answer) WireForm {
	switch answer.Surface {
	case contract.SurfaceRPC:
		body := fmt.Appendf(nil, `{"code":%d,"message":%s`, answer.RPCCode, json.AppendQuote(nil, answer.Message))
		if len(answer.Data) > 0 {
			body = fmt.Appendf(body, `,"data":%s`, answer.Data)
		}
		return WireForm{Surface: "rpc", Body: append(body, '}')}
	case contract.SurfaceHTTP:
		return WireForm{Surface: "http", Status: answer.Status, Headers: answer.Header, Body: answer.Body}
	default:
		return WireForm{Surface: "result", Body: stdjson.RawMessage(json.Without(json.Value(answer.Result), "_meta"))}
	}
}

// String returns the form for people: a line that names it, the headers of HTTP, and the body.
func (f WireForm) String() string {
	var b strings.Builder
	switch f.Surface {
	case "result":
		fmt.Fprintln(&b, "tool result, with the record in _meta")
	case "rpc":
		fmt.Fprintln(&b, "JSON-RPC error")
	case "http":
		fmt.Fprintf(&b, "HTTP %d\n", f.Status)
		for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(f.Headers[name], ", "))
		}
	}
	pretty, err := json.AppendIndent(nil, f.Body, "  ")
	if err != nil {
		pretty = f.Body
	}
	b.Write(pretty)
	b.WriteByte('\n')
	return b.String()
}
