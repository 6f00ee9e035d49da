// Package upstream carries requests to MCP servers.
//
// A [Connection] takes a [Request] and returns an answer, which is read message by message, or an Error
// that says whether the request may have been carried out. [HTTP] sends it over Streamable HTTP. [Stdio]
// gives it to a child process, and has the statuses of a server over Streamable HTTP. [Ask] makes a request and
// reads its whole answer. What all of them share is in request.go.
//
// Over HTTP a message is sent at most once: http.go sends it, and replay.go keeps net/http from sending it again.
//
// # The way of a message to a child process
//
//	Stdio.Do        stdio.go    starts the child, unless it runs (child.go, initialize.go)
//	Stdio.post      post.go     finds the session (session.go) and its child
//	child.accept    call.go     gives the request an id of its own; it is a call now
//	child.flush     pipe.go     writes it, at once or by the child's writer
//	receiver        receive.go  reads what the child says line by line, finds the call by the id,
//	                            and puts the client's id back
//	Mailbox         mailbox.go  holds it, with the signs of the receiver's scan, until the client reads;
//	                            an answer over 1 MiB is a longAnswer (long.go)
//
// Messages that a child sends unasked go to its session's stream or, if clients share the child, to the
// clients concerned (shared.go, interest.go, [Subscriptions]). What differs in the modern era is in
// modern.go. A child that dies is restarted after a pause (backoff.go); the last lines of its stderr are kept
// for the log (tail.go). Package process has what differs between operating systems.
package upstream
