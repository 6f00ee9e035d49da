// Package handler runs the handlers of an author's server under a contract, whichever SDK the
// server is made with: within a deadline, past panics, charged to the caller, with one line
// in the author's log for each failure. What is true of any call of a tool is in
// internal/toolcall; what is true of one SDK in package mcptool and its subpackages.
package handler
