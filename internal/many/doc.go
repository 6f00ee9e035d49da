// Package many is several servers as one. A [Conn] is an [upstream.Connection] of the modern era over the
// connections to its servers; the bridge lets clients of the legacy era reach it like any other.
//
// # The way of a request
//
//	Conn.Do         conn.go     takes it by its method
//	Conn.named      names.go    a tool or prompt: finds the server by the name, and passes the request on
//	Conn.read       resource.go a resource: finds the server by the URI
//	Conn.list       list.go     asks all servers at once and merges what they list
//	Conn.discover   discover.go does so with what they can do
//	Conn.listen     listen.go   has all servers tell the client what changes
//
// What a server has listed last is kept (kept.go, file.go): it stands in for a server that is away or slow, and
// tells which of two servers has a tool. An answer passes as it is.
package many
