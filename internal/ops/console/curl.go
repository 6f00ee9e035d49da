package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// curl returns the command that repeats a tool call as a modern client, which needs no session. It is "" if
// it was not a tool call, its arguments were not kept, or clients cannot reach the server itself.
func (c *Console) curl(call *journal.Row) string {
	if call.Tool == "" || len(call.Arguments) == 0 || c.Gateway == nil {
		return ""
	}
	to, ok := c.Gateway.Entrance(call.Server, call.Tool, call.Access)
	if !ok {
		return ""
	}
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": wire.MethodToolsCall, "params": map[string]any{
			"name": call.Tool, "arguments": call.Arguments, "_meta": map[string]any{
				wire.MetaProtocolVersion: wire.Version20260728, wire.MetaClientCapabilities: struct{}{},
				wire.MetaClientInfo: map[string]string{"name": "curl", "version": "1"},
			},
		},
	})
	if err != nil {
		return ""
	}
	lines := []string{"curl " + quoted(visible.Escape(withUser(to.URL, call.User)))}
	add := func(name, value string) { lines = append(lines, "-H "+quoted(name+": "+visible.Escape(value))) }
	add("Content-Type", "application/json")
	add("Accept", "application/json, text/event-stream")
	add(wire.HeaderVersion, wire.Version20260728)
	add(wire.HeaderMethod, wire.MethodToolsCall)
	add(wire.HeaderName, wire.EncodeHeader(call.Tool))
	mirrored := http.Header{}
	wire.SetParamHeaders(mirrored, call.Arguments, to.Params)
	for _, name := range slices.Sorted(maps.Keys(mirrored)) {
		add(name, mirrored.Get(name))
	}
	lines = append(lines, credentials(call, to)...)
	lines = append(lines, "-d "+quoted(string(visible.EscapeJSON(message))))
	return shortened(strings.Join(lines, " \\\n  "))
}

// credentials returns the headers by which the caller was let in, with a variable of the shell in place of what is secret.
func credentials(call *journal.Row, to gateway.Entrance) []string {
	switch pair := to.Access.Headers; {
	case call.Access == "" || call.Access == auth.MethodLoopback:
		return nil
	case to.Access.JWT != nil:
		return []string{`-H "Authorization: Bearer $RECOURSE_TOKEN"`}
	case pair == nil:
		return []string{`-H "Authorization: Bearer $RECOURSE_KEY"`}
	case pair.ID == "":
		return []string{"-H " + quoted(pair.Key+": ") + `"$RECOURSE_KEY"`}
	default:
		return []string{"-H " + quoted(pair.ID+": "+visible.Escape(call.Caller)), "-H " + quoted(pair.Key+": ") + `"$RECOURSE_KEY"`}
	}
}

// withUser puts the user that a call named into a URL that has a place for one.
func withUser(url, user string) string {
	before, rest, found := strings.Cut(url, "{")
	if _, after, closed := strings.Cut(rest, "}"); found && closed {
		return before + cmp.Or(user, "USER") + after
	}
	return url
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
