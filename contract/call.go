package contract

import (
	"time"

	"github.com/recoursehq/recourse/internal/argument"
	"github.com/recoursehq/recourse/internal/json"
)

// At says where a failed call stood. The zero value is AtTool.
type At string

// The places, in the order in which a call comes past them.
const (
	AtCredentialsMissing    At = "credentials_missing"
	AtCredentialsInvalid    At = "credentials_invalid"
	AtUserMissing           At = "user_missing"
	AtUserInvalid           At = "user_invalid"
	AtSession               At = "session" // before the call was taken up, or in a request that is no call of a tool
	AtArguments             At = "arguments"
	AtUpstreamMisconfigured At = "upstream_misconfigured"
	AtUpstream              At = "upstream" // on the way to the server, before anything of its answer came
	AtTool                  At = "tool"     // in the server's answer
)

var places = []string{
	string(AtCredentialsMissing), string(AtCredentialsInvalid), string(AtUserMissing), string(AtUserInvalid),
	string(AtSession), string(AtArguments), string(AtUpstreamMisconfigured), string(AtUpstream), string(AtTool),
}

// Call is what a contract has to know of the call that failed.
type Call struct {
	// Method is the JSON-RPC method; only a failed tools/call is written as a tool
	// result.
	Method string
	// Tool is the tool's name, URL the URL of the request.
	Tool, URL string
	// Arguments are the arguments of the call, raw.
	Arguments json.Value
	At        At
	// Status is the HTTP status that the transport demands for this failure; 0
	// means that the contract is free to choose.
	Status int
	// HTTP says that the whole HTTP answer is still to be written, so that a code's
	// own HTTP form can be used.
	HTTP bool
	// OutputSchema says that the tool declares one: our structuredContent is then
	// left out, since some clients throw away a result that does not fit.
	OutputSchema bool
	// FormatArgument says that the tool's inputSchema has the argument that the
	// contract's layout is gated by.
	FormatArgument bool
	// ResultType says that results carry resultType (2026-07-28 and later).
	ResultType bool
	// HasTool tells whether the server has a tool; nil: not known, so that every
	// tool counts as there.
	HasTool func(name string) bool
	// Shows tells whether a value of the arguments may be shown in a call that verifies
	// the failed one, or in a hint; nil: every one that is no secret by its name and
	// has at most 128 bytes. One that may not is left out, since what stands in its place would be another value.
	Shows func(value json.Value) bool
	// Original is the result that the failure was read from, or nil. What it holds
	// beyond the failure itself is kept, and the failure stays a result unless its code
	// has a form of its own in HTTP or JSON-RPC.
	Original json.Value
	// OriginalContract is the contract whose form Original had: Reading.Contract.
	OriginalContract *Contract
	// Quotes says that the server is known to keep this contract and has written the
	// failure in it: see [ServerSays].
	Quotes bool
	// Now is the present, for points in time; nil means time.Now.
	Now func() time.Time
}

func (call *Call) now() time.Time {
	if call.Now == nil {
		return time.Now()
	}
	return call.Now()
}

// argument returns a value of the arguments that may be shown, or nil.
func (call *Call) argument(pointer string) json.Value {
	value := argument.Shown(call.Arguments, pointer)
	if value == nil || call.Shows != nil && !call.Shows(value) {
		return nil
	}
	return value
}

func (call *Call) hasTool(name string) bool { return call.HasTool == nil || call.HasTool(name) }
