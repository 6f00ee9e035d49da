// Package gateway stands in front of MCP servers over Streamable HTTP and sees to
// it that every failure reaches the client in the form of a contract.
//
// # The way of a call
//
// A request becomes a [call], which is handed from stage to stage, a file each. A stage
// passes it on or returns why it failed; what stages tell each other stands in the call.
//
//	client
//	  |  ^
//	  |  |                 front: over HTTP or stdio, to Gateway.ServeHTTP
//	  |  |  reply          the only way back: by the contract, or observing only
//	  v  |
//	finish                 tells every observer how the call has ended, once
//	translate              writes what failed as the contract says
//	admit                  may it come here: path, Host, Origin, method     -> on, to
//	authenticate           who calls                                        -> who
//	receive                is it a well-formed message                      -> req
//	trace                  which distributed trace it is a part of          -> trace
//	inSession              the session of a legacy client                   -> session
//	connect                the caller's account at the server's provider    -> account
//	route                  which tool, how long, what it does to the world  -> rule
//	authorize              may the caller do that
//	validate               do the arguments fit the tool's inputSchema
//	connected              is there such an account
//	throttle               is it within the limits
//	                       (once has its place here)
//	repeat                 sends it again where that is safe                -> out
//	inBulkhead             waits while too many calls are under way
//	holdBack               refuses while the breaker is open
//	send                   the message to the server, and its answer to the client
//	  |  ^
//	  v  |  answer         JSON or events: passed on, or found to be a failure (judge)
//	server
//
// An endpoint is where clients reach a server: a path, its contract, masking and sessions. A
// target is the server behind it: its connection, tools and budget, which outlive a reload
// that leaves them as they are. A table has all endpoints of one configuration.
//
// What is true of a call of a tool whoever carries it out is in internal/toolcall, and what is
// true of any door in internal/endpoint: package mcptool goes by both as well.
//
// What a stage decides by is a package of its own where that needs nothing of a call: access is who may call, and account
// has the accounts of callers at providers. Package observe is what observers are told, and the log; session and
// deadline have the sessions of legacy clients, and the time of a call.
//
// An endpoint may offer several servers (manyservers.go). Its target is then package many, which finds the server that
// a request is for. There the request becomes a call of its own (nested.go), which takes the server's own way from
// route on; its answer comes back over a [many.Hop] and passes as it is.
//
// A success is forwarded byte for byte and never decoded; only the spelling of its id is the
// client's own. Notifications, questions of the server's to its client, methods and members
// that are not known pass in both directions as they are.
package gateway
