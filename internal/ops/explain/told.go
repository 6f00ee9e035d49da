package explain

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/retry"
)

// ToolFacts is what is known of the tool that has answered. The zero value is a tool about which nobody says anything, of a
// server that is not trusted: what a gateway has in front of it if nothing is configured.
type ToolFacts struct {
	Name      string
	Arguments json.Value    // of the call: what stands in them is not masked
	Nature    *retry.Nature // nil: nobody says what the tool does
	Trusted   bool          // the server is
}

// requestID stands for that of the gateway.
const requestID = "REQUEST_ID"

// call returns the failed call as the gateway sees it.
func (of ToolFacts) call(c *contract.Contract) *toolcall.Call {
	masker := redact.New(redact.All, string(of.Arguments)).With(c.Mask...).ForAnswer(time.Minute)
	call := &toolcall.Call{
		ID: requestID, Method: wire.MethodToolsCall, Name: of.Name, Arguments: of.Arguments, Contract: c,
		Masker:  func() *redact.Masker { return masker },
		Assumed: of.Nature == nil, Ran: true, Relays: true, Title: serverTitle, InSession: true, Trusted: of.Trusted,
		Reads: func(string, *toolcall.Entry) bool { return false },
	}
	if of.Nature != nil {
		call.Nature = *of.Nature
	}
	return call
}

// serverTitle is what a server is called of which only an answer is known.
const serverTitle = "The server"

// Told returns what a gateway would answer instead, in a contract, if nothing but of is configured for the server. It is
// the gateway's own judgement: the same reader, after the same masks, and the same decision about the effect.
func (r *Reading) Told(set *contract.Set, c *contract.Contract, of ToolFacts) (contract.Answer, error) {
	call := of.call(c)
	reading, original, err := r.masked(set, call)
	if err != nil {
		return contract.Answer{}, err
	}
	if reading.Error() == nil { // a mask has hidden the sign
		reading.Failure = r.Failure
	}
	e := call.Settle(reading.Error())
	about := call.Describe(contract.AtTool)
	about.HTTP = true
	if raw := r.answer.rpcError; raw != nil && reading.Contract == nil && failures.IsForProgram(e, false) { // for the client's program
		text, _ := json.TextOf(json.Lookup(raw, "/message"))
		return contract.Answer{
			Surface: contract.SurfaceRPC, Message: text, Data: stdjson.RawMessage(json.Lookup(raw, "/data")), Record: e,
		}, nil
	}
	about.Relay.Original, about.Relay.OriginalContract = stdjson.RawMessage(original), reading.Contract
	return c.Write(e, about), nil
}

// masked reads the answer as a gateway does: after what is nobody's business has been masked, and an HTTP response as one of
// an MCP server's endpoint, whose status says nothing about what the tool was asked to do. original is the masked result.
func (r *Reading) masked(set *contract.Set, call *toolcall.Call) (reading contract.Reading, original json.Value, err error) {
	mask := call.Masker().JSON
	switch a := r.answer; {
	case a.response != nil:
		entry := &config.Server{Title: serverTitle}
		entry.Trusted = call.Trusted
		reader, err := failures.New(entry, call.Contract, set, func(string) bool { return false })
		if err != nil {
			return contract.Reading{}, nil, err
		}
		call.Broke = failures.Broke(a.response.StatusCode)
		return reader.HTTP(a.response.StatusCode, a.response.Header, a.body, ""), nil, nil
	case a.rpcError != nil:
		return r.reader.RPC(mask(a.rpcError)), nil, nil
	default:
		original = mask(a.result)
		reading, _ = r.reader.Result(original)
		return reading, original, nil
	}
}

// toldByDefault returns what a gateway would answer in the default contract, or nil if the answer is no failure.
func (r *Reading) toldByDefault(set *contract.Set, of ToolFacts) *contract.Answer {
	own, ok := set.Get(contract.Default)
	if !ok || r.Failure == nil {
		return nil
	}
	told, err := r.Told(set, own, of)
	if err != nil { // only an entry that names families or contracts can have any
		return nil
	}
	return &told
}

// textOf returns what an agent reads of an answer.
func textOf(a *contract.Answer) string {
	if a.Surface != contract.SurfaceResult {
		return a.Message
	}
	var text strings.Builder
	for i := 0; ; i++ {
		block := json.Lookup(json.Value(a.Result), json.Pointer("/content").AppendToken(strconv.Itoa(i)))
		if block == nil {
			return text.String()
		}
		said, _ := json.TextOf(json.Lookup(block, "/text"))
		text.WriteString(said)
	}
}
