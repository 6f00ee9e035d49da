package console

import (
	"encoding/json"
	"strings"

	"github.com/recoursehq/recourse/internal/journal"
	"github.com/recoursehq/recourse/internal/visible"
	"github.com/recoursehq/recourse/internal/wire"
)

// curl returns the command that repeats a tool call as a modern client, which needs no session. It is "" if
// it was not a tool call, or its arguments were not kept.
func (c *Console) curl(call *journal.Call) string {
	if call.Tool == "" || len(call.Arguments) == 0 || call.Server == "" {
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
	lines := []string{"curl " + quoted(c.endpoint(call))}
	for _, h := range [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{wire.HeaderVersion, wire.Version20260728},
		{wire.HeaderMethod, wire.MethodToolsCall},
		{wire.HeaderName, wire.EncodeHeader(call.Tool)},
	} {
		lines = append(lines, "-H "+quoted(h[0]+": "+h[1]))
	}
	if call.Access != "" && call.Access != "loopback" {
		lines = append(lines, `-H "Authorization: Bearer $RECOURSE_KEY"`)
	}
	lines = append(lines, "-d "+quoted(string(visible.EscapeJSON(message))))
	return shortened(strings.Join(lines, " \\\n  "))
}

// endpoint returns where a call was made.
func (c *Console) endpoint(call *journal.Call) string {
	url := "http://GATEWAY/" + call.Server + "/mcp"
	if c.Endpoint != nil {
		if known := c.Endpoint(call.Server); known != "" {
			url = known
		}
	}
	before, rest, found := strings.Cut(url, "{")
	if _, after, closed := strings.Cut(rest, "}"); found && closed && call.User != "" {
		url = before + call.User + after
	}
	return visible.Escape(url)
}

// quoted quotes a text for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
