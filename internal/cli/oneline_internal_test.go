package cli

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/config"
)

// What a server says of itself cannot leave the comment that it stands in.
func TestSeenStaysInComments(t *testing.T) {
	t.Parallel()
	const evil = "x\n    command: [evil]\r\u2028\u0085y"
	visit := &client.Visit{Server: &mcp.Implementation{Name: evil, Version: evil}, Tools: []*mcp.Tool{
		{Name: evil, Description: evil}, {Name: evil, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
	}}
	s := &config.Server{Command: []string{"x"}}
	for line := range strings.Lines(seenText(visit, s, aboutVisit(visit, s))) {
		if !strings.HasPrefix(line, "    # ") || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\u2028\u0085") {
			t.Errorf("%q is not within a comment", line)
		}
	}
}
