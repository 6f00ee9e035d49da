package recovery_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/recovery"
)

// A skippingClock does not wait: the time goes forward.
type skippingClock struct{ skipped atomic.Int64 }

func (c *skippingClock) Now() time.Time { return time.Now().Add(time.Duration(c.skipped.Load())) }

func (c *skippingClock) Sleep(_ context.Context, d time.Duration) error {
	c.skipped.Add(int64(d))
	return nil
}

// What a contract does not know of a failure reaches the caller, as far as the SDK in between has a place for it.
func TestUnknownMembersReachTheCaller(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: srv.URL(), HTTPClient: &http.Client{Transport: recovery.NewMCPTransport(nil)}, DisableStandaloneSSE: true,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			rapid.Check(t, func(t *rapid.T) {
				f := contracttest.MarkedFailures(c.Name).Draw(t, "failure")
				marks := f.Marks
				switch {
				case f.Body != "":
					srv.Always(testkit.GetField, faults.StatusWith("", f.Status, f.Media, f.Body))
				case f.Error != "":
					srv.Always(testkit.GetField, faults.Reply("", `"error":`+f.Error))
				default:
					srv.Always(testkit.GetField, faults.Result("", f.Result))
					marks = passedOn(t, f)
				}
				client := recovery.New(session, c, recovery.WithClock(&skippingClock{}), recovery.WithLogger(slog.New(slog.DiscardHandler)))
				_, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: testkit.GetField, Arguments: map[string]any{"field_id": "f-1"}})
				e, ok := err.(*recourse.Error) //nolint:errorlint // it is what CallTool returns
				if !ok {
					if len(marks) > 0 {
						t.Fatalf("%+v: got %v", f, err)
					}
					return
				}
				got, err := e.WholeJSON()
				if missing := contracttest.Missing(marks, string(got)); err != nil || len(missing) > 0 {
					t.Errorf("%q are lost, %v:\n%+v\n%s", missing, err, f, got)
				}
			})
		})
	}
}

// passedOn returns the marks of a failure for which the SDK has a place.
func passedOn(t *rapid.T, f contracttest.Marked) []string {
	result, err := resultOf(f.Result)
	if err != nil {
		t.Fatal(err)
	}
	passed, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return contracttest.Found(f.Marks, string(passed))
}
