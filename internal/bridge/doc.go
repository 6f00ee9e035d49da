// Package bridge lets clients of one era of MCP reach servers of the other. A [Bridge] wraps the
// connection to a server and is one itself: whoever makes a request gets an answer of the same
// era. Where both sides are of the same era, messages pass unread.
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
//	client -> Bridge.Do -> same era -----> peer.Peer -> server
//	                    -> legacy.Server -> peer.Peer -> server of the legacy era
//	                    -> modern.Server -> peer.Peer -> server of the modern era
//
// Each way across is a package of its own, and neither knows the other. Its method Do takes the
// parsed request and returns an answer of the client's era: with the client's id, as JSON or as
// an event stream, whichever the server chose. Answers of any size flow through a
// [wire.Passage], in constant memory.
package bridge
