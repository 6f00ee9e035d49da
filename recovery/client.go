package recovery

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// A Session calls tools: *mcp.ClientSession of the Go SDK, *client.Client of mcp-go, or a wrapper around one. P has the
// members name and arguments of a tools/call, directly or in a member params; R is its result. Both have the protocol's JSON
// form. CallTool must return when ctx ends, whatever the server does.
type Session[P, R any] interface {
	CallTool(ctx context.Context, params P) (R, error)
}

// A Client calls tools, and recovers from their failures. It is a [Session] itself, and safe for concurrent use if the
// session is.
type Client[P, R any] struct {
	session Session[P, R]
	engine  *engine
}

// New returns a client that calls tools through session. c is the server's contract.
func New[P, R any](session Session[P, R], c *contract.Contract, options ...Option) *Client[P, R] {
	return &Client[P, R]{session: session, engine: newEngine(c, options)}
}

type keyKey struct{}

// WithKey returns a context whose next call has that idempotency key: a text of the caller's own for each write that it means. Each
// repetition of the call carries it, in _meta, whether the client or the caller makes it, so that a gateway or server that knows such keys
// does it once. Without one the client sends none: a new one for each call would say that a caller who repeats it means another one.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// keyMember is the member of _meta that has the idempotency key.
const keyMember = "io.github.recoursehq/idempotencyKey"

// CallTool calls a tool, and does what the contract says if the call fails. The package documentation says what it returns.
// Params are sent unchanged, except for a retry with other arguments, and for a key.
func (c *Client[P, R]) CallTool(ctx context.Context, params P) (R, error) {
	var none R
	form, err := formOf(params)
	if err != nil {
		return none, err
	}
	if _, ok := ctx.Value(keyKey{}).(string); !ok && form.key != "" {
		ctx = WithKey(ctx, form.key)
	}
	var last R // the result as the session has returned it
	var lastRaw json.RawMessage
	send := func(ctx context.Context, tool string, arguments json.RawMessage, key string) (json.RawMessage, error) {
		p := params
		if tool != form.tool || string(arguments) != string(form.arguments) || key != form.key {
			if p, err = paramsOf[P](form, tool, arguments, key); err != nil {
				return nil, err
			}
		}
		result, err := c.session.CallTool(ctx, p)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("recovery: the result has no JSON form: %w", err)
		}
		if string(raw) == "null" { // callers would dereference a nil result
			return nil, recourse.BadResponse("").WithOrigin(recourse.OriginServer)
		}
		last, lastRaw = result, raw
		return raw, nil
	}
	raw, failure := c.engine.call(ctx, send, form.tool, form.arguments)
	switch {
	case raw == nil:
		return none, failure
	case string(raw) == string(lastRaw):
		return last, failure
	}
	var made R
	if err := json.Unmarshal(raw, &made); err != nil {
		return none, fmt.Errorf("recovery: make a result: %w", err)
	}
	return made, failure
}

// A callForm is a tools/call in an SDK's form.
type callForm struct {
	tool      string
	arguments json.RawMessage
	meta      json.RawMessage
	key       string // in meta
	nested    bool   // in a member params
}

func formOf(params any) (callForm, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return callForm{}, fmt.Errorf("recovery: the arguments have no JSON form: %w", err)
	}
	inner := lookup(raw, "/params")
	f := callForm{nested: inner != nil}
	if f.nested {
		raw = inner
	}
	if f.tool = textOf(lookup(raw, "/name")); f.tool == "" {
		return callForm{}, fmt.Errorf("recovery: %T names no tool", params)
	}
	f.arguments, f.meta = lookup(raw, "/arguments"), lookup(raw, "/_meta")
	f.key = textOf(member(f.meta, keyMember))
	return f, nil
}

func paramsOf[P any](form callForm, tool string, arguments json.RawMessage, key string) (p P, err error) {
	call := map[string]any{"name": tool, "arguments": arguments}
	if key != "" {
		call["_meta"] = withMembers(form.meta, map[string]any{keyMember: key})
	}
	if len(arguments) == 0 {
		delete(call, "arguments")
	}
	if form.nested {
		call = map[string]any{"method": "tools/call", "params": call}
	}
	raw, err := json.Marshal(call)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return p, fmt.Errorf("recovery: make a call of %s: %w", tool, err)
	}
	return p, nil
}
