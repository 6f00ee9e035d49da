package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// startWrapped starts a host, built with the Go SDK, with server p behind the wrapper.
func startWrapped(t *testing.T, p *child.Program, opts *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"recourse", "farmd"} { // TestMain runs the command of this name
		if err := os.Symlink(exe, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	command := append([]string{"wrap", "--name", "farm", "--", filepath.Join(dir, "farmd")}, p.Arguments(args...)...)
	wrapper := exec.CommandContext(context.Background(), filepath.Join(dir, "recourse"), command...)
	wrapper.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	host := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, opts)
	session, err := host.Connect(t.Context(), &mcp.CommandTransport{Command: wrapper}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("wrapper: %v", err)
		}
	})
	return session
}

// call returns the first text in a tool's answer.
func call(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: %+v", tool, result.Content)
	}
	return text.Text
}

// The server's question reaches its host, and the answer reaches the server. Null arguments are passed as none.
func TestWrapPassesQuestionsOn(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	session := startWrapped(t, child.NewProgram(t), &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- r.Params.Message
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	if got := call(t, session, testkit.Ask, nil); got != `{"action":"decline"}` {
		t.Fatalf("got %s", got)
	}
	if message := <-asked; message == "" {
		t.Error("the question is empty")
	}
}

// A host's session survives the end of its server's processes.
func TestWrapSurvivesItsServer(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"exit":        "[unreachable] ",
		"exit-before": "[unreachable] ",
		"half":        "[unreachable] ",
		"garbage":     "clean",
		"twice":       "first",
		"wrong-id":    "mine",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := child.NewProgram(t)
			session := startWrapped(t, p, nil)
			p.Next(testkit.OrderCreate, fault)
			got := call(t, session, testkit.OrderCreate, map[string]any{"reference": "A-17", "amount": 1})
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			for _, message := range []string{"one", "two"} {
				if got := call(t, session, testkit.Echo, map[string]any{"message": message}); got != message {
					t.Errorf("after the fault: got %q, want %q", got, message)
				}
			}
		})
	}
}
