// Package http1 sends simple HTTP/1.1 requests with less work than net/http, and leaves everything else to net/http.
//
// [Transport] sends a POST with a short body over plain HTTP, or a GET, on the caller's goroutine. It is strict: whatever it cannot be
// sure of goes to the [http.Transport] behind it. The doc of the type says how it differs from net/http. Everything else is identical
// to the byte, as the tests and the fuzz target of this package check.
//
//	Transport -- simple? -- yes --> an idle connection, or a new one: write, read the head, return
//	                \------- no ---> http.Transport
package http1
