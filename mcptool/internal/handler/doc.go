// Package handler runs the handlers of an author's server under a contract, whichever SDK the server is made with. It
// enforces deadlines, recovers panics, charges limits, and writes one line to the author's log for each failure. What
// all calls of tools have in common is in internal/toolcall; what depends on an SDK is in package mcptool and its
// subpackages.
package handler
