// Package front lets clients in: over HTTP and, one host a pair of streams, over stdio. All that
// it knows of what is behind is an [http.Handler], which answers one request at a time.
package front
