package redact_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/redact"
)

// The difference of a hosts file shows no secret of a list of arguments.
func TestArgumentsInADifference(t *testing.T) {
	t.Parallel()
	const text = "     \"args\": [\n-      \"--password\", \"hunter2pw\",\n+      \"--token\",\n+      \"t0k3n-x\", \"--port\", \"8080\",\n       \"-y\", \"@scope/pkg\"\n"
	got := redact.Log(text)
	if strings.Contains(got, "hunter2pw") || strings.Contains(got, "t0k3n-x") || !strings.Contains(got, `"8080"`) || !strings.Contains(got, "@scope/pkg") {
		t.Errorf("got %s", got)
	}
}
