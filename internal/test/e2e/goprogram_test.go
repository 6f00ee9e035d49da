package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A goProgram uses the Go SDK's client.
type goProgram struct {
	tb      testing.TB
	version string // of the protocol; if empty, the SDK negotiates
	http    *http.Transport
	headers atomic.Pointer[map[string]string] // that are sent with every request
	session *mcp.ClientSession

	mu            sync.Mutex
	notifications []string
}

var _ program = (*goProgram)(nil)

func newGoProgram(tb testing.TB, version string) *goProgram {
	tb.Helper()
	p := &goProgram{tb: tb, version: version, http: &http.Transport{}}
	tb.Cleanup(p.close)
	return p
}

// close ends the session, if any. A session that is already lost is fine.
func (p *goProgram) close() {
	if p.session != nil {
		_ = p.session.Close()
		p.session = nil
	}
	p.http.CloseIdleConnections()
}

func (p *goProgram) connect(ctx context.Context, url string, headers map[string]string) error {
	p.close() // with the headers before
	p.headers.Store(&headers)
	return p.open(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withHeaders{p.http, &p.headers}},
	})
}

func (p *goProgram) setHeaders(_ context.Context, headers map[string]string) error {
	p.headers.Store(&headers)
	return nil
}

func (p *goProgram) launch(ctx context.Context, command []string, environ map[string]string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = os.Environ(), p.tb.Output()
	for name, value := range environ {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return p.open(ctx, &mcp.CommandTransport{Command: cmd})
}

func (p *goProgram) open(ctx context.Context, transport mcp.Transport) error {
	p.close()
	opts := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "testkit", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			p.hear("notifications/tools/list_changed", r.Params)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			p.hear("notifications/resources/updated", r.Params)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			p.hear("notifications/message", r.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			p.hear("notifications/progress", r.Params)
		},
	}
	var err error
	p.session, err = mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, opts).Connect(ctx, transport,
		&mcp.ClientSessionOptions{ProtocolVersion: p.version})
	if err != nil {
		p.session = nil
		return err
	}
	if got := p.negotiated(); p.version != "" && got != p.version {
		return fmt.Errorf("negotiated %s, want %s", got, p.version)
	}
	return nil
}

// negotiated returns the version of the protocol that is spoken.
func (p *goProgram) negotiated() string { return p.session.InitializeResult().ProtocolVersion }

// withHeaders adds headers to each request.
type withHeaders struct {
	http.RoundTripper

	headers *atomic.Pointer[map[string]string]
}

// RoundTrip implements [http.RoundTripper].
func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range *w.headers.Load() {
		r.Header.Set(name, value)
	}
	return w.RoundTripper.RoundTrip(r)
}

func (p *goProgram) hear(method string, params any) {
	text, err := json.Marshal(params)
	if err != nil {
		p.tb.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notifications = append(p.notifications, method+" "+string(text))
}

func (p *goProgram) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notifications)
}

func (p *goProgram) call(ctx context.Context, tool, arguments string, patience time.Duration) (json.RawMessage, error) {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
	params.SetProgressToken("progress")
	return returned(p.session.CallTool(ctx, params))
}

// request sends a request with the SDK's method for it.
func (p *goProgram) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	send, ok := map[string]func() (json.RawMessage, error){
		"tools/list":               func() (json.RawMessage, error) { return send(ctx, params, p.session.ListTools) },
		"prompts/list":             func() (json.RawMessage, error) { return send(ctx, params, p.session.ListPrompts) },
		"prompts/get":              func() (json.RawMessage, error) { return send(ctx, params, p.session.GetPrompt) },
		"resources/list":           func() (json.RawMessage, error) { return send(ctx, params, p.session.ListResources) },
		"resources/templates/list": func() (json.RawMessage, error) { return send(ctx, params, p.session.ListResourceTemplates) },
		"resources/read":           func() (json.RawMessage, error) { return send(ctx, params, p.session.ReadResource) },
		"completion/complete":      func() (json.RawMessage, error) { return send(ctx, params, p.session.Complete) },
		"ping":                     func() (json.RawMessage, error) { return json.RawMessage("{}"), p.session.Ping(ctx, nil) },
		"logging/setLevel": func() (json.RawMessage, error) {
			return send(ctx, params, func(ctx context.Context, level *mcp.SetLoggingLevelParams) (struct{}, error) {
				return struct{}{}, p.session.SetLoggingLevel(ctx, level)
			})
		},
	}[method]
	if !ok {
		p.tb.Fatalf("the Go SDK has no method for %s", method)
	}
	return send()
}

func send[P, R any](ctx context.Context, params string, method func(context.Context, *P) (R, error)) (json.RawMessage, error) {
	p := new(P)
	if params != "" {
		if err := json.Unmarshal([]byte(params), p); err != nil {
			return nil, err
		}
	}
	return returned(method(ctx, p))
}

// returned returns the result of an SDK method as JSON.
func returned[R any](result R, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// subscribe subscribes to a resource. Changes of the tool list arrive anyway: the SDK listens for everything that has a
// handler.
func (p *goProgram) subscribe(ctx context.Context, uri string) error {
	if uri == "" {
		return nil
	}
	return p.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

// thrownByGo returns what a program can tell from an error of the Go SDK.
func thrownByGo(err error) thrown {
	t := thrown{Class: "error"}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		t = thrown{Class: "*jsonrpc.Error", Code: strconv.FormatInt(rpc.Code, 10), Kind: recordKind(rpc.Data)}
	}
	values := map[string]error{
		"mcp.ErrSessionMissing":    mcp.ErrSessionMissing,
		"mcp.ErrConnectionClosed":  mcp.ErrConnectionClosed,
		"context.DeadlineExceeded": context.DeadlineExceeded,
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if errors.Is(err, values[name]) {
			t.Class = name
		}
	}
	return t
}
