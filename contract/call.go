package contract

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
)

// At says where a call stood when it failed. The zero value is [AtTool].
type At string

// The places, in the order in which a call passes them.
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

// Call is what a contract needs to know about the call that failed. The zero value is a
// request over stdio about which nothing is known.
type Call struct {
	// Method is the JSON-RPC method. Only a failed tools/call is written as a tool
	// result.
	Method string
	// Tool is the tool's name, URL the URL of the request.
	Tool, URL string
	// Arguments are the arguments of the call: a JSON object, or nil.
	Arguments json.RawMessage
	At        At
	// Status is the HTTP status that the transport demands for this failure; 0 leaves the
	// choice to the contract.
	Status int
	// HTTP says that no part of the HTTP answer has been written, so that a code's own
	// HTTP form can be used.
	HTTP bool
	// OutputSchema says that the tool declares one. The contract's structuredContent is
	// then left out, since some clients reject a result that does not fit.
	OutputSchema bool
	// FormatArgument says that the tool's inputSchema has the argument by which calls
	// choose the form of the text: see [Contract.FormatArgument].
	FormatArgument bool
	// ResultType says that results carry resultType (MCP 2026-07-28 and later).
	ResultType bool
	// HasTool reports whether the server has a tool; nil means that it is not known, so
	// that every tool counts as there.
	HasTool func(name string) bool
	// Offered returns the name under which the client knows a tool of the server, or "" for one that it is
	// not offered, and whether the server has the tool. With nil the client knows them by their own names.
	Offered func(tool string) (name string, known bool)
	// Shows reports whether a value of the arguments may be shown in a verify call or a
	// hint. One that may not is left out, with its parameter. nil shows every value of at
	// most 128 bytes that is not a secret by its name.
	Shows func(value []byte) bool
	// Original is the result that the failure was read from, or nil. What it holds beyond
	// the failure is kept, and the failure stays a tool result unless its code has a form
	// of its own in HTTP or JSON-RPC.
	Original json.RawMessage
	// OriginalContract is the contract in whose form Original was: [Reading.Contract].
	OriginalContract *Contract
	// Quotes says that the server is known to keep this contract and wrote the failure in
	// it: see [ServerSays].
	Quotes bool
	// Now returns the present, for points in time; nil means time.Now.
	Now func() time.Time
}

func (call *Call) now() time.Time {
	if call.Now == nil {
		return time.Now()
	}
	return call.Now()
}

func (call *Call) hasTool(name string) bool { return call.HasTool == nil || call.HasTool(name) }

// Surface says where a failure appears.
type Surface int

// The surfaces.
const (
	SurfaceResult Surface = iota // a tool result: Answer.Result
	SurfaceRPC                   // a JSON-RPC error: Answer.Code, Message, Data
	SurfaceHTTP                  // a whole HTTP answer: Answer.Body
)

// Answer is a failure as it is to be sent.
type Answer struct {
	Surface Surface
	// Result is the member "result" of the JSON-RPC answer.
	Result json.RawMessage
	// Code, Message and Data are the members of the JSON-RPC error.
	Code    int
	Message string
	Data    json.RawMessage
	// Status is the HTTP status. Header holds headers in addition to those of the
	// transport, Body the whole body of SurfaceHTTP.
	Status int
	Header http.Header
	Body   []byte
	// Record is the failure in the words of the contract, as it was written; nil for a
	// question.
	Record *recourse.Error
}

// A Tool is what a server's tools/list says of a tool.
type Tool struct {
	Name        string
	InputSchema json.RawMessage
	// Writes says that the tool has annotations and that they do not include
	// readOnlyHint.
	Writes bool
	// Description is the tool's own, for its page.
	Description string
	// Errors are the codes that the tool can fail with, as the server lists them under
	// [ErrorsKey]; nil if it does not.
	Errors []string
}

// ErrorsKey is the member of a tool's `_meta` in tools/list under which a server lists,
// as strings, the codes of its contract that the tool can fail with.
const ErrorsKey = "io.github.recoursehq/errors"
