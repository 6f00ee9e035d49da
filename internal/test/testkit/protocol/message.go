package protocol

import "encoding/json"

// Incoming is the part of a JSON-RPC message that a server reads.
type Incoming struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// CallParams is the part of the params of tools/call that a server reads.
type CallParams struct {
	Name           string          `json:"name"`
	Arguments      json.RawMessage `json:"arguments"`
	InputResponses json.RawMessage `json:"inputResponses"`
	RequestState   string          `json:"requestState"`
	Meta           struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// Question is the params of the elicitation with which a tool asks the user for a name.
const Question = `{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object",` +
	`"properties":{"name":{"type":"string"}},"required":["name"]}}`

// Asks returns the result with which a tool of the modern era asks, or, once the client has answered that,
// the answer as text.
func (c *CallParams) Asks() string {
	const key, state = "name", "asked"
	if c.InputResponses != nil && c.RequestState == state {
		return Completed(TextResult(string(Member(c.InputResponses, key))))
	}
	return `{"resultType":"input_required","inputRequests":{"` + key + `":{"method":"` + MethodElicit +
		`","params":` + Question + `}},"requestState":"` + state + `"}`
}
