package mcptool

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Use makes server report failures in the form of c, whatever its tools return. It adds
// receiving middleware to server, for every transport and both eras of the protocol. Tools
// may be added before and after. Use panics if c is nil.
func Use(server *mcp.Server, c *contract.Contract, options ...Option) {
	s := handler.NewServer(c, options)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call := callOf(ctx, next, method, req)
			result, answer := s.Do(ctx, call, func(ctx context.Context) (any, error) {
				result, err := next(ctx, method, req)
				if _, said := errors.AsType[recourse.Failure](err); err != nil && !said && isSDKs(method) {
					return handler.Passed{Err: err}, nil
				}
				return outcome(result, err)
			})
			if answer != nil {
				return write(answer, call.ResultType)
			}
			if p, ok := result.(handler.Passed); ok {
				return nil, p.Err
			}
			own, _ := result.(mcp.Result) // a notification has none
			return own, nil
		}
	})
}

// isSDKs reports whether a method is handled by the SDK alone, so that its errors are
// the SDK's own words.
func isSDKs(method string) bool {
	switch method {
	case wire.MethodInitialize, wire.MethodDiscover, wire.MethodToolsList, "ping", "logging/setLevel",
		"prompts/list", "resources/list", "resources/templates/list", wire.MethodListen:
		return true
	default:
		return strings.HasPrefix(method, "notifications/")
	}
}

// RequestID returns the id of the call that ctx belongs to, which is also in the log and in
// the failure that the client gets: the X-Request-Id of the HTTP request or, on stdio, the
// one that a gateway sends instead, or else a new one. Outside of calls it is "".
func RequestID(ctx context.Context) string { return handler.RequestID(ctx) }

// callOf describes a request.
func callOf(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) *handler.Incoming {
	call := &handler.Incoming{Method: method}
	extra := req.GetExtra()
	if extra != nil {
		call.Header = extra.Header
	}
	if versioned, ok := req.(interface{ ProtocolVersion() string }); ok {
		call.ResultType = versioned.ProtocolVersion() >= wire.Version20260728
	}
	call.List = func(ctx context.Context) ([]*toolcall.Entry, error) {
		session, _ := req.GetSession().(*mcp.ServerSession)
		return list(ctx, next, session, extra)
	}
	params, ok := req.GetParams().(*mcp.CallToolParamsRaw)
	if !ok || params == nil {
		return call
	}
	call.Caller = callerOf(ctx, extra)
	call.Meta = params.Meta
	call.Tool, call.Arguments = params.Name, json.Value(params.Arguments)
	call.RequestID, _ = params.Meta[wire.MetaRequestID].(string) // a value of another type is ignored
	call.Continues = params.RequestState != "" || params.InputResponses != nil
	return call
}

// callerOf returns who calls, as a Guard or the SDK has found out.
func callerOf(ctx context.Context, extra *mcp.RequestExtra) (caller [3]string) {
	if who, ok := CallerOf(ctx); ok {
		return [3]string{"guard", who.Access, who.Name}
	}
	if extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return [3]string{"token", extra.TokenInfo.UserID}
	}
	return caller
}

// list asks the server itself for its tools, as the caller would.
func list(ctx context.Context, next mcp.MethodHandler, session *mcp.ServerSession, extra *mcp.RequestExtra) ([]*toolcall.Entry, error) {
	var tools []*toolcall.Entry
	params := &mcp.ListToolsParams{}
	for {
		result, err := next(ctx, wire.MethodToolsList, &mcp.ListToolsRequest{Session: session, Params: params, Extra: extra})
		if err != nil {
			return nil, err
		}
		page, ok := result.(*mcp.ListToolsResult)
		if !ok {
			return nil, errors.New("tools/list was answered by something else than a list")
		}
		for _, t := range page.Tools {
			tools = append(tools, toolOf(t))
		}
		if page.NextCursor == "" {
			return tools, nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
}

func toolOf(t *mcp.Tool) *toolcall.Entry {
	tool := &toolcall.Entry{
		Name: t.Name, Source: t, OutputSchema: t.OutputSchema != nil,
		InputSchema: func() ([]byte, error) { return stdjson.Marshal(t.InputSchema) },
	}
	if a := t.Annotations; a != nil {
		tool.ReadOnly, tool.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	}
	return tool
}

// outcome sorts out the result of the server's own handling.
func outcome(result mcp.Result, err error) (any, error) {
	if err != nil {
		return nil, failed(err)
	}
	r, ok := result.(*mcp.CallToolResult)
	if !ok || !r.IsError {
		return result, nil
	}
	switch err := r.GetError(); {
	case err == nil:
		return nil, said(r, nil)
	case isOwnText(r, err) && !isArguments(err):
		return nil, failed(err)
	default:
		return nil, said(r, err)
	}
}

// failed returns what a handler failed with.
func failed(err error) error {
	if _, ok := errors.AsType[recourse.Failure](err); ok {
		return err
	}
	if kept, ok := errors.AsType[*keptError](err); ok {
		raw, marshalErr := kept.result.MarshalJSON()
		if marshalErr != nil {
			return errors.Join(err, marshalErr)
		}
		return &handler.ResultError{Result: raw, Own: true}
	}
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return err
	}
	raw, marshalErr := stdjson.Marshal(rpc)
	if marshalErr != nil { // its data is not JSON
		return err
	}
	return &handler.RPCError{Raw: raw, Err: err}
}

// said returns the failure of a result that says isError.
func said(r *mcp.CallToolResult, err error) error {
	if _, ok := errors.AsType[recourse.Failure](err); ok {
		return err
	}
	raw, marshalErr := r.MarshalJSON()
	if marshalErr != nil {
		return errors.Join(err, marshalErr)
	}
	_, overwritten := r.StructuredContent.(stdjson.RawMessage) // as the SDK leaves it of a typed tool
	return &handler.ResultError{Result: raw, Err: err, Own: !overwritten}
}

// isOwnText reports whether the content is nothing but the text of err, which the
// SDK has put there.
func isOwnText(r *mcp.CallToolResult, err error) bool {
	if len(r.Content) != 1 {
		return false
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	return ok && text.Text == err.Error()
}

// isArguments reports whether err is the SDK's report of invalid arguments, which occurs if
// its validation is stricter than ours. The error has no type of its own.
func isArguments(err error) bool {
	return errors.Unwrap(err) == nil && strings.HasPrefix(err.Error(), `validating "arguments": `)
}
