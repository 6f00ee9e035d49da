package contract

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
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
	Arguments json.RawMessage
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
	Shows func(value []byte) bool
	// Original is the result that the failure was read from, or nil. What it holds
	// beyond the failure itself is kept, and the failure stays a result unless its code
	// has a form of its own in HTTP or JSON-RPC.
	Original json.RawMessage
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
	// Status is the HTTP status, Header what goes beside the transport's own
	// headers, Body the whole body of SurfaceHTTP.
	Status int
	Header http.Header
	Body   []byte
	// Record is the failure in the words of the contract, as it was written; nil for
	// a question.
	Record *recourse.Error
}

// A Tool is what tools/list of a server says of a tool.
type Tool struct {
	Name        string
	InputSchema json.RawMessage
	// Writes says that it has annotations and that they do not say readOnlyHint.
	Writes bool
	// Description is the tool's own, for its page.
	Description string
	// Errors are the codes that the server says the tool can fail with, under
	// [ErrorsKey]; nil: it says nothing.
	Errors []string
}

// ErrorsKey is the member of `_meta` of a tool in tools/list in which a server says which
// codes of its contract the tool can fail with: a list of texts. It is the one place where
// that stands.
const ErrorsKey = "io.github.recoursehq/errors"
