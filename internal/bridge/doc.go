// Package bridge lets clients of one era of MCP reach servers of the other. It
// wraps the transport to a server and is one itself: whoever sends a request gets an
// answer of the era that the request was in. Nothing is done, and nothing is looked
// into, where both are of the same era.
//
// Legacy is 2025-11-25 and before: initialize, then a session, in which either side may
// ask the other. Modern is 2026-07-28: each request stands alone, and what a server
// asks is the result of a request that is made again with the answer.
//
// # Which era
//
// A client's era is that of the MCP-Protocol-Version header. A server's is found out
// and remembered ([peer.Eras]): by server/discover for a client of the modern era, by the
// client's own initialize for one of the legacy. No call is sent in an era that the
// server is known not to speak. A refusal that sounds like the other era makes the
// bridge find out anew.
//
// # The way of a call
//
//	client -> Bridge.Post -> same era -> peer.Transport -> server
//	                      -> legacy.Server (a modern client, a legacy server)
//	                      -> modern.Server (a legacy client, a modern server)
//
// A direction is a package. Both reach the server by package peer, and neither knows the
// other. Each has a method Send, which takes the parsed message and returns an answer in the
// client's era: with the client's own id, as JSON or as an event stream, whichever the server
// chose. Answers of any size flow through a [wire.Passage], in constant memory. The error
// states recourse.EffectNone when the client's request has not been sent.
package bridge
