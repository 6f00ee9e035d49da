// Package many makes several servers look like one. A [Conn] is an [upstream.Connection] of the modern
// era on top of the connections to its servers; clients of the legacy era reach it through the bridge,
// like any other server.
//
// # The way of a request
//
//	Conn.Do         conn.go     dispatches by method
//	Conn.named      names.go    a tool or prompt: finds the server by the name, and passes the request on
//	Conn.read       resource.go a resource: finds the server by the URI
//	Conn.list       list.go     asks all servers at once and merges what they list
//	Conn.discover   discover.go does the same with their capabilities
//	Conn.listen     listen.go   passes the notifications of all servers on to the client
//
// The last list of each server is kept (kept.go, file.go): it replaces the list of a server that is
// away or slow, and shows which of two servers has a tool. Answers pass unchanged.
package many
