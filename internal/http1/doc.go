// Package http1 serves and sends simple HTTP/1.1 messages with less work than net/http
// needs for them, and leaves everything else to net/http.
//
// [Transport] sends a POST with a short body over plain HTTP on the caller's goroutine.
// [Server] answers a POST with a short body of known length on the goroutine of its
// connection. Both are strict: what they do not know for certain goes to the
// [http.Transport] or [http.Server] behind them, so that only one parser reads it. The
// docs of the two types say what differs from net/http. Everything else is the same to
// the byte, as the tests and fuzz targets of this package demand.
package http1
