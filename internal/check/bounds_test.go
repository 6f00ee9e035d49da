//go:build unix

package check_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// laxServer has a tool that takes what one parameter's schema forbids, and refuses all else.
type laxServer struct {
	wildServer

	takes string
}

func (s laxServer) Open(context.Context) (server.Conn, error) { return s, nil }

func (s laxServer) Send(ctx context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	var text string
	switch {
	case said.Method == "tools/list":
		text = `{"tools":[{"name":"events","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{` +
			`"page":{"type":"integer","minimum":1,"maximum":9007199254740991},"share":{"type":"number","exclusiveMaximum":0.5},` +
			`"note":{"type":"string","format":"markdown"},"when":{"type":"string","format":"date"}},"additionalProperties":false}}]}`
	case said.Method == "tools/call" && said.Params.Name == "events":
		value, given := said.Params.Arguments[s.takes]
		taken := given && !strings.HasPrefix(string(value), "[") && !strings.Contains(string(value), "xxx")
		text = `{"content":[{"type":"text","text":"page, share, note, when and recourse_check are no such thing."}],"isError":` +
			map[bool]string{true: "false", false: "true"}[taken] + `}`
	default:
		return s.wildServer.Send(ctx, m)
	}
	return server.Reply{Text: []byte(rpcResult(m.ID, text)), Status: 200}
}

// A number beyond its bounds and a text in another format are refused like values that are not in a list.
func TestBoundsAndFormats(t *testing.T) {
	t.Parallel()
	for takes, want := range map[string]string{
		"page": "A call with a number beyond its bounds succeeded", "when": "A call with a text in another format succeeded", "": "",
	} {
		report := check.Check(t.Context(), laxServer{takes: takes}, check.Options{Mode: check.Safe})
		said := strings.Join(sentences(report, "arguments-refused"), "\n")
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("takes %q: %q", takes, said)
		}
	}
}
