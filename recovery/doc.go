// Package recovery is the caller's half of a contract: it calls tools, and if a call fails, it does what the contract says.
//
//	client := recovery.New(session, contract.MustBuiltin("studies"))
//	result, err := client.CallTool(ctx, params)
//
// session is a session of an MCP SDK: [New] accepts the Go SDK's *mcp.ClientSession, mcp-go's *client.Client, or anything
// with a CallTool of either shape, and returns a client with the same CallTool.
//
// # What happens to a failure
//
//	the call failed ---- it is wrong, forbidden, or not there -----------> the error
//	  |                  somebody has to sign in: [Hooks.Connect] ------> once more
//	  |                  it asks something: [Hooks.Answer] -------------> once more, with the answer
//	  |                  some items failed ------------------------------> those again that may succeed
//	  |
//	  +-- did it take effect?  not known -- ask the verify call -- landed ------> its answer
//	  |                                                     \---- open --------> the error
//	  |                                                      \--- not landed --+
//	  +------------------- no -------------------------------------------------+--> wait, once more
//
// A call is repeated if the contract says that the same call may succeed, and if repeating it certainly does nothing twice:
// the call took no effect, or its tool only reads. If it is unknown whether a call took effect, the verify call of the
// failure or the contract settles it; the contract says what its answer looks like if the write has landed. If nothing
// settles it, the error is returned unchanged.
//
// The wait that a server states is a minimum, up to [recourse.MaxWait]. The contract's [Policy] has the waits for failures
// that state none, their growth and the number of retries. All callers of a [Shared] share a retry budget, a pace (after a
// rate limit all callers wait until it has passed, and then call one after the other), and circuits: if the server cannot be
// reached several times in a row, or a tool's calls fail with retryable failures, calls wait instead of being sent, and one
// at a time probes. Waiting costs no attempt.
//
// A call ends at its context's deadline, or after the time of [WithTimeout]. If a retry could not begin before that, the
// failure is returned at once.
//
// # What is returned
//
// The result, or an error: a [*recourse.Error], or a [*recourse.NeedsInput] if the server asks a question that nobody
// answers. A partial failure ([recourse.KindPartial]) comes with a result that holds all items that succeeded; if all have in the
// end, the result has the tool's own form. An item of the call that no answer mentions has failed. A tool's
// answer with isError is an error here. [WithReport] records every step.
//
// # Failures over HTTP
//
// SDKs drop the details of a failed HTTP answer, and end their session over some. [NewMCPTransport] keeps the details and
// the session: use it as the transport of the http.Client that the SDK's client uses. [NewHTTPTransport] repeats requests to
// ordinary HTTP APIs by the same rules.
package recovery
