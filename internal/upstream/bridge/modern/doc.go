// Package modern lets legacy clients reach a modern server, and keeps the sessions that they expect.
//
// # The way of a request
//
//	Server.Do     server.go    answers by itself what only the legacy era has
//	Server.open   session.go   answers initialize from server/discover, and keeps what the client
//	                           says of itself: each of its requests says it again
//	Server.call   call.go      runs beside its caller, and goes on for a while without it
//	renewed       call.go      puts the introduction into _meta; mirror.go has the headers that
//	                           repeat arguments
//	call.relay    answer.go    passes the answer on, unless it is a question
//
// A modern server answers that it needs input. The questions go to the client as requests on the event stream
// of its call, and the call is repeated with the answers (question.go).
//
// A session's stream (listen.go) is backed by a subscriptions/listen for everything that its client wants to
// hear, which is replaced when that changes.
package modern
