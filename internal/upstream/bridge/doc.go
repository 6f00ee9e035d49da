// Package bridge lets clients of one era of MCP reach servers of the other. A [Bridge] wraps the connection
// to a server and is one itself: every request is answered in its own era. If both sides are of the same era,
// messages pass unread.
//
// Legacy is 2025-11-25 and before: initialize, then a session, in which either side may ask the other. Modern
// is 2026-07-28: each request is independent, and a server's question is the result of a request, which is
// then repeated with the answer.
//
// # Which era
//
// A client's era follows from the MCP-Protocol-Version header. A server's is determined and remembered
// ([peer.Eras]): by server/discover for modern clients, by the client's own initialize for legacy ones. No
// call is sent in an era that the server is known not to speak. A refusal that looks like the other era makes
// the bridge check again.
//
// # The way of a call
//
//	client -> Bridge.Do -> same era -----> peer.Peer -> server
//	                    -> legacy.Server -> peer.Peer -> server of the legacy era
//	                    -> modern.Server -> peer.Peer -> server of the modern era
//
// Each direction is a package of its own, and neither knows the other. Its method Do takes the parsed request
// and returns an answer of the client's era: with the client's id, alone or after other messages, as the
// server chose. Answers of any size flow through a [wire.Rewriter], in constant memory; what it has changed is
// scanned by its reader, and nothing else is scanned again.
package bridge
