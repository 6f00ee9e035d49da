// Package gateway stands in front of MCP servers over Streamable HTTP and sees to
// it that every failure reaches the client in the form of a contract.
//
// A request comes past these stages, a file each:
//
//	session    is it well formed, may it come here, which session   session.go
//	route      which server, which tool                             route.go
//	validate   do the arguments fit the tool's inputSchema          validate.go
//	call       send it, within a deadline, repeat it where safe     call.go
//	answer     pass the answer on, or find the failure in it        answer.go, events.go
//	translate  write the failure as the contract says               translate.go
//	record     one log line for each failure                        record.go
//
// A stage passes the call on or ends it with a *recourse.Error. A success is
// forwarded byte for byte and never decoded; only the spelling of its id is the
// client's own. Notifications, questions of the server's to its client, methods
// and members that are not known pass in both directions as they are.
package gateway
