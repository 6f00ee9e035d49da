// Package front lets clients in: over HTTP, and over stdio with one host per pair of streams. All it knows
// about the rest is an [http.Handler], which answers one request at a time.
package front
