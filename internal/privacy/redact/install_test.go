package redact_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// The diff of a hosts file masks secrets in argument lists.
func TestArgumentsInADifference(t *testing.T) {
	t.Parallel()
	const text = "     \"args\": [\n-      \"--password\", \"hunter2pw\",\n+      \"--token\",\n+      \"t0k3n-x\", \"--port\", \"8080\",\n       \"-y\", \"@scope/pkg\"\n"
	got := redact.Log(text)
	if strings.Contains(got, "hunter2pw") || strings.Contains(got, "t0k3n-x") || !strings.Contains(got, `"8080"`) || !strings.Contains(got, "@scope/pkg") {
		t.Errorf("got %s", got)
	}
}

// A masked credential does not count as a column's heading.
func TestBelowAnEnvironment(t *testing.T) {
	t.Parallel()
	const text = "       \"env\": { \"PERPLEXITY_API_KEY\": \"%s\" },\n     },\n-    \"time\": {\"command\": \"mcp-time\"},\n"
	if got, want := redact.Log(strings.Replace(text, "%s", "pplx-1", 1)), strings.Replace(text, "%s", "[credential]", 1); got != want {
		t.Errorf("got %s", got)
	}
}
