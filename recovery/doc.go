// Package recovery is the caller's half of a contract: it calls tools, and when a call fails it does what the
// contract says.
//
//	client := recovery.New(session, contract.Builtin().MustGet("studies"))
//	result, err := client.CallTool(ctx, params)
//
// session is a session of an MCP SDK: [New] takes the Go SDK's *mcp.ClientSession, mcp-go's *client.Client, or
// anything with a CallTool of either shape, and what it returns has the same CallTool.
//
// # What happens to a failure
//
//	the call failed ---- it is wrong, forbidden, or not there -----------> the error
//	  |                  somebody has to sign in: [WithConnect] --------> once more
//	  |                  it asks something: [WithAnswer] ---------------> once more, with the answer
//	  |                  some items failed ------------------------------> those again that may succeed
//	  |
//	  +-- did it take effect?  not known -- ask the verify call -- landed ------> its answer
//	  |                                                     \---- open --------> the error
//	  |                                                      \--- not landed --+
//	  +------------------- no -------------------------------------------------+--> wait, once more
//
// A call is repeated if the contract says that the same call may succeed and if it is certain that repeating it
// does nothing twice: the call took no effect, or its tool only reads. Whether it took effect is settled by
// the verify call that the failure or the contract names, and the contract says what its answer looks like when the
// write has landed. If nothing settles it, the error is returned unchanged.
//
// The wait that a server states is a minimum, up to [recourse.MaxWait]. Waits that a failure does not state, how
// they grow and how often a call is repeated are the contract's ([Policy]). All callers of a [Server] share one budget
// of repetitions, one pace (after a rate limit all callers wait until it has passed, and then call one after the other), and
// circuits: when the server cannot be reached several times in a row, or a tool fails so with what may pass, calls wait instead
// of being sent, and one at a time tries. Waiting costs no attempt.
//
// A call ends at the deadline of its context, or after the time of [WithTimeout]. If a retry could not begin
// before that, the failure is returned at once.
//
// # What is returned
//
// The result, or an error: a [*recourse.Error], or a [*recourse.NeedsInput] where the server asks something that nobody
// answers. A failure in part ([recourse.KindPartial]) is returned with a result that holds all items that succeeded in the
// end. What a tool answers with isError is an error here. [WithReport] has every step written down.
//
// # Failures over HTTP
//
// The SDKs do not tell what an HTTP answer says that is no success, and end their session over some. [NewMCPTransport]
// keeps both: give it to the SDK's client as the transport of its http.Client. [NewHTTPTransport] repeats requests to
// HTTP APIs that have nothing to do with MCP, by the same rules.
package recovery
