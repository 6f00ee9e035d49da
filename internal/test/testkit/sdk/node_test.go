package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A recorder is a test that records how it ends.
type recorder struct {
	testing.TB

	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.ended = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestNodeNamesMissingParts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	withNode := t.TempDir() // with a node that is never run, so that this machine needs none
	for _, name := range []string{"node", "node.exe"} {
		if err := os.WriteFile(filepath.Join(withNode, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ ci, path, want, names string }{
		{"", withNode, "skipped: ", "npm packages in .tools/node"},
		{"true", withNode, "failed: ", "npm packages in .tools/node"},
		{"", dir, "skipped: ", "node is not installed"},
		{"true", dir, "failed: ", "node is not installed"},
	} {
		t.Setenv("CI", test.ci)
		t.Setenv("PATH", test.path)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			sdk.Node(r)
		}()
		<-done
		if !strings.HasPrefix(r.ended, test.want) || !strings.Contains(r.ended, test.names) {
			t.Errorf("CI=%q: %q, want %q with %q in it", test.ci, r.ended, test.want, test.names)
		}
	}
}

func tsConnected(t *testing.T, typescript sdk.TypeScript, opts sdk.TSConnect) (context.Context, *sdk.TSClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*within)
	t.Cleanup(cancel)
	client := sdk.NewTSClient(t, typescript)
	info, err := client.Connect(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(info), opts.Era.Version()) {
		t.Fatalf("connected with %s, want version %s", info, opts.Era.Version())
	}
	return ctx, client
}

func TestTypeScriptClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		sdk  sdk.TypeScript
		opts sdk.TSConnect
		// The SDK's errors for a JSON-RPC error, a 503, a timeout and an unreachable server.
		rpc, unavailable, timeout string
	}{
		{"v1, legacy era", sdk.TSv1, sdk.TSConnect{Era: testkit.Legacy}, "McpError", "StreamableHTTPError", "McpError"},
		{"v2, legacy era", sdk.TSv2, sdk.TSConnect{Era: testkit.Legacy}, "ProtocolError", "SdkHttpError", "SdkError"},
		{"v2, modern era", sdk.TSv2, sdk.TSConnect{Era: testkit.Modern}, "ProtocolError", "SdkHttpError", "SdkError"},
		{"v2, negotiated", sdk.TSv2, sdk.TSConnect{Era: testkit.Modern, Negotiate: true}, "ProtocolError", "SdkHttpError", "SdkError"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			test.opts.URL = srv.URL()
			test.opts.Headers = map[string]string{"X-Test": "yes"}
			ctx, client := tsConnected(t, test.sdk, test.opts)

			list, err := client.ListTools(ctx)
			if err != nil || !strings.Contains(string(list), testkit.OrderCreate) {
				t.Errorf("listTools: %s, %v", list, err)
			}
			res, err := client.CallTool(ctx, testkit.GetField, `{"field_id":"F-1"}`, 0)
			if err != nil || !strings.Contains(string(res), "F-1") {
				t.Errorf("callTool: %s, %v", res, err)
			}
			if got := srv.Calls(testkit.GetField)[0].Header.Get("X-Test"); got != "yes" {
				t.Errorf("X-Test: %q", got)
			}
			res, err = client.CallTool(ctx, testkit.Ask, "", 0)
			if err != nil || !strings.Contains(string(res), "Ada") {
				t.Errorf("ask: %s, %v", res, err)
			}
			res, err = client.Request(ctx, "x/invented", `{"a":1}`)
			if err != nil || !strings.Contains(string(res), "x-invented") {
				t.Errorf("x/invented: %s, %v", res, err)
			}
			if err := client.Notify(ctx, "notifications/x", `{}`); err != nil {
				t.Errorf("notifications/x: %v", err)
			}

			srv.Next(testkit.GetField, faults.RetryableError(),
				faults.Status(http.StatusServiceUnavailable, faults.Plain), faults.Hang())
			_, err = client.CallTool(ctx, testkit.GetField, `{"field_id":"F-1"}`, 0)
			var thrown *sdk.TSError
			if !errors.As(err, &thrown) || thrown.Class != test.rpc || thrown.Code != "-32603" ||
				!strings.Contains(string(thrown.Data), "1500") {
				t.Errorf("JSON-RPC error: %v", err)
			}
			_, err = client.CallTool(ctx, testkit.GetField, `{"field_id":"F-1"}`, 0)
			if !errors.As(err, &thrown) || thrown.Class != test.unavailable {
				t.Errorf("503: %v", err)
			}
			_, err = client.CallTool(ctx, testkit.GetField, `{"field_id":"F-1"}`, 100*time.Millisecond)
			if !errors.As(err, &thrown) || thrown.Class != test.timeout {
				t.Errorf("timeout: %v", err)
			}
			if err := client.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTypeScriptClientWithoutAServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	client := sdk.NewTSClient(t, sdk.TSv1)
	var thrown *sdk.TSError
	if _, err := client.ListTools(ctx); !errors.As(err, &thrown) || thrown.Message != "not connected" {
		t.Errorf("before connecting: %v", err)
	}
	if _, err := client.Connect(ctx, sdk.TSConnect{URL: "http://127.0.0.1:1/mcp"}); !errors.As(err, &thrown) {
		t.Errorf("connect without a server: %v", err)
	}
}

func TestEverythingOverLoopback(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*within)
	defer cancel()
	client := testkit.NewClient(t, sdk.Everything(t), testkit.Legacy)
	if _, err := client.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	text := func(tool, arguments string) string {
		answer, err := client.Call(ctx, tool, arguments)
		if err != nil {
			t.Fatal(err)
		}
		result, err := answer.ToolResult()
		if err != nil {
			t.Fatal(err)
		}
		return result.Text()
	}
	if got := text("echo", `{"message":"m"}`); got != "Echo: m" {
		t.Errorf("echo: %q", got)
	}
	var env map[string]string
	if err := json.Unmarshal([]byte(text("get-env", `{}`)), &env); err != nil {
		t.Fatal(err)
	}
	if _, leaked := env["HOME"]; leaked || env["PORT"] != "0" {
		t.Errorf("the server's environment: %v", env)
	}
}
