package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// sdkSession connects the Go SDK's own client.
func sdkSession(t *testing.T, url string, era testkit.Era, opts *mcp.ClientOptions) (context.Context, *mcp.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	httpClient := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(httpClient.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: httpClient},
		&mcp.ClientSessionOptions{ProtocolVersion: era.Version()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != era.Version() {
		t.Fatalf("negotiated %s, want %s", got, era.Version())
	}
	return ctx, session
}

func TestGoSDKServerWithItsOwnClient(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			progress := make(chan float64, 2)
			ctx, session := sdkSession(t, goServer(t, era), era, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					progress <- req.Params.Progress
				},
			})
			type outcome struct {
				Text       string
				Structured any
				IsError    bool
			}
			for _, test := range []struct {
				tool string
				args map[string]any
				want outcome
			}{
				{toolEcho, map[string]any{"message": "m"}, outcome{`{"message":"m"}`, map[string]any{"message": "m"}, false}},
				{toolAdd, map[string]any{"a": 1, "b": 2}, outcome{`{"sum":3}`, map[string]any{"sum": 3.0}, false}},
				{toolFail, nil, outcome{failText, nil, true}},
				{toolLeak, nil, outcome{faults.LeakText, nil, true}},
				{toolSlow, map[string]any{"ms": 1}, outcome{"done", nil, false}},
				{toolOrder, map[string]any{"reference": "A", "amount": 1}, outcome{"order A created", nil, false}},
			} {
				res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: test.tool, Arguments: test.args})
				if err != nil {
					t.Fatalf("%s: %v", test.tool, err)
				}
				got := outcome{firstText(res), res.StructuredContent, res.IsError}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.tool, diff)
				}
			}
			res, err := session.CallTool(ctx, &mcp.CallToolParams{
				Name: toolOrder, Arguments: map[string]any{"reference": "", "amount": 0},
			})
			if err != nil || !res.IsError || !strings.Contains(firstText(res), "validating") {
				t.Errorf("order with bad arguments: %+v, %v", res, err)
			}
			call := &mcp.CallToolParams{Name: toolProgress, Arguments: map[string]any{"count": 2}}
			call.SetProgressToken("p")
			if _, err := session.CallTool(ctx, call); err != nil {
				t.Fatal(err)
			}
			if first, second := <-progress, <-progress; first != 1 || second != 2 {
				t.Errorf("progress %v, %v", first, second)
			}
		})
	}
}

// firstText returns the text of a result's first block.
func firstText(res *mcp.CallToolResult) string {
	if len(res.Content) == 0 {
		return ""
	}
	return textOf(res.Content[0])
}

// A real client accepts the testkit's server as long as that has no faults: otherwise its faults would prove nothing.
func TestServerSatisfiesTheGoSDKClient(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithForm(testkit.SSE))
			changed := make(chan struct{}, 1)
			ctx, session := sdkSession(t, srv.URL(), era, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
			})
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: testkit.GetField, Arguments: map[string]any{"field_id": "F-1"}})
			if err != nil || !strings.Contains(firstText(res), `"F-1"`) {
				t.Errorf("get_field: %+v, %v", res, err)
			}
			res, err = session.CallTool(ctx, &mcp.CallToolParams{Name: testkit.Ask})
			if err != nil || !strings.Contains(firstText(res), "Ada") {
				t.Errorf("ask: %+v, %v", res, err)
			}
			if err := srv.Await(ctx, func() bool { return srv.Streams() == 1 }); err != nil {
				t.Fatal(err)
			}
			srv.SetTools(testkit.Tool{Name: "fresh"})
			<-changed
			tools, err := session.ListTools(ctx, nil)
			if err != nil || tools.Tools[len(tools.Tools)-1].Name != "fresh" {
				t.Errorf("tools/list: %+v, %v", tools, err)
			}
		})
	}
}
