package mcptool_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/retry"
)

// The Go SDK's own client behind a Guard, in both eras, with answers that stream.
func TestClientBehindGuard(t *testing.T) {
	t.Parallel()

	for name, stateless := range map[string]bool{"legacy era": false, "modern era": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := farm()
			mcp.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, req *mcp.CallToolRequest, _ fieldArgs) (*mcp.CallToolResult, any, error) {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
				return nil, nil, errors.Join(err, recourse.Unavailable("John Deere"))
			})
			commerce := builtin(t, "commerce")
			mcptool.Use(server, commerce, quiet)
			endpoint := listen(t, server, mcptool.Guard(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: stateless}), commerce, quiet,
				mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer a": "org-a"}}),
				mcptool.WithLimiter(mcptool.NewWindows(nil, mcptool.Policy{Name: "window", Limit: 3, Window: 1000 * time.Hour}))))

			progress := make(chan float64, 1)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Progress },
			})
			transport := &http.Transport{}
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer{transport}}, DisableStandaloneSSE: stateless,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer transport.CloseIdleConnections()
			defer session.Close()
			call := func(tool string) (*mcp.CallToolResult, error) {
				params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"field_id": "F-1"}}
				params.SetProgressToken("p")
				return session.CallTool(t.Context(), params)
			}
			if result, err := call("get_field"); err != nil || result.IsError {
				t.Errorf("success: %v, %+v", err, result)
			}
			result, err := call("slow")
			if err != nil || !result.IsError || !strings.Contains(text(result), `"code":4002`) {
				t.Errorf("failure: %v, %+v", err, result)
			}
			if got := <-progress; got != 1 {
				t.Errorf("progress %v", got)
			}
			if result, err = call("get_field"); err != nil || result.IsError {
				t.Errorf("success: %v, %+v", err, result)
			}
			result, err = call("get_field") // the window is used up
			if err != nil || !result.IsError || !strings.Contains(text(result), `"code":3001`) {
				t.Errorf("limit: %v, %+v", err, result)
			}
		})
	}
}

func text(r *mcp.CallToolResult) string {
	block, _ := r.Content[0].(*mcp.TextContent)
	return block.Text
}

// bearer adds the credentials.
type bearer struct{ base http.RoundTripper }

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer a")
	return b.base.RoundTrip(req)
}

// What commerce writes where the SDK's types have no member for it.
func TestCommerceForms(t *testing.T) {
	t.Parallel()

	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := farm()
			mcp.AddTool(server, &mcp.Tool{Name: "create-sales-order"}, fails(recourse.Timeout("The shop", time.Second)))
			mcptool.Use(server, builtin(t, "commerce"), quiet)
			client := w.dial(t, server)

			r := client.call(t, "create-sales-order", `{"years":7}`) // before the tool runs
			if r.Error == nil || r.Error.Code != -32602 || r.Error.Message != "Invalid params: field_id is required; Provide field_id." ||
				!strings.Contains(string(r.Error.Data), `"field":"field_id"`) || strings.Contains(string(r.Error.Data), "7}") {
				t.Errorf("%s %+v", r.Result, r.Error)
			}
			r = client.call(t, "create-sales-order", `{"field_id":"F-1"}`) // in the tool
			var member struct {
				Code      int  `json:"code"`
				Retryable bool `json:"retryable"`
				Details   struct {
					Reason string `json:"reason"`
				} `json:"details"`
			}
			unmarshal(t, memberOf(t, r.Result, "error"), &member)
			if member.Code != 3002 || member.Retryable || member.Details.Reason != "effect_unknown" || !r.result(t).IsError {
				t.Errorf("%s", r.Result)
			}
			unmarshal(t, []byte(r.result(t).Text()), &member)
		})
	}
}

// A tool can have its own contract and nature.
func TestToolOptions(t *testing.T) {
	t.Parallel()

	server := newServer()
	for _, name := range []string{"a", "b", "c"} {
		addTool(server, name, errors.New("pq: deadlock"))
	}
	mcptool.Use(server, builtin(t, "fieldmcp"), quiet, // whose tools only read
		mcptool.WithTool("b", mcptool.WithContract(builtin(t, "recourse"))),
		mcptool.WithTool("b", mcptool.WithNature(retry.Idempotent)),
		mcptool.WithTool("c", mcptool.WithNature(retry.Reads), mcptool.WithContract(builtin(t, "recourse"))))
	client := dialStdio(t, server)
	for tool, want := range map[string][2]string{
		"a": {"INTERNAL_ERROR", "none"}, "b": {"internal", "unknown"}, "c": {"internal", "none"},
	} {
		e := client.call(t, tool, `{}`).record(t)
		if got := [2]string{e.Code, string(e.Effect)}; got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}

// A client that goes away ends the call, and everything that it has started.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()

	var log journal
	server, started, ended := newServer(), make(chan struct{}), make(chan error, 1)
	mcp.AddTool(server, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger()), mcptool.WithTimeout(time.Minute))
	session := connect(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hang"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the client: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler: %v", err)
	}
	_ = session.Close()
	log.Await(t, "kind=cancelled")
}
