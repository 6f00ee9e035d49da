// Package inject makes calls fail on purpose, between a client and an MCP server or an HTTP API.
//
// A [Plan] is read from a fault file: rules that say which calls fail, how often, and how. An [Injector]
// carries it out: it decides for each call, and counts in its ledger what reached the server, which shows
// writes that were made twice.
//
//	over HTTP    client -- Front -- Transport -- server   (in a client, Transport does alone)
//	over stdio   client -- Program -- server
//	both         tester -- Control -- Injector            its ledger and its rules, over HTTP
//
// Calls that no rule applies to pass byte for byte. Whether a rule applies only depends on the plan, its seed
// and the calls, so a sequence of calls fails in the same way each time.
package inject
