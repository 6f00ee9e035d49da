// Package sdk runs what other people have written: servers and clients built with the Go and TypeScript SDKs, reference
// servers, the conformance suite, and the programs in node and python that use generated code.
package sdk
