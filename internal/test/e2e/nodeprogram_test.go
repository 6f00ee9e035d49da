package e2e_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// A nodeProgram uses the client of a TypeScript SDK.
type nodeProgram struct {
	tb     testing.TB
	client *sdk.TSClient
	opts   sdk.TSConnect
	info   json.RawMessage // of the connection
}

var _ program = (*nodeProgram)(nil)

func newNodeProgram(tb testing.TB, typescript sdk.TypeScript, opts sdk.TSConnect) *nodeProgram {
	tb.Helper()
	return &nodeProgram{tb: tb, client: sdk.NewTSClient(tb, typescript), opts: opts}
}

func (p *nodeProgram) connect(ctx context.Context, url string, headers map[string]string) error {
	opts := p.opts
	opts.URL, opts.Headers = url, headers
	return p.open(ctx, opts)
}

func (p *nodeProgram) setHeaders(ctx context.Context, headers map[string]string) error {
	return p.client.SetHeaders(ctx, headers)
}

func (p *nodeProgram) launch(ctx context.Context, command []string, environ map[string]string) error {
	opts := p.opts
	opts.Command, opts.Environ = command, environ
	return p.open(ctx, opts)
}

func (p *nodeProgram) open(ctx context.Context, opts sdk.TSConnect) error {
	if p.info != nil {
		if err := p.client.Close(ctx); err != nil {
			return err
		}
	}
	var err error
	p.info, err = p.client.Connect(ctx, opts)
	return err
}

// negotiated returns the version of the protocol that is spoken.
func (p *nodeProgram) negotiated() string {
	var info struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(p.info, &info); err != nil {
		p.tb.Error(err)
	}
	return info.Version
}

func (p *nodeProgram) call(ctx context.Context, tool, arguments string, patience time.Duration) (json.RawMessage, error) {
	return p.client.CallTool(ctx, tool, arguments, patience)
}

func (p *nodeProgram) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	return p.client.Request(ctx, method, params)
}

func (p *nodeProgram) subscribe(ctx context.Context, uri string) error {
	if p.opts.Era == testkit.Legacy {
		if uri == "" {
			return nil
		}
		_, err := p.client.Request(ctx, "resources/subscribe", `{"uri":"`+uri+`"}`)
		return err
	}
	filter := `{"toolsListChanged":true}`
	if uri != "" {
		filter = `{"resourceSubscriptions":["` + uri + `"]}`
	}
	_, err := p.client.Listen(ctx, filter)
	return err
}

func (p *nodeProgram) heard() []string {
	var heard []string
	for _, raw := range p.client.Notifications() {
		var n struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(raw, &n); err != nil {
			p.tb.Error(err)
		}
		heard = append(heard, n.Method+" "+string(n.Params))
	}
	return heard
}
