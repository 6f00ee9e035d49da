// Package front lets clients in: over HTTP, and over stdio with one host per pair of streams. All it knows
// about the rest is an [http.Handler], which answers one request at a time.
//
//	HTTP   a connection
//	         |  clientConn     its client must read what it is sent
//	         |  http.Server    net/http's
//	         v
//	       handler
//
//	Stdio  a line
//	         |  host           makes a request of it, as a client over HTTP sends it
//	         v
//	       handler
//	         |  answer         makes a line of JSON, and one of each event
//	         v
//	       lines
package front
