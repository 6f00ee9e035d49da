package contract

import (
	stdjson "encoding/json"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// At says how far a call had come when it failed. The zero value is [AtTool].
type At string

// The stages of a call, in order.
const (
	AtCredentialsMissing    At = "credentials_missing"
	AtCredentialsInvalid    At = "credentials_invalid"
	AtUserMissing           At = "user_missing"
	AtUserInvalid           At = "user_invalid"
	AtSession               At = "session" // before the call was accepted, or in a request that does not call a tool
	AtArguments             At = "arguments"
	AtUpstreamMisconfigured At = "upstream_misconfigured"
	AtUpstream              At = "upstream" // on the way to the server, before any of its answer arrived
	AtTool                  At = "tool"     // in the server's answer
)

var places = []string{
	string(AtCredentialsMissing), string(AtCredentialsInvalid), string(AtUserMissing), string(AtUserInvalid),
	string(AtSession), string(AtArguments), string(AtUpstreamMisconfigured), string(AtUpstream), string(AtTool),
}

// Call is what a contract needs to know about the call that failed. The zero value is a request over stdio
// that nothing else is known about.
type Call struct {
	// Method is the JSON-RPC method. Only a failed tools/call is written as a tool result.
	Method string
	// Tool is the tool's name, URL the URL of the request.
	Tool, URL string
	// Arguments holds the arguments of the call: a JSON object, or nil.
	Arguments stdjson.RawMessage
	At        At
	// Status is the HTTP status that the transport requires for this failure. If it is 0, the contract
	// chooses.
	Status int
	// HTTP says that nothing of the HTTP answer has been written yet, so that a code's own HTTP form can be
	// used.
	HTTP bool
	// Protocol says that a failed tools/call is a JSON-RPC error where MCP has one for it: for an unknown tool, and for what is
	// wrong with the message itself. Without it only what the client's program has to handle is an error, since most
	// programs show a model nothing else than results.
	Protocol bool
	// ResultType says that results carry resultType (MCP 2026-07-28 and later).
	ResultType bool
	// OutputSchema says that the tool declares one. The contract's structuredContent is then left out, since
	// some clients reject a result that does not match the schema.
	OutputSchema bool
	// FormatArgument says that the tool's inputSchema has the argument that selects the form of the text: see
	// [Contract.FormatArgument].
	FormatArgument bool
	// HasTool reports whether the server has a tool. nil means that this is not known: every tool is then
	// taken to exist.
	HasTool func(name string) bool
	// Relay is set by whoever passes on what another has answered.
	Relay Relay
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Relay is what only an intermediary knows of a call: a gateway, or a middleware around a tool's handler. A program that writes
// its own failures leaves it empty.
type Relay struct {
	// Original is what the failure was read from, or nil: a tool result, a JSON-RPC error or the body of an HTTP
	// answer, as OriginalAt says. If it has the form of this contract, it is edited: see [Contract.Write]. Of any other
	// result, everything besides the failure is kept, and the failure stays a tool result unless its code has its
	// own form in HTTP or JSON-RPC.
	Original   stdjson.RawMessage
	OriginalAt Surface
	// OriginalContract is the contract that Original was read by: [Reading.Contract].
	OriginalContract *Contract
	// Offered returns the client's name for a tool of the server, or "" if the client is not offered that
	// tool, and whether the server has the tool. nil means that clients use the server's names.
	Offered func(tool string) (name string, known bool)
	// Shows reports whether an argument's value may be shown in a verify call or a hint. If not, the
	// parameter is left out as well. nil shows every value of at most 128 bytes unless its name marks it as a
	// secret.
	Shows func(value []byte) bool
	// Assumed says that nobody knows what the tool does to the world: that it writes is an assumption. Advice is then
	// conditional.
	Assumed bool
}

func (call *Call) now() time.Time {
	if call.Now == nil {
		return time.Now()
	}
	return call.Now()
}

// result returns the tool result that the failure was read from, or nil.
func (call *Call) result() json.Value {
	if call.Relay.OriginalAt != SurfaceResult {
		return nil
	}
	return json.Value(call.Relay.Original)
}

// in returns what the failure was read from in the form of c, on that surface, or nil.
func (call *Call) in(c *Contract, at Surface) json.Value {
	if call.Relay.OriginalContract != c || call.Relay.OriginalAt != at {
		return nil
	}
	return json.Value(call.Relay.Original)
}

func (call *Call) hasTool(name string) bool { return call.HasTool == nil || call.HasTool(name) }

// Surface is where a failure appears.
type Surface int

// The surfaces.
const (
	SurfaceResult Surface = iota // a tool result: Answer.Result
	SurfaceRPC                   // a JSON-RPC error: Answer.RPCCode, Message, Data
	SurfaceHTTP                  // a whole HTTP answer: Answer.Body
)

// String returns result, rpc or http.
func (s Surface) String() string {
	switch s {
	case SurfaceRPC:
		return "rpc"
	case SurfaceHTTP:
		return "http"
	default:
		return "result"
	}
}

// Answer is a failure, ready to be sent.
type Answer struct {
	Surface Surface
	// Result is the member "result" of the JSON-RPC answer.
	Result stdjson.RawMessage
	// RPCCode, Message and Data are the members of the JSON-RPC error.
	RPCCode int
	Message string
	Data    stdjson.RawMessage
	// Status is the HTTP status. Header holds headers in addition to the transport's, Body the whole body of
	// SurfaceHTTP.
	Status int
	Header http.Header
	Body   []byte
	// Record is the failure in the contract's own words, as it was written; nil for a question that a tool asks.
	Record *recourse.Error
	// Asks says that the answer is a question, which the contract asks instead of reporting Record.
	Asks bool
}
