// Package testkit is what the tests, the benchmark and the demonstration of Recourse stand on: an MCP server that
// fails on request ([NewServer]), a client that shows every byte it gets ([NewClient]), and real servers and clients
// built with the Go SDK, with mcp-go and with the TypeScript SDKs.
//
// It imports nothing of Recourse, so that a mistake in the code under test cannot hide behind the same mistake here.
// All traffic stays on the loopback interface. Everything that is started belongs to a test and ends with it: Close
// waits until the last goroutine and connection are gone, so that a leak which goleak reports is one of the code under
// test.
package testkit
