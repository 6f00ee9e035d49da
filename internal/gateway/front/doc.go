// Package front lets clients in: over HTTP, and over stdio with one host per pair of streams. All it knows
// about the rest is an [http.Handler], which answers one request at a time.
//
//	HTTP   connection -- http1.Server, or net/http under TLS --> handler
//	Stdio  line -- a request, as a client over HTTP sends it --> handler -- answer, JSON or events --> lines
package front
