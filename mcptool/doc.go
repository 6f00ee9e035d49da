// Package mcptool gives an MCP server that is built with the Go SDK an error contract. Its
// author adopts one in three lines,
//
//	server := mcp.NewServer(implementation, nil)
//	fieldmcp := contract.MustBuiltin("fieldmcp")
//	mcptool.Use(server, fieldmcp)
//
// and returns ordinary Go errors from the handlers of tools:
//
//	return recourse.NotFound("field", id)
//	return recourse.Unavailable("John Deere").CausedBy(err)
//	return err // whatever it is: its text is not revealed
//
// [Use] does the rest. The arguments of a call are checked against the tool's inputSchema,
// and every violation is reported at once. For a tool that does not exist, the nearest name
// is suggested. A panic ends the call and not the process. Timeouts are kept
// ([WithTimeout]). Each failure is written in the contract's form, says who failed and
// whether anything was changed, and carries the request's id and the record in _meta. It is
// one line in the log, with its private cause. Successes are not touched.
//
// A tool's annotations say what it does to the world: set ReadOnlyHint and IdempotentHint,
// since a failed call of a tool that writes may have taken effect. [WithTool] says more
// about single tools.
//
// [Transport] turns the failures of an http.Client into such errors. [Guard] writes what
// fails before a call reaches the server: credentials, users, limits. [Stdio] answers lines
// that are not messages, which end the SDK's own transport. Package mcpgotool does what Use
// does for servers that are built with mcp-go.
//
// # The way of a call
//
//	client
//	  |  ^
//	  v  |     Guard     over HTTP: path, credentials, user, limits; refuses in the contract's form
//	the SDK    Stdio     on stdio: lines that are not messages
//	  |  ^
//	  v  |     Use       tool, arguments, limits; then runs the handler within its timeout
//	handler              of the tool: returns a result, which passes unchanged, or an error
//
// An error becomes a [recourse.Error], is logged, and is written by [contract.Contract.Write].
//
// # The SDK
//
//   - Middleware that was added before Use runs inside of it. If it filters tools/list by
//     caller, Use goes by the filtered list.
//   - If a typed tool returns a result with both IsError and StructuredContent, the SDK
//     replaces the latter: return an error, or add the tool with [AddTool].
//   - A method that the SDK does not know is answered by the SDK: with the JSON-RPC error
//     -32601 or, to clients of the legacy era over HTTP, with status 400 and a line of text.
//     A Guard replaces the latter.
//   - Integers beyond 2^53 do not survive as ids and progress tokens: [Guard] and [Stdio]
//     carry them through the SDK as strings.
package mcptool
