// Package mcpgotool gives an MCP server that is built with mcp-go
// (github.com/mark3labs/mcp-go) an error contract, as package mcptool does for the Go SDK:
//
//	s := server.NewMCPServer("farm", "1.0.0")
//	fieldmcp := contract.MustBuiltin("fieldmcp")
//	mcpgotool.Use(s, fieldmcp)
//
// The options, the Transport and the Guard are those of package mcptool.
//
// # What the SDK cannot write
//
// mcp-go writes results as a fixed struct, and only the text of a handler's error. In these
// cases, the text blocks and the record in _meta hold what is lost elsewhere:
//
//   - a member of the result beside content, structuredContent and isError, such as
//     commerce's error: its JSON is the text;
//   - mimeType in a text block, as in patterns;
//   - JSON-RPC errors with a code and data, such as commerce's -32602: the failure is a
//     tool result in the form that the contract has for it;
//   - failures of resources and prompts: the contract gives the message of the JSON-RPC
//     error -32603, and there is no record.
//
// Some calls never reach a handler and are answered by the SDK: calls of a tool that does
// not exist (-32602, without the nearest name), calls that run as tasks, and, with
// WithInputSchemaValidation, arguments that do not fit. That option is not needed here.
package mcpgotool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Use makes s report failures in the form of c, whatever its tools return. It adds
// middleware for tools, resources and prompts; middleware that was added before runs
// outside. Tools may be added before and after. Use panics if c is nil.
func Use(s *server.MCPServer, c *contract.Contract, options ...mcptool.Option) {
	u := &use{server: s, calls: handler.NewServer(c, options)}
	s.Use(u.tool)
	server.WithResourceHandlerMiddleware(u.resource)(s)
	server.WithPromptHandlerMiddleware(u.prompt)(s)
}

type use struct {
	server *server.MCPServer
	calls  *handler.AuthorServer
}

func (u *use) tool(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, answer := u.calls.Do(ctx, u.call(ctx, &request), func(ctx context.Context) (any, error) {
			return outcome(next(ctx, request))
		})
		if answer != nil {
			return write(answer)
		}
		if p, ok := result.(handler.Passed); ok {
			return nil, p.Err
		}
		own, _ := result.(*mcp.CallToolResult)
		return own, nil
	}
}

// call describes a call of a tool.
func (u *use) call(ctx context.Context, request *mcp.CallToolRequest) *handler.Incoming {
	arguments := request.Params.RawArguments
	if arguments == nil && request.Params.Arguments != nil { // a call that was not read from the wire
		if raw, err := json.Marshal(request.Params.Arguments); err == nil { // what has no JSON form is not checked
			arguments = raw
		}
	}
	again := request.Params.MultiRoundTripParams
	requestID := ""
	if meta := request.Params.Meta; meta != nil {
		requestID, _ = meta.AdditionalFields[wire.MetaRequestID].(string) // a value of another type is ignored
	}
	var caller [3]string
	if who, ok := mcptool.CallerOf(ctx); ok {
		caller = [3]string{"guard", who.Access, who.Name}
	}
	return &handler.Incoming{
		Caller: caller, Meta: request.Params.Meta,
		Method: wire.MethodToolsCall, Tool: request.Params.Name, Arguments: []byte(arguments), Header: request.Header, RequestID: requestID,
		Continues: again.RequestState != "" || again.InputResponses != nil, ResultOnly: true,
		List: func(context.Context) ([]*toolcall.Entry, error) { return u.list(ctx) },
	}
}

// list returns the tools of the server and those of the session.
func (u *use) list(ctx context.Context) ([]*toolcall.Entry, error) {
	var tools []*toolcall.Entry
	own := map[string]server.ServerTool{}
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithTools); ok {
		own = session.GetSessionTools()
	}
	add := func(t *mcp.Tool) error {
		schema, err := inputSchema(t)
		tools = append(tools, &toolcall.Entry{
			Name: t.Name, Source: string(schema),
			InputSchema:  func() ([]byte, error) { return schema, nil },
			OutputSchema: t.RawOutputSchema != nil || t.OutputSchema.Type != "",
			ReadOnly:     isTrue(t.Annotations.ReadOnlyHint), Idempotent: isTrue(t.Annotations.IdempotentHint),
		})
		return err
	}
	for _, t := range own {
		if err := add(&t.Tool); err != nil {
			return nil, err
		}
	}
	for name, t := range u.server.ListTools() {
		if _, hidden := own[name]; hidden {
			continue
		}
		if err := add(&t.Tool); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func inputSchema(t *mcp.Tool) ([]byte, error) {
	if t.RawInputSchema != nil {
		return t.RawInputSchema, nil
	}
	return json.Marshal(t.InputSchema)
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// outcome sorts out the result of a handler.
func outcome(result *mcp.CallToolResult, err error) (any, error) {
	switch {
	case asks(err):
		return handler.Passed{Err: err}, nil
	case err != nil:
		return nil, err
	case result == nil || !result.IsError:
		return result, nil
	}
	raw, err := result.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return nil, &handler.ResultError{Result: raw, Own: true}
}

// asks reports whether err asks the client's user for something; the SDK can write that.
func asks(err error) bool {
	_, value := errors.AsType[mcp.URLElicitationRequiredError](err)
	_, pointer := errors.AsType[*mcp.URLElicitationRequiredError](err)
	return value || pointer
}

// write turns the contract's answer into what the SDK sends.
func write(answer *contract.Answer) (*mcp.CallToolResult, error) {
	if answer.Surface == contract.SurfaceRPC { // of which the SDK would send the text alone
		result := mcp.NewToolResultError(answer.Message)
		record, err := json.Marshal(answer.Record)
		if err != nil {
			return nil, err
		}
		result.Meta = mcp.NewMetaFromMap(map[string]any{recourse.MetaKey: json.RawMessage(record)})
		return result, nil
	}
	result := new(mcp.CallToolResult)
	if err := result.UnmarshalJSON(answer.Result); err != nil {
		return nil, err
	}
	var exact struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(answer.Result, &exact); err != nil {
		return nil, err
	}
	if exact.Meta != nil {
		members := map[string]any{}
		for name, value := range exact.Meta { // numbers stay as they are spelled
			members[name] = value
		}
		result.Meta = &mcp.Meta{AdditionalFields: members}
	}
	return result, nil
}

func (u *use) resource(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	return func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		result, err := other(ctx, u, wire.MethodResourcesRead, func(ctx context.Context) ([]mcp.ResourceContents, error) {
			return next(ctx, request)
		})
		return result, err
	}
}

func (u *use) prompt(next server.PromptHandlerFunc) server.PromptHandlerFunc {
	return func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return other(ctx, u, wire.MethodPromptsGet, func(ctx context.Context) (*mcp.GetPromptResult, error) {
			return next(ctx, request)
		})
	}
}

// other handles requests other than calls.
func other[Result any](ctx context.Context, u *use, method string, next func(context.Context) (Result, error)) (Result, error) {
	result, answer := u.calls.Do(ctx, &handler.Incoming{Method: method}, func(ctx context.Context) (any, error) {
		result, err := next(ctx)
		if asks(err) || errors.Is(err, server.ErrResourceNotFound) {
			return handler.Passed{Err: err}, nil
		}
		return result, err
	})
	var none Result
	if answer != nil {
		return none, errors.New(answer.Message)
	}
	if p, ok := result.(handler.Passed); ok {
		return none, p.Err
	}
	own, _ := result.(Result)
	return own, nil
}
