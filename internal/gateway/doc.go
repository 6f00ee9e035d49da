// Package gateway stands in front of MCP servers over Streamable HTTP and makes sure that every failure
// reaches the client in the form of a contract.
//
// # The way of a call
//
// A request becomes a [call], which is handed from stage to stage, a file each. A stage passes it on or
// returns why it failed; values that the stages share are fields of the call.
//
//	client
//	  |  ^
//	  |  |                 front: over HTTP or stdio, to Gateway.ServeHTTP
//	  |  |  reply          the only way back: by the contract, or observing only
//	  v  |
//	finish                 tells every observer how the call has ended, once
//	translate              writes what failed as the contract says
//	admit                  may it come here: path, Host, Origin, method     -> on
//	authenticate           who calls                                        -> who
//	receive                is it a well-formed message                      -> req
//	trace                  which distributed trace it is a part of          -> trace
//	findSession            the session of a legacy client                   -> session
//	connect                the caller's account at the server's provider    -> account
//	lastKnown              what the server last said, if a client that starts finds it down
//	route                  which tool, how long, what it does to the world  -> rule
//	patience               is the client told that a long call goes on      -> rule
//	authorize              may the caller do that
//	validate               do the arguments fit the tool's inputSchema
//	connected              is there such an account
//	enter                  waits while the caller has too many under way
//	throttle               is it within the limits
//	once                   has it been made before                          -> once
//	holdOpen               opens a stream for a server that is down
//	repeat                 sends it again where that is safe                -> out
//	  |  ^
//	  v  |                 an [attempt], which returns its [end]
//	hedge                  makes a second one if the answer to a read is late
//	queue                  waits while too many calls are under way
//	holdBack               refuses while the breaker is open
//	prepare                what is sent
//	spread                 tells the server where it is in the trace
//	send                   the message to the server, and its answer to the client
//	  |  ^
//	  v  |  answer         JSON or events: passed on, or found to be a failure (judge)
//	server
//
// An endpoint is where clients reach a server: a path, its contract and masking, and how the server's answers are
// read. Its backend is the server itself: its connection, sessions, tools and budget, which survive a reload that does
// not change them. A table holds all endpoints of one configuration.
//
// What is true of every call of a tool, whoever carries it out, is in internal/call/toolcall; what is true of
// every way in is in internal/call/door. Package mcptool uses both as well.
//
// A stage is in the file of its name, or beside one that it belongs to: what protects a server in guard.go, with the
// limits of its callers, findSession in session.go, connected in connect.go, patience in route.go, trace, prepare and
// spread in send.go. What differs for messages without an answer of their own is in deliver.go, with holdOpen. An
// observing endpoint has a list of stages of its own: those that act are not in it.
//
// Package answer brings the server's answer to the client. How it does so is up to the endpoint's [mode] (modes.go).
//
// What needs nothing of the call is in a package of its own: access says who may call, limits how much, account
// has the accounts of callers at providers, backend what is kept of a server across reloads, toollist what a
// server offers, failures what its failures mean, masking hides what clients may not see, observe has what
// observers are told, and the log, session the sessions of legacy clients, intake reads what clients send, and
// deadline has the time of a call.
//
// An endpoint may offer several servers (many.go). Its backend is then package many, which finds the server for
// a request. There the request becomes a call of its own, which takes that server's own stages from connect on;
// its answer comes back over a [hop.Hop] and is passed on unchanged.
//
// A call that is made once (once.go) goes on after its client has got an answer, until the server has said what became of it
// (onceheard.go). What nobody knows is settled by a call of another tool (oncesettle.go).
//
// A panic in a stage is the failure of its call, and ends no other (finish.go).
//
// A success is forwarded byte for byte and never decoded; only its id is written as the client wrote it.
// Notifications, a server's questions to its client, and unknown methods and members pass unchanged in both
// directions.
package gateway
