package recovery_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/recovery"
)

// An agent calls a tool whose server is overloaded at first. The client waits as long as the server asks it to, and calls again.
func ExampleNew() {
	own, calls := contract.MustBuiltin(contract.Default), 0
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_field"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			if calls++; calls == 1 {
				return nil, nil, recourse.RateLimited(10 * time.Millisecond)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "40 ha"}}}, nil, nil
		})
	mcptool.Use(server, own)

	session := connected(server) // by the Go SDK
	client := recovery.New(session, own)
	result, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_field"})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := result.Content[0].MarshalJSON()
	fmt.Println(string(text), "after", calls, "calls")
	// Output: {"type":"text","text":"40 ha"} after 2 calls
}

// connected returns a client's session with a server, in memory.
func connected(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	return session
}
