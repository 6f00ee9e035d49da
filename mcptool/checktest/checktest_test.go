package checktest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/checktest"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB

	failed []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a check, and returns how it failed.
func run(t *testing.T, s *mcp.Server, options ...checktest.Option) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		checktest.Run(r, s, options...)
	}()
	<-done
	return r.failed
}

type orderArgs struct {
	OrderID string `json:"order_id"`
}

// orders is a server with a tool that reads, and answers to everything with what the handler makes of it.
func orders(get func(id string) (*mcp.CallToolResult, error)) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "order_get", Description: "Reads an order.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, args orderArgs) (*mcp.CallToolResult, any, error) {
			result, err := get(args.OrderID)
			return result, nil, err
		})
	return s
}

// A server that tells what it does not find passes.
func TestGood(t *testing.T) {
	t.Parallel()
	s := orders(func(id string) (*mcp.CallToolResult, error) { return nil, recourse.NotFound("order", id) })
	mcptool.Use(s, contract.MustBuiltin(contract.Default), mcptool.WithLogger(slog.New(slog.DiscardHandler)))
	checktest.Run(t, s)
}

// One that reports success for what cannot exist fails, with the rule and what mends it; a baseline lets it pass.
func TestBad(t *testing.T) {
	t.Parallel()
	s := orders(func(string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "[]"}}}, nil
	})
	failed := run(t, s)
	if len(failed) != 1 || !strings.Contains(failed[0], "(absent-told, hides)") || !strings.Contains(failed[0], "mend: ") {
		t.Errorf("%q", failed)
	}
	file := filepath.Join(t.TempDir(), "known.yaml")
	text := "known:\n- {rule: absent-told, tool: order_get, reason: it is a list}\n- {rule: unknown-tool, reason: it was so}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := run(t, s, checktest.Baseline(file)); len(failed) != 1 || !strings.Contains(failed[0], "unknown-tool is mended") {
		t.Errorf("with a baseline: %q", failed)
	}
	if failed := run(t, s, checktest.FailOn("harm")); len(failed) != 1 || !strings.Contains(failed[0], `there is no harm "harm"`) {
		t.Errorf("%q", failed)
	}
}
