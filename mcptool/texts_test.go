package mcptool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

// While a server is being converted, its errors keep their texts, except what clients must not see.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options []mcptool.Option
		tool    string
		want    string // in the text
		never   string
		kind    recourse.Kind
	}{
		{"hidden by default", nil, "plain_read", "[internal] An internal error occurred", "deadlock", recourse.KindInternal},
		{"told", []mcptool.Option{mcptool.WithErrorTexts(true)}, "plain_read", "[internal] pq: deadlock", "internal error", recourse.KindInternal},
		{"masked", []mcptool.Option{mcptool.WithErrorTexts(true)}, "plain", "[internal] pq: password authentication failed for ", "s3cr3t", recourse.KindInternal},
		{"with the error's own kind", []mcptool.Option{mcptool.WithErrorTexts(true)}, "deadline", "[timeout] query: context deadline exceeded", "internal", recourse.KindTimeout},
		{"a failure keeps its sentence", []mcptool.Option{mcptool.WithErrorTexts(true)}, "not_found", "[not_found] ", "look up", recourse.KindNotFound},
		{"a panic stays hidden", []mcptool.Option{mcptool.WithErrorTexts(true)}, "panics", "[internal] An internal error occurred", "index out of range", recourse.KindInternal},
		{"for one tool", []mcptool.Option{mcptool.WithTool("plain_read", mcptool.WithErrorTexts(true))}, "plain_read", "pq: deadlock", "internal error", recourse.KindInternal},
		{
			"not for one tool",
			[]mcptool.Option{mcptool.WithErrorTexts(true), mcptool.WithTool("plain_read", mcptool.WithErrorTexts(false))},
			"plain_read", "An internal error occurred", "deadlock", recourse.KindInternal,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := farm()
			mcptool.Use(server, contract.MustBuiltin(contract.Default), append(tt.options, mcptool.WithLogger((&journal{}).logger()))...)
			answer := dialHTTP(t, serve(t, server, testkit.Legacy), testkit.Legacy).call(t, tt.tool, `{"field_id":"F-1"}`)
			text := answer.result(t).Text()
			if !strings.Contains(text, tt.want) || strings.Contains(text, tt.never) {
				t.Errorf("%q, want %q and not %q", text, tt.want, tt.never)
			}
			if kind := answer.record(t).Kind; kind != tt.kind {
				t.Errorf("kind %s, want %s", kind, tt.kind)
			}
		})
	}
}

// Parts of failures that a contract hides are masked in an author's own record, too.
func TestOwnRecordIsMasked(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"commerce": false, "recourse": true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "get-orders"}, fails(recourse.NotFound("customer", "C-1").With(func(e *recourse.Error) {
			e.Message = "There is no order of jane.doe@shop.example, whose phone is +1 415 555 0132."
			e.Hints = []string{"Ask jane.doe@shop.example."}
		})))
		mcptool.Use(server, builtin(t, name), mcptool.WithLogger((&journal{}).logger()))
		answer := dialHTTP(t, serve(t, server, testkit.Legacy), testkit.Legacy).call(t, "get-orders", `{"field_id":"F-1"}`)
		raw, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		body := string(raw)
		if !strings.Contains(body, "There is no order of ") {
			t.Errorf("%s: %s, want the author's sentence", name, body)
		}
		for _, person := range []string{"jane.doe@shop.example", "415 555 0132"} {
			if got := strings.Contains(body, person); got != want {
				t.Errorf("%s: shows %q: %t, want %t: %s", name, person, got, want, body)
			}
		}
	}
}
