package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A TypeScript is a TypeScript SDK.
type TypeScript string

const (
	// TSv1 is @modelcontextprotocol/sdk, which only knows the legacy era.
	TSv1 TypeScript = "client-v1.mjs"
	// TSv2 is @modelcontextprotocol/client, which knows both.
	TSv2 TypeScript = "client-v2.mjs"
)

// A TSClient is a program that uses a TypeScript SDK's client. One command runs at a time. It answers every elicitation
// with {"action":"accept","content":{"name":"Ada"}}, and every request for sampling with the text "sampled".
type TSClient struct {
	mu            sync.Mutex
	process       *process
	number        int // of the last command
	notifications []json.RawMessage
}

// A TSConnect says how a [TSClient] connects.
type TSConnect struct {
	URL string
	// Command starts a server on stdio, instead of a URL, with the SDK's default environment and Environ.
	Command []string
	Environ map[string]string
	Era     testkit.Era
	// Negotiate lets TSv2 determine the era itself instead of insisting on Era.
	Negotiate bool
	// Capabilities are the client's capabilities, as JSON; the default is elicitation and sampling.
	Capabilities string
	// Headers are sent with every request.
	Headers map[string]string
}

// A TSError is an error that the SDK threw.
type TSError struct {
	Class   string          `json:"class"` // of the object: McpError, StreamableHTTPError, ProtocolError, SdkHttpError, ...
	Message string          `json:"message"`
	Code    string          `json:"code"`   // numbers in decimal; empty without one
	Status  int             `json:"status"` // of HTTP; zero without one
	Data    json.RawMessage `json:"data"`
}

// Error implements error.
func (e *TSError) Error() string { return fmt.Sprintf("%s (code %q): %s", e.Class, e.Code, e.Message) }

// NewTSClient starts a program that uses an SDK's client; it ends with the test. [Node] says what happens if
// Node is missing.
func NewTSClient(tb testing.TB, typescript TypeScript) *TSClient {
	tb.Helper()
	dir := Node(tb)
	p, err := startNode(dir, nil, filepath.Join("testkit", string(typescript)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.close() })
	return &TSClient{process: p}
}

// Connect connects the client. The result is {"protocolVersion", "server"}. As with the other commands, the
// error is a [*TSError] if the SDK threw one.
func (c *TSClient) Connect(ctx context.Context, opts TSConnect) (json.RawMessage, error) {
	era := "legacy"
	switch {
	case opts.Negotiate:
		era = "auto"
	case opts.Era == testkit.Modern:
		era = "modern"
	}
	return c.do(ctx, "connect", 0, map[string]any{
		"url": opts.URL, "start": opts.Command, "env": opts.Environ,
		"era": era, "headers": opts.Headers,
		"capabilities": optional(opts.Capabilities),
	})
}

// ListTools returns the result of the SDK's listTools.
func (c *TSClient) ListTools(ctx context.Context) (json.RawMessage, error) {
	return c.do(ctx, "listTools", 0, nil)
}

// CallTool returns the result of the SDK's callTool. The arguments are JSON, or empty; a zero timeout means
// the SDK's own. The program requests progress: it is among Notifications, without its token.
func (c *TSClient) CallTool(ctx context.Context, name, arguments string, timeout time.Duration) (json.RawMessage, error) {
	return c.do(ctx, "callTool", timeout, map[string]any{"name": name, "args": optional(arguments)})
}

// Request sends any request; params are JSON, or empty.
func (c *TSClient) Request(ctx context.Context, method, params string) (json.RawMessage, error) {
	return c.do(ctx, "request", 0, map[string]any{"method": method, "params": optional(params)})
}

// Listen opens TSv2's stream for the server's own messages in the modern era. The filter is JSON, such as
// {"toolsListChanged":true}; the result is what the server grants of it.
func (c *TSClient) Listen(ctx context.Context, filter string) (json.RawMessage, error) {
	return c.do(ctx, "listen", 0, map[string]any{"filter": optional(filter)})
}

// Notify sends any notification; params are JSON, or empty.
func (c *TSClient) Notify(ctx context.Context, method, params string) error {
	_, err := c.do(ctx, "notify", 0, map[string]any{"method": method, "params": optional(params)})
	return err
}

// SetHeaders replaces the headers of later requests over the same connection.
func (c *TSClient) SetHeaders(ctx context.Context, headers map[string]string) error {
	_, err := c.do(ctx, "headers", 0, map[string]any{"headers": headers})
	return err
}

// Close closes the SDK's client; the program keeps running and may connect again.
func (c *TSClient) Close(ctx context.Context) error {
	_, err := c.do(ctx, "close", 0, nil)
	return err
}

// Notifications returns the notifications that had arrived when the last command ended, oldest first.
func (c *TSClient) Notifications() []json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notifications)
}

// optional returns raw JSON, or nil if there is none, so that JavaScript sees no member at all.
func optional(raw string) any {
	if raw == "" {
		return nil
	}
	return json.RawMessage(raw)
}

// do makes the program run a command.
func (c *TSClient) do(ctx context.Context, command string, timeout time.Duration, args map[string]any) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	msg := map[string]any{"command": command, "number": c.number}
	if timeout > 0 {
		msg["timeout"] = timeout.Milliseconds()
	}
	for name, value := range args {
		if value != nil {
			msg[name] = value
		}
	}
	line, err := json.Marshal(msg)
	if err != nil {
		return nil, fmt.Errorf("testkit: %s: %w", command, err)
	}
	if _, err := c.process.stdin.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("testkit: %s: %w: %s", command, err, &c.process.stderr)
	}
	reply, err := c.reply(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("testkit: %s: %w", command, err)
	case reply.Error != nil:
		return nil, reply.Error
	default:
		return reply.Result, nil
	}
}

// A tsReply is the program's reply to a command.
type tsReply struct {
	Number        int               `json:"number"`
	Result        json.RawMessage   `json:"result"`
	Error         *TSError          `json:"error"`
	Notifications []json.RawMessage `json:"notifications"`
}

// reply waits for the reply to the last command, and skips replies to commands whose context ended earlier.
func (c *TSClient) reply(ctx context.Context) (tsReply, error) {
	for {
		line, err := c.process.line(ctx)
		if err != nil {
			return tsReply{}, err
		}
		var reply tsReply
		if err := json.Unmarshal([]byte(line), &reply); err != nil {
			return tsReply{}, fmt.Errorf("decode %.200q: %w", line, err)
		}
		c.notifications = append(c.notifications, reply.Notifications...)
		if reply.Number == c.number {
			return reply, nil
		}
	}
}
