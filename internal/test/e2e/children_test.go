package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The reference server as a child of the gateway. With a process for each client (in the modern era: for each client's
// credentials), its questions and log messages reach the client. A process shared by all clients neither asks nor logs,
// and everything else works.
func TestEverythingOnStdio(t *testing.T) {
	t.Parallel()
	testEverythingOnStdio(t)
}

// The remaining clients.
func TestLongEverythingOnStdio(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testEverythingOnStdio(t)
}

func testEverythingOnStdio(t *testing.T) {
	t.Helper()
	command, err := json.Marshal(newNPMServer(t, "everything", "stdio").Command)
	if err != nil {
		t.Fatal(err)
	}
	for row, share := range []string{"all", "client"} {
		everything := server{
			name: "server-everything on stdio", era: testkit.Legacy,
			front: func(tb testing.TB) *front {
				tb.Helper()
				f := start(tb, "", "command: "+string(command), "share: "+share)
				f.header = map[string]string{"Authorization": "Bearer e2e"}
				return f
			},
		}
		for _, step := range everythingSteps() {
			if share == "all" && (asks[step.tool] || step.method == "logging/setLevel") {
				continue
			}
			if share == "all" && strings.HasPrefix(step.heard, "notifications/message") {
				step.heard = ""
			}
			if share == "all" && step.method == "tools/list" {
				step.want = []string{`"get-sum"`}
			}
			everything.steps = append(everything.steps, step)
		}
		for column, client := range clients() {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run("share "+share+"/"+client.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				visit(ctx, t, client, client.open(t), everything.forClient(client))
			})
		}
		if !testkit.Sampled(t, 0, 2) {
			continue
		}
		t.Run("share "+share+"/negotiation", func(t *testing.T) {
			t.Parallel()
			negotiate(t, everything)
		})
	}
}

// asks are the tools that ask the client something. The server only lists them for clients that can be asked.
var asks = map[string]bool{"trigger-elicitation-request": true, "trigger-sampling-request": true}
