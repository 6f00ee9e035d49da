// Package http1 serves and sends simple HTTP/1.1 messages with less work than net/http
// needs for them, and leaves everything else to net/http.
//
// [Transport] sends a POST with a short body over plain HTTP on the caller's goroutine.
// [Server] answers a POST with a short body of a known length on the goroutine of its
// connection. Both are strict: what they do not know for certain goes to the
// [http.Transport] or [http.Server] behind them, and so it is read by one parser only.
// What differs from net/http is said at the two types; all else is the same to the byte,
// which the tests and fuzz targets of this package demand.
package http1
