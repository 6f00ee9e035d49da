package mcpgotool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/mcpgotool"
	"github.com/recoursehq/recourse/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = mcptool.WithLogger(slog.New(slog.DiscardHandler))

func builtin(tb testing.TB, name string) *contract.Contract {
	tb.Helper()
	c, ok := contract.Builtin().Get(name)
	if !ok {
		tb.Fatalf("no contract %s", name)
	}
	return c
}

// farm has one tool for each way to fail.
func farm() *server.MCPServer {
	s := server.NewMCPServer("farm", "1.0.0", server.WithResourceCapabilities(false, false), server.WithPromptCapabilities(false))
	add := func(name string, h server.ToolHandlerFunc, options ...mcp.ToolOption) {
		s.AddTool(mcp.NewTool(name, append([]mcp.ToolOption{mcp.WithString("field_id", mcp.Required()), mcp.WithNumber("years")}, options...)...), h)
	}
	fails := func(err error) server.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
	}
	add("get_field", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("field_id", "") + ": North field"), nil
	}, mcp.WithReadOnlyHintAnnotation(true))
	add("not_found", fails(fmt.Errorf("look up: %w", recourse.NotFound("field", "F-9"))))
	add("plain", fails(errors.New("pq: password authentication failed for postgres://farm:s3cr3t@db/fields")))
	add("plain_read", fails(errors.New("pq: deadlock")), mcp.WithReadOnlyHintAnnotation(true))
	add("panics", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("no field") })
	add("ad_hoc", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("The season is over."), nil
	}, mcp.WithReadOnlyHintAnnotation(true))
	add("deaf", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("asks", fails(&recourse.NeedsInput{Message: "Which field?", Fields: []string{"field_id"}}), mcp.WithString("format"))
	s.AddResource(mcp.NewResource("farm://map", "map"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		panic("no map")
	})
	s.AddResource(mcp.NewResource("farm://list", "list"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "farm://list", Text: "F-1"}}, nil
	})
	s.AddPrompt(mcp.NewPrompt("plan"), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, errors.New("secret")
	})
	return s
}

// dial connects a client to s over HTTP.
func dial(t *testing.T, s *server.MCPServer, era testkit.Era) *testkit.Client {
	t.Helper()
	srv := httptest.NewServer(server.NewStreamableHTTPServer(s))
	t.Cleanup(srv.Close)
	client := testkit.NewClient(t, srv.URL+"/mcp", era)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

func record(t *testing.T, result testkit.ToolResult) *recourse.Error {
	t.Helper()
	e := new(recourse.Error)
	if err := json.Unmarshal(result.Meta[recourse.MetaKey], e); err != nil {
		t.Fatalf("no record in _meta: %v: %+v", err, result)
	}
	return e
}

func TestFailures(t *testing.T) {
	t.Parallel()

	const good = `{"field_id":"F-1"}`
	const none, unknown = recourse.EffectNone, recourse.EffectUnknown
	tests := []struct {
		tool, arguments string
		kind            recourse.Kind
		message         string
		origin          recourse.Origin
		effect          recourse.Effect
	}{
		{"not_found", good, recourse.KindNotFound, `There is no field "F-9".`, recourse.OriginServer, none},
		{"plain", good, recourse.KindInternal, recourse.KindInternal.Sentence(), recourse.OriginServer, unknown},
		{"plain_read", good, recourse.KindInternal, recourse.KindInternal.Sentence(), recourse.OriginServer, none},
		{"panics", good, recourse.KindInternal, recourse.KindInternal.Sentence(), recourse.OriginServer, unknown},
		{"ad_hoc", good, recourse.KindUnknown, "The season is over.", recourse.OriginServer, none},
		{"deaf", good, recourse.KindTimeout, "The tool did not finish within 40 ms.", recourse.OriginServer, unknown},
		{"get_field", `{"years":"many"}`, recourse.KindMissingParam, "field_id is required; years must be a number.", recourse.OriginCaller, none},
	}
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			s := farm()
			mcpgotool.Use(s, contract.MustBuiltin(contract.Default), quiet, mcptool.WithTool("deaf", mcptool.WithTimeout(40*time.Millisecond)))
			client := dial(t, s, era)
			client.Header = map[string][]string{"X-Request-Id": {"abc-1"}}
			call := func(tool, arguments string) testkit.ToolResult {
				t.Helper()
				a, err := client.Call(t.Context(), tool, arguments)
				if err != nil {
					t.Fatal(err)
				}
				result, err := a.ToolResult()
				if err != nil {
					t.Fatalf("%v: %s", err, a.Body)
				}
				return result
			}
			for _, test := range tests {
				result := call(test.tool, test.arguments)
				e := record(t, result)
				got := []any{e.Kind, e.Message, e.Origin, e.Effect, e.RequestID}
				if diff := cmp.Diff([]any{test.kind, test.message, test.origin, test.effect, "abc-1"}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.tool, diff)
				}
				if !result.IsError || (result.ResultType == "complete") != (era == testkit.Modern) || strings.Contains(result.Text(), "s3cr3t") {
					t.Errorf("%s: %+v", test.tool, result)
				}
			}
			if result := call("get_field", good); result.IsError || result.Text() != "F-1: North field" {
				t.Errorf("success: %+v", result)
			}
			request := func(method, member, name string) (*testkit.Answer, error) {
				if era == testkit.Modern {
					client.Header.Set("Mcp-Name", name)
				}
				return client.Request(t.Context(), method, fmt.Sprintf(`{%q:%q}`, member, name))
			}
			for _, r := range [][3]string{{"resources/read", "uri", "farm://map"}, {"prompts/get", "name", "plan"}} {
				a, err := request(r[0], r[1], r[2])
				if err != nil || a.Message == nil || a.Message.Error == nil || !strings.HasPrefix(a.Message.Error.Message, recourse.KindInternal.Sentence()) {
					t.Errorf("%s: %v: %s", r[0], err, a.Body)
				}
			}
			if a, err := request("resources/read", "uri", "farm://list"); err != nil || !strings.Contains(string(a.Body), "F-1") {
				t.Errorf("a resource: %v: %s", err, a.Body)
			}
		})
	}
}

// Text and record arrive in every contract, even if its layout needs more than the SDK can write.
func TestContracts(t *testing.T) {
	t.Parallel()

	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := server.NewMCPServer("farm", "1.0.0")
			s.AddTool(mcp.NewTool("fail", mcp.WithString("kind", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, sample(recourse.Kind(r.GetString("kind", "")))
			})
			mcpgotool.Use(s, c, quiet, mcptool.WithTool("fail", mcptool.WithNature(retry.Writes)))
			client := dial(t, s, testkit.Legacy)
			for _, kind := range recourse.Kinds() {
				arguments := `{"kind":"` + string(kind) + `"}`
				a, err := client.Call(t.Context(), "fail", arguments)
				if err != nil {
					t.Fatal(err)
				}
				result, err := a.ToolResult()
				if err != nil {
					t.Fatalf("%s: %v: %s", kind, err, a.Body)
				}
				want := c.Write(sample(kind), &contract.Call{
					Method: "tools/call", Tool: "fail", Arguments: []byte(arguments), At: contract.AtTool,
					HasTool: func(name string) bool { return name == "fail" },
				})
				text := want.Message
				if want.Surface == contract.SurfaceResult {
					var r testkit.ToolResult
					if err := json.Unmarshal(want.Result, &r); err != nil {
						t.Fatal(err)
					}
					text = r.Text()
				}
				if diff := cmp.Diff(text, result.Text()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", kind, diff)
				}
				if diff := cmp.Diff(want.Record.Code, record(t, result).Code); diff != "" {
					t.Errorf("%s: code (-want +got):\n%s", kind, diff)
				}
			}
			a, err := client.Call(t.Context(), "fail", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if result, err := a.ToolResult(); err != nil || record(t, result).Kind != recourse.KindMissingParam {
				t.Errorf("wrong arguments: %v: %s", err, a.Body)
			}
		})
	}
}

func sample(kind recourse.Kind) *recourse.Error {
	return recourse.New(kind, "It failed.").WithHint("Look elsewhere.").WithEffect(recourse.EffectNone).WithEffectBasis(recourse.BasisKnown).
		WithOrigin(recourse.OriginProvider).WithRequestID("req-1")
}

// A call that is made once is replayed; a question that the SDK writes frees its key.
func TestOnce(t *testing.T) {
	t.Parallel()
	n, asks := 0, true
	s := server.NewMCPServer("bank", "1.0.0")
	s.AddTool(mcp.NewTool("pay", mcp.WithString("reference")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if asks {
			asks = false
			return nil, mcp.URLElicitationRequiredError{}
		}
		n++
		return mcp.NewToolResultText(fmt.Sprintf("payment %d", n)), nil
	})
	mcpgotool.Use(s, builtin(t, contract.Default), quiet, mcptool.WithTool("pay", mcptool.WithOnce(mcptool.Once{})))
	c := dial(t, s, testkit.Legacy)
	pay := func(key string) string {
		t.Helper()
		a, err := c.Request(t.Context(), "tools/call", `{"name":"pay","arguments":{"reference":"A-17"},"_meta":{"idempotency-key":"`+key+`"}}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Body)
	}
	question := pay("k-1") // has no effect
	first, again, other := pay("k-1"), pay("k-1"), pay("k-2")
	if strings.Contains(question, "payment") || !strings.Contains(first, "payment 1") || strings.Contains(first, "replayed") ||
		!strings.Contains(again, "payment 1") || !strings.Contains(again, `"replayed":true`) || !strings.Contains(other, "payment 2") {
		t.Errorf("got %s, then %s, %s and %s", question, first, again, other)
	}
}

// On stdio, with the Go SDK's client.
func TestStdio(t *testing.T) {
	t.Parallel()

	s := farm()
	mcpgotool.Use(s, builtin(t, "fieldmcp"), quiet)
	toServer, fromClient := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { _ = server.NewStdioServer(s).Listen(ctx, toServer, toClient) })
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "not_found", Arguments: map[string]any{"field_id": "F-9"}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := result.Content[0].(*sdk.TextContent)
	if !result.IsError || !strings.Contains(text.Text, `"code":"FIELD_NOT_FOUND"`) {
		t.Errorf("%s", text.Text)
	}
	_ = session.Close()
	_ = fromClient.Close()
	cancel()
	_ = toServer.Close()
	ended.Wait()
	_ = toClient.Close()
}

func ExampleUse() {
	s := server.NewMCPServer("farm", "1.0.0")
	s.AddTool(mcp.NewTool("get_field"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, recourse.NotFound("field", "F-9")
	})
	mcpgotool.Use(s, contract.MustBuiltin(contract.Default), quiet)

	answer := s.HandleMessage(context.Background(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_field"}}`))
	response, _ := answer.(mcp.JSONRPCResponse)
	result, _ := response.Result.(*mcp.CallToolResult)
	text, _ := result.Content[0].(mcp.TextContent)
	fmt.Println(text.Text)
	// Output:
	// [not_found] There is no field "F-9".
	// Nothing was changed. Look for a valid identifier, then call again with it.
}
