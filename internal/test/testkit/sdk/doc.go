// Package sdk runs what other people have written: clients built with the TypeScript SDKs, reference servers, and the programs
// in node and python that use generated code.
package sdk
