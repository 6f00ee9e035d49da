// Package e2e holds tests that put the gateway between real MCP clients and real MCP servers, and assert what the
// client's program gets: what its SDK returns or throws, and not what went over the wire. It has no code of its own.
//
// The clients are the Go SDK's and those of both TypeScript SDKs, the servers are built with the Go SDK, with mcp-go
// and with the TypeScript SDK; where something has to fail in a certain way, the server is the testkit's.
// The official conformance suite is a client too: what it finds is the same with the gateway and without.
//
// docs/clients.md is written from the table of these tests.
package e2e
