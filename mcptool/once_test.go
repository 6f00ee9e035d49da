package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

// payments is a server whose tool pay is called once.
func payments(t *testing.T, o mcptool.Once, pay func(ctx context.Context, n int64) error, options ...mcptool.ToolOption) *mcp.ClientSession {
	t.Helper()
	server := newServer()
	var n atomic.Int64
	mcp.AddTool(server, &mcp.Tool{Name: "pay"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, map[string]int64, error) {
			call := n.Add(1)
			err := pay(ctx, call)
			return nil, map[string]int64{"payment": call}, err
		})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), silent, mcptool.WithTool("pay", append(options, mcptool.WithOnce(o))...))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, clientLeft{}, ctx.Done()), method, req)
		}
	})
	return connect(t, server)
}

// clientLeft is the key of what ends in a handler's context when its client has left.
type clientLeft struct{}

// A paid is what a client is told of a call.
type paid struct {
	Structured string
	Replayed   bool
	Kind       recourse.Kind
	Effect     recourse.Effect
	Code       string
	Differs    string
}

func pay(ctx context.Context, t *testing.T, c *mcp.ClientSession, arguments string, meta mcp.Meta) paid {
	t.Helper()
	r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: json.RawMessage(arguments), Meta: meta})
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return paid{}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Error(err)
	}
	var said struct {
		Structured json.RawMessage `json:"structuredContent"`
		Meta       struct {
			Once   struct{ Replayed bool } `json:"io.github.recoursehq/once"`
			Record *recourse.Error         `json:"io.github.recoursehq/error"`
		} `json:"_meta"`
	}
	unmarshal(t, raw, &said)
	p := paid{Structured: string(said.Structured), Replayed: said.Meta.Once.Replayed}
	if e := said.Meta.Record; e != nil {
		p.Kind, p.Effect, p.Code, p.Differs = e.Kind, e.Effect, e.Code, string(e.Details["differs"])
	}
	return p
}

var (
	firstPaid    = paid{Structured: `{"payment":1}`}
	firstAgain   = paid{Structured: `{"payment":1}`, Replayed: true}
	secondPaid   = paid{Structured: `{"payment":2}`}
	stillUnknown = paid{Kind: recourse.KindTimeout, Effect: recourse.EffectUnknown, Code: "outcome_unknown"}
)

func expect(t *testing.T, what string, got, want paid) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// Two of the same call at once have one effect, and get the same answer.
func TestOnceAtOnce(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mcptool.Once{"arguments": {}, "key": {Key: []string{"/reference"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, proceed := make(chan struct{}), make(chan struct{})
			c := payments(t, o, func(context.Context, int64) error { close(began); <-proceed; return nil })
			answers := make(chan paid, 2)
			var work sync.WaitGroup
			call := func() { answers <- pay(t.Context(), t, c, `{"reference":"A-17","amount":1.0}`, nil) }
			work.Go(call)
			<-began
			work.Go(call)
			close(proceed)
			work.Wait()
			one, other := <-answers, <-answers
			if one.Replayed {
				one, other = other, one
			}
			expect(t, "the first", one, firstPaid)
			expect(t, "the second", other, firstAgain)
		})
	}
}

// A client that leaves does not end the call: its repetition gets the same answer, also where calls may be made again.
func TestOnceCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := payments(t, mcptool.Once{Delivered: mcptool.OnceAgain}, func(ctx context.Context, n int64) error {
		if left, _ := ctx.Value(clientLeft{}).(<-chan struct{}); n == 1 {
			cancel()
			<-left
		}
		return ctx.Err()
	})
	pay(ctx, t, c, `{"reference":"A-17"}`, nil)
	expect(t, "the repetition", pay(t.Context(), t, c, `{"reference":"A-17"}`, nil), firstAgain)
	expect(t, "one that has been answered", pay(t.Context(), t, c, `{"reference":"A-17"}`, nil), secondPaid)
}

// The same key with other arguments is a conflict that names what differs; another key is another call.
func TestOnceKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conflict := paid{Kind: recourse.KindConflict, Effect: recourse.EffectNone, Code: "conflict", Differs: `["/amount"]`}
	chosen := payments(t, mcptool.Once{Key: []string{"/reference"}}, func(context.Context, int64) error { return nil })
	expect(t, "chosen", pay(ctx, t, chosen, `{"reference":"A-17","amount":1}`, nil), firstPaid)
	expect(t, "otherwise spelled", pay(ctx, t, chosen, `{"amount":1.0,"reference":"\u0041-17"}`, nil), firstAgain)
	expect(t, "another amount", pay(ctx, t, chosen, `{"reference":"A-17","amount":2}`, nil), conflict)
	expect(t, "another reference", pay(ctx, t, chosen, `{"reference":"A-18","amount":1}`, nil), secondPaid)

	required := payments(t, mcptool.Once{Key: []string{mcptool.OnceRequired}}, func(context.Context, int64) error { return nil })
	k1, k2 := mcp.Meta{"idempotency-key": "k-1"}, mcp.Meta{"io.github.recoursehq/idempotencyKey": "k-2"}
	missing := paid{Kind: recourse.KindMissingParam, Effect: recourse.EffectNone, Code: "missing_param"}
	expect(t, "no key", pay(ctx, t, required, `{"amount":1}`, nil), missing)
	expect(t, "a key", pay(ctx, t, required, `{"amount":1}`, k1), firstPaid)
	expect(t, "the same key", pay(ctx, t, required, `{"amount":1}`, k1), firstAgain)
	expect(t, "other arguments", pay(ctx, t, required, `{"amount":2}`, k1), conflict)
	expect(t, "another key", pay(ctx, t, required, `{"amount":1}`, k2), secondPaid)
	invalid := paid{Kind: recourse.KindInvalidValue, Effect: recourse.EffectNone, Code: "invalid_value"}
	expect(t, "an empty key", pay(ctx, t, required, `{"amount":1}`, mcp.Meta{"idempotency-key": ""}), invalid)
}

// What failed before it had an effect is made; of what may have happened nobody makes a second one.
func TestOnceFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail func() error
		then paid
	}{
		"a conflict":         {func() error { return recourse.Conflict("sold out") }, secondPaid},
		"refused":            {func() error { return recourse.Unavailable("bank").WithEffect(recourse.EffectNone) }, secondPaid},
		"a question":         {func() error { return &recourse.NeedsInput{Message: "Which account?"} }, secondPaid},
		"an error":           {func() error { return errors.New("connection reset") }, stillUnknown},
		"a panic":            {func() error { panic("boom") }, stillUnknown},
		"its own time limit": {func() error { return context.DeadlineExceeded }, stillUnknown},
		"applied in part": {
			func() error { return recourse.Internal().WithEffect(recourse.EffectApplied) },
			paid{Kind: recourse.KindConflict, Effect: recourse.EffectApplied, Code: "outcome_known"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := payments(t, mcptool.Once{}, func(_ context.Context, n int64) error {
				if n == 1 {
					return test.fail()
				}
				return nil
			})
			pay(t.Context(), t, c, `{"reference":"A-17"}`, nil)
			expect(t, "the repetition", pay(t.Context(), t, c, `{"reference":"A-17"}`, nil), test.then)
		})
	}
}

// A handler that goes on after its time: the call is unknown until it has ended, and then its answer counts.
func TestOnceLate(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	c := payments(t, mcptool.Once{}, func(context.Context, int64) error { <-proceed; return nil }, mcptool.WithTimeout(20*time.Millisecond))
	for range 2 {
		if got := pay(t.Context(), t, c, `{}`, nil); got.Kind != recourse.KindTimeout || got.Effect != recourse.EffectUnknown {
			t.Errorf("got %+v", got)
		}
	}
	close(proceed)
	got := stillUnknown
	for got == stillUnknown && t.Context().Err() == nil {
		got = pay(t.Context(), t, c, `{}`, nil)
	}
	expect(t, "the repetition", got, firstAgain)
}

// An answer is replayed whatever it is made of, in both eras.
func TestOnceOverEveryWire(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := newServer()
			var n atomic.Int64
			server.AddTool(&mcp.Tool{Name: "draw", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					n.Add(1)
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil
				})
			mcptool.Use(server, builtin(t, contract.Default), silent, mcptool.WithTool("draw", mcptool.WithOnce(mcptool.Once{})))
			c := w.dial(t, server)
			first, again := c.call(t, "draw", `{}`).Result, c.call(t, "draw", `{}`).Result
			if n.Load() != 1 || !strings.Contains(string(again), `"replayed":true`) ||
				string(memberOf(t, again, "content")) != string(memberOf(t, first, "content")) {
				t.Errorf("%d calls: %s, then %s", n.Load(), first, again)
			}
		})
	}
}

// A repetition that cannot wait any longer for the first call is told that it is under way, and ends nothing.
func TestOnceUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		c := payments(t, mcptool.Once{}, func(context.Context, int64) error { <-proceed; return nil })
		first := make(chan paid)
		go func() { first <- pay(t.Context(), t, c, `{}`, nil) }()
		synctest.Wait()
		inFlight := paid{Kind: recourse.KindUnavailable, Effect: recourse.EffectNone, Code: "in_flight"}
		expect(t, "the repetition", pay(t.Context(), t, c, `{}`, nil), inFlight)
		close(proceed)
		expect(t, "the first", <-first, firstPaid)
		expect(t, "another repetition", pay(t.Context(), t, c, `{}`, nil), firstAgain)
	})
}

// Callers without a name are told apart by their credentials, those with one by that, whatever credentials they use.
func TestOnceCallers(t *testing.T) {
	t.Parallel()
	names := map[string]string{"Bearer 1": "ann", "Bearer 2": "ann", "Bearer 3": "bob"}
	for name, test := range map[string]struct {
		options []mcptool.GuardOption
		want    string
	}{
		"named":   {[]mcptool.GuardOption{mcptool.WithAuthenticator(keys{"Authorization", names})}, "1 1 1 2"},
		"unnamed": {nil, "1 1 2 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer()
			var n atomic.Int64
			mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.FormatInt(n.Add(1), 10)}}}, nil, nil
			})
			c := builtin(t, contract.Default)
			mcptool.Use(server, c, silent, mcptool.WithTool("pay", mcptool.WithOnce(mcptool.Once{})))
			url := listen(t, server, mcptool.Guard(handler(server, testkit.Modern), c, append(test.options, silent)...))
			var got []string
			for _, bearer := range []string{"Bearer 1", "Bearer 1", "Bearer 2", "Bearer 3"} {
				client := testkit.NewClient(t, url, testkit.Modern)
				client.Header = http.Header{"Authorization": {bearer}}
				a, err := client.Request(t.Context(), "tools/call", `{"name":"pay","arguments":{}}`)
				if err != nil {
					t.Fatal(err)
				}
				var result struct {
					Content []struct{ Text string } `json:"content"`
				}
				unmarshal(t, a.Message.Result, &result)
				got = append(got, result.Content[0].Text)
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// What a repetition gets is in the author's log.
func TestOnceIsLogged(t *testing.T) {
	t.Parallel()
	server, log := newServer(), new(journal)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"},
		func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, map[string]int64, error) {
			if in["reference"] == "lost" {
				return nil, nil, errors.New("connection reset")
			}
			return nil, map[string]int64{"payment": 1}, nil
		})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger()),
		mcptool.WithTool("pay", mcptool.WithOnce(mcptool.Once{Key: []string{"/reference"}})))
	c := connect(t, server)
	for _, call := range []struct{ arguments, want string }{
		{`{"reference":"A-17"}`, ""},
		{`{"reference":"A-17"}`, "once=replayed tool=pay"},
		{`{"reference":"A-17","amount":2}`, "once=conflict tool=pay kind=conflict"},
		{`{"reference":"lost"}`, "tool=pay kind=internal"},
		{`{"reference":"lost"}`, "once=unknown tool=pay kind=timeout"},
	} {
		before := len(log.String())
		pay(t.Context(), t, c, call.arguments, nil)
		if lines := log.String()[before:]; !strings.Contains(lines, call.want) || (lines == "") != (call.want == "") {
			t.Errorf("%s: want %q, got\n%s", call.arguments, call.want, lines)
		}
	}
}
