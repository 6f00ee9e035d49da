package mcptool_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

const siloFamily = `form: 1
family: silo
title: The silo
sources: ["https://silo.example.com"]
texts:
- {kind: conflict, text: "Rate exceeded"}
- {kind: rate_limited, weak: true, text: "the silo is busy, come back in {after}"}
examples:
- {text: "Rate exceeded", kind: conflict}
`

// A system's failures that a handler passes on, with or without isError, are read in the forms of the families that the
// author names.
func TestReads(t *testing.T) {
	t.Parallel()
	own, err := contract.LoadFamily("silo.yaml", []byte(siloFamily))
	if err != nil {
		t.Fatal(err)
	}
	const busy, rate = "the silo is busy, come back in 2 minutes", "ThrottlingException: Rate exceeded"
	reads, nothing := mcptool.WithFamilies(own), mcptool.WithFamilies()
	for _, tt := range []struct {
		name    string
		options []mcptool.Option
		text    string
		isError bool
		want    recourse.Kind // "" means success
		after   time.Duration
	}{
		{"a family's text", []mcptool.Option{reads}, rate, true, recourse.KindConflict, 0},
		{"without the family", nil, rate, true, recourse.KindRateLimited, 0},
		{"unmarked", []mcptool.Option{reads}, busy, false, recourse.KindRateLimited, 2 * time.Minute},
		{"unmarked, without the family", []mcptool.Option{nothing}, busy, false, "", 0},
		{"unmarked, and more", []mcptool.Option{reads}, "He says: " + busy, false, "", 0},
		{"unmarked, of one tool", []mcptool.Option{mcptool.WithTool("look", reads)}, busy, false, recourse.KindRateLimited, 2 * time.Minute},
		{"unmarked, of another tool", []mcptool.Option{mcptool.WithTool("other", reads)}, busy, false, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "silo", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "look", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: tt.text}}, IsError: tt.isError}, nil
				})
			mcptool.Use(server, contract.MustBuiltin(contract.Default), append(tt.options, mcptool.WithLogger((&journal{}).logger()))...)
			answer := dialHTTP(t, serve(t, server, testkit.Legacy), testkit.Legacy).call(t, "look", `{}`)
			if tt.want == "" {
				if text := answer.result(t).Text(); text != tt.text {
					t.Errorf("got %q, want it unchanged", text)
				}
				return
			}
			if e := answer.record(t); e.Kind != tt.want || e.RetryAfter != tt.after {
				t.Errorf("%s after %s, want %s after %s", e.Kind, e.RetryAfter, tt.want, tt.after)
			}
		})
	}
}
