package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Form returns the wire form of an answer, for people: a line that names the form, the headers of HTTP, and the body.
func Form(answer contract.Answer) string {
	var body []byte
	var b strings.Builder
	switch answer.Surface {
	case contract.SurfaceResult:
		body = json.Without(json.Value(answer.Result), "_meta")
		fmt.Fprintln(&b, "tool result, with the record in _meta")
	case contract.SurfaceRPC:
		fmt.Fprintln(&b, "JSON-RPC error")
		body = fmt.Appendf(nil, `{"code":%d,"message":%s,"data":%s}`, answer.RPCCode, json.AppendQuote(nil, answer.Message), answer.Data)
	case contract.SurfaceHTTP:
		fmt.Fprintf(&b, "HTTP %d\n", answer.Status)
		for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(answer.Header[name], ", "))
		}
		body = answer.Body
	}
	pretty, err := json.AppendIndent(nil, body, "  ")
	if err != nil {
		pretty = body
	}
	b.Write(pretty)
	b.WriteByte('\n')
	return b.String()
}
