package studies_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// A study's id is an alias or a UUID. Anything else is refused without a request to the service, which would refuse the
// token instead.
func FuzzID(f *testing.F) {
	for _, id := range []string{"s-1", "s-5", "s-01", "w-1", "S-1", "s-1 ", "s-", "5d2c9e1a-7b40-4f6e-9a31-000000000004", "../s-1", "tp-1"} {
		f.Add(id)
	}
	s, err := studies.New(studies.Options{Token: "old", Logger: systemtest.Quiet()})
	if err != nil {
		f.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	session, err := s.MCPServer().Connect(context.Background(), there, nil)
	if err != nil {
		f.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "fuzz", Version: "1"}, nil).Connect(context.Background(), here, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = client.Close()
		_ = session.Wait()
		_ = s.Close()
	})
	known := regexp.MustCompile(`^(s-[1-5]|(?i:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}))$`)
	f.Fuzz(func(t *testing.T, id string) {
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "study_delete", Arguments: map[string]any{"study_id": id}})
		if err != nil {
			t.Fatal(err)
		}
		text, ok := result.Content[0].(*mcp.TextContent)
		if !ok || !result.IsError {
			t.Fatalf("%q: %+v", id, result)
		}
		want := "[validation_error] "
		if known.MatchString(id) {
			want = "[auth_failed] "
		}
		if !strings.HasPrefix(text.Text, want) {
			t.Errorf("%q: %s, want %s", id, text.Text, want)
		}
	})
}
