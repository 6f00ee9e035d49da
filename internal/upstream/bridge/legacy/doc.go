// Package legacy lets modern clients reach a legacy server, in sessions that it opens for them.
//
// # The way of a request
//
//	Server.Do       server.go    answers by itself what only the modern era has
//	Server.enter    session.go   finds the caller's session, or opens one: a caller has one for each
//	                             set of capabilities
//	session.newCall call.go      sends the request with an id of its own; it is a call now
//	hearing         hearing.go   reads what the server says, message by message
//	turn            turn.go      is one request of the client about the call, and its answer: the
//	                             result, or a question
//
// A legacy server asks its client in the middle of a call. The question becomes the answer to the client's
// request (question.go), and the call is held (held.go) until the client repeats its request with the answer
// and the sealed state. That is the call's next turn.
//
// Anything else that the server says comes on the stream of a session (stream.go): questions, logs and
// progress for calls, and news for listeners (listen.go).
package legacy
