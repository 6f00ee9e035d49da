// Package front lets clients in: over HTTP, and over stdio with one host per pair of streams. All it knows
// about the rest is an [http.Handler], which answers one request at a time.
//
//	HTTP                                     Stdio
//	connection                               line
//	  |  clientConn: its client must read      |  host: makes a request of it, as a client over HTTP sends it
//	  |  http1.Server, or net/http over TLS    |
//	  v                                        v
//	handler                                  handler
//	  |                                        |  answer: JSON is one line, an event stream one for each event
//	  v                                        v
//	connection                               lines, each whole
package front
