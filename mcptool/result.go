package mcptool

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// write turns the contract's answer into what the SDK sends.
func write(answer *contract.Answer, modern bool) (mcp.Result, error) {
	if answer.Surface == contract.SurfaceRPC {
		return nil, &jsonrpc.Error{Code: int64(answer.RPCCode), Message: answer.Message, Data: answer.Data}
	}
	base := &mcp.CallToolResult{}
	if modern { // the one way to say so from here
		if err := base.UnmarshalJSON([]byte(`{"content":[],"resultType":"complete"}`)); err != nil {
			return nil, fmt.Errorf("a complete result: %w", err)
		}
	}
	result, err := standard(base, answer)
	if err != nil {
		return own(base, answer)
	}
	return result, nil
}

// standard returns the result as the SDK's type, if that type can hold it.
func standard(base *mcp.CallToolResult, answer *contract.Answer) (mcp.Result, error) {
	var plain struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.Value            `json:"structuredContent"`
		IsError    bool                  `json:"isError"`
		ResultType string                `json:"resultType"`
		Meta       map[string]json.Value `json:"_meta"`
	}
	if err := json.UnmarshalKnown(answer.Result, &plain); err != nil {
		return nil, err
	}
	base.IsError = plain.IsError
	base.Content = make([]mcp.Content, 0, len(plain.Content))
	for _, block := range plain.Content {
		base.Content = append(base.Content, &mcp.TextContent{Text: block.Text})
	}
	if plain.Structured != nil {
		base.StructuredContent = stdjson.RawMessage(plain.Structured)
	}
	base.Meta = meta(plain.Meta)
	keepError(base, answer)
	return base, nil
}

// keepError lets the author's other middleware get the record, with GetError.
func keepError(r *mcp.CallToolResult, answer *contract.Answer) {
	if answer.Record == nil || answer.Asks {
		return
	}
	isError := r.IsError
	r.SetError(answer.Record)
	r.IsError = isError
}

func meta(members map[string]json.Value) mcp.Meta {
	m := make(mcp.Meta, len(members))
	for name, value := range members {
		m[name] = stdjson.RawMessage(value)
	}
	return m
}

// ownResult is a result with members that the SDK's type lacks: an error beside
// the content, or a text block's mimeType.
type ownResult struct {
	*mcp.CallToolResult // what other middleware sees; its Meta is written

	members []byte // all but _meta, between the braces
}

var _ stdjson.Marshaler = (*ownResult)(nil)

func own(base *mcp.CallToolResult, answer *contract.Answer) (mcp.Result, error) {
	var members map[string]json.Value
	if err := json.UnmarshalLenient(answer.Result, &members); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	var metaMembers map[string]json.Value
	if raw, ok := members["_meta"]; ok {
		if err := json.UnmarshalLenient(raw, &metaMembers); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	if err := base.UnmarshalJSON(answer.Result); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	base.Meta = meta(metaMembers)
	keepError(base, answer)
	delete(members, "_meta")
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &ownResult{CallToolResult: base, members: bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte("{")), []byte("}"))}, nil
}

// MarshalJSON writes the contract's members, and the current _meta.
func (r *ownResult) MarshalJSON() ([]byte, error) {
	if len(r.Meta) == 0 {
		return fmt.Appendf(nil, `{%s}`, r.members), nil
	}
	m, err := stdjson.Marshal(r.Meta)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{%s,"_meta":%s}`, r.members, m), nil
}
