// Package http1 serves and sends simple HTTP/1.1 messages with less work than net/http, and leaves
// everything else to net/http.
//
// [Transport] sends a POST with a short body over plain HTTP on the caller's goroutine. [Server]
// answers a POST with a short body of known length on the goroutine of its connection. Both are strict:
// whatever they cannot be sure of goes to the [http.Transport] or [http.Server] behind them, so that
// only one parser reads it. The docs of the two types say how they differ from net/http. Everything
// else is identical to the byte, as the tests and fuzz targets of this package check.
//
//	connection -- read the head -- simple? -- yes --> handler, on this goroutine --> next request
//	                                  \------- no ---> http.Server, for the rest of the connection
//
//	Transport -- simple? -- yes --> an idle connection, or a new one: write, read the head, return
//	                \------- no ---> http.Transport
package http1
