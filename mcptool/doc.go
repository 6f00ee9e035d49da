// Package mcptool makes the failures of an MCP server that is written with the Go
// SDK a contract. Its author adopts one in three lines,
//
//	server := mcp.NewServer(implementation, nil)
//	fieldmcp := contract.Builtin().MustGet("fieldmcp")
//	mcptool.Use(server, fieldmcp)
//
// and returns ordinary Go errors from the handlers of tools:
//
//	return recourse.NotFound("field", id)
//	return recourse.Unavailable("John Deere").CausedBy(err)
//	return err // whatever it is: nothing of it is revealed
//
// What is between server and client follows from that. The arguments of a call are
// checked against the tool's inputSchema, and every violation is told at once. A
// tool that does not exist is answered with the nearest name. A panic ends the
// call and not the process. A deadline is kept. Each failure is written in the
// contract's form, says who failed and whether anything was changed, carries the
// request's id and the record in _meta, and is one line in the log, with its
// private cause. Successes are not touched.
//
// A tool's annotations say what it does to the world: set ReadOnlyHint and
// IdempotentHint, since a failed call of a tool that writes may have had its
// effect. WithTool says more about single tools.
//
// [Transport] makes failures of an http.Client such errors, and [Guard] writes
// what fails before a call comes to the server: credentials, users, limits. [Stdio]
// answers lines that are no messages, which end the SDK's own transport.
// Package mcpgotool does the same as Use for servers that are made with mcp-go.
//
// # The SDK
//
// Middleware that was added before Use runs inside: a tools/list of Use's own comes
// past it, so that a list which it filters by caller is the one that counts. A
// typed tool that returns a result with both IsError and StructuredContent has the
// latter replaced by the SDK: return an error, or add the tool with [AddTool]. A
// method that the SDK does not know is answered in its own words: with the JSON-RPC
// error -32601, and to clients of the legacy era over HTTP with the status 400 and a
// line of text. Integers beyond 2^53 do not survive as ids and progress tokens: [Guard]
// and [Stdio] carry them through it as strings.
package mcptool
