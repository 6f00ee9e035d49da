package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A boundedWay is a way from a client to a server.
type boundedWay struct {
	server, client testkit.Era
	stdio, many    bool
}

var boundedWays = map[string]boundedWay{
	"HTTP, legacy era":              {server: testkit.Legacy, client: testkit.Legacy},
	"HTTP, modern era":              {server: testkit.Modern, client: testkit.Modern},
	"stdio":                         {server: testkit.Legacy, client: testkit.Legacy, stdio: true},
	"bridge to a modern server":     {server: testkit.Modern, client: testkit.Legacy},
	"bridge to a legacy server":     {server: testkit.Legacy, client: testkit.Modern},
	"many servers, legacy client":   {server: testkit.Modern, client: testkit.Legacy, many: true},
	"many servers, modern client":   {server: testkit.Modern, client: testkit.Modern, many: true},
	"many, bridged to their server": {server: testkit.Legacy, client: testkit.Modern, many: true},
	"many servers, over stdio":      {server: testkit.Modern, client: testkit.Legacy, many: true, stdio: true},
}

// A bounded is a client, of whichever kind, with what is behind it.
type bounded struct {
	t    *testing.T
	srv  *testkit.Server
	http *testkit.Client   // nil: it is a host
	host *gatewaytest.Host // nil: it is not
	log  *gatewaytest.Log
	ids  int
}

// start starts a gateway with those top-level keys in front of a server with those tools.
func (w boundedWay) start(t *testing.T, keys string, tools []testkit.Tool) *bounded {
	t.Helper()
	b := &bounded{t: t, srv: testkit.NewServer(t, testkit.WithEra(w.server), testkit.WithTools(tools...))}
	entry := "servers: {farm: {url: '" + b.srv.URL() + "'}}\n"
	if w.many {
		entry = "servers: {farm: {url: '" + b.srv.URL() + "', path: none}}\nendpoints: {all: {path: " + gatewaytest.Path + ", servers: [farm]}}\n"
	}
	g, log := gatewaytest.New(t, keys+"\n"+entry)
	if b.log = log; w.stdio {
		b.host = gatewaytest.StartHost(t, g)
		b.host.Initialize()
		return b
	}
	f := &gatewaytest.Front{URL: gatewaytest.Open(t, g, false) + gatewaytest.Path, Log: log}
	b.http = f.Client(t, w.client)
	return b
}

// begin begins a call. outcome waits for its end: the kind of its failure, or "ok".
func (b *bounded) begin(tool, arguments string) (outcome func() string, cancel func()) {
	if b.host != nil {
		b.ids++
		id := b.ids
		b.host.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
		return func() string {
				a := &testkit.Answer{Message: new(testkit.Message)}
				if err := json.Unmarshal([]byte(<-b.host.Lines), a.Message); err != nil {
					b.t.Fatal(err)
				}
				return outcomeOf(b.t, a)
			}, func() {
				b.host.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
			}
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan string, 1)
	go func() {
		defer close(done) // also if it is not the answer that it should be
		a, err := b.http.Call(ctx, tool, arguments)
		if err != nil {
			done <- err.Error()
			return
		}
		done <- outcomeOf(b.t, a)
	}()
	return func() string { return <-done }, cancel
}

func (b *bounded) call(tool, arguments string) string {
	outcome, cancel := b.begin(tool, arguments)
	defer cancel()
	return outcome()
}

func outcomeOf(t *testing.T, a *testkit.Answer) string {
	if a.Succeeded() {
		return "ok"
	}
	return string(gatewaytest.Record(t, a).Kind)
}

func message(bytes int) string { return `{"message":"` + strings.Repeat("m", bytes) + `"}` }

func nested(levels int) string {
	return `{"message":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
}

// manyTools are more than a gateway keeps of a list.
func manyTools() []testkit.Tool {
	tools := make([]testkit.Tool, 2500)
	for i := range tools {
		tools[i].Name = fmt.Sprintf("tool_%d", i)
		tools[i].Definition = fmt.Sprintf(`{"name":"tool_%d","inputSchema":{"type":"object","required":["a"]}}`, i)
	}
	return tools
}

// Each bound holds on each way, at the same place, with the same outcome.
func TestBoundsOnEachWay(t *testing.T) {
	t.Parallel()
	bounds := map[string]struct {
		keys  string
		tools []testkit.Tool
		try   func(b *bounded)
	}{
		"size of a message": {keys: "max_request: 64KiB", try: func(b *bounded) {
			b.want("ok", b.call(testkit.Echo, message(60<<10)))
			b.want(string(recourse.KindTooLarge), b.call(testkit.Echo, message(70<<10)))
		}},
		"depth": {try: func(b *bounded) {
			b.want(string(recourse.KindInvalidType), b.call(testkit.Echo, nested(100))) // it is read, and no text
			b.want(string(recourse.KindInvalidRequest), b.call(testkit.Echo, nested(130)))
		}},
		"size of an answer": {keys: "max_result: 64KiB", try: func(b *bounded) {
			b.want("ok", b.call(testkit.Echo, message(60<<10)))
			b.want(string(recourse.KindBadResponse), b.call(testkit.Echo, message(70<<10)))
		}},
		"window of an answer": {keys: "decide_within: 16KiB", try: func(b *bounded) {
			b.want("ok", b.call(testkit.Echo, message(200<<10)))
		}},
		"size of a failure": {keys: "decide_within: 16KiB\nmax_failure: 64KiB", try: func(b *bounded) {
			for _, size := range []int{60 << 10, 200 << 10} { // of the longer one the beginning is read, and the call has failed all the same
				text := strings.Repeat("invalid crop, ", size/14)
				b.srv.Next(testkit.Echo, faults.Result("large", `{"isError":true,"content":[{"type":"text","text":"`+text+`"}],"resultType":"complete"}`))
				b.want(string(recourse.KindInvalidValue), b.call(testkit.Echo, message(1)))
			}
		}},
		"bytes in flight": {keys: "max_request: 1MiB\nmax_in_flight: 2MiB", try: func(b *bounded) {
			b.srv.Next(testkit.Echo, faults.Hang())
			before := b.srv.Executions(testkit.Echo)
			_, cancel := b.begin(testkit.Echo, message(900<<10))
			if err := b.srv.Await(b.t.Context(), func() bool { return b.srv.Executions(testkit.Echo) > before }); err != nil {
				b.t.Fatal(err)
			}
			b.want(string(recourse.KindRateLimited), b.call(testkit.Echo, message(900<<10)))
			b.want("ok", b.call(testkit.Echo, message(10)))
			cancel()
		}},
		"list of tools": {tools: manyTools(), try: func(b *bounded) {
			b.want(string(recourse.KindMissingParam), b.call("tool_0", `{}`))
			b.want("ok", b.call("tool_2499", `{}`)) // it passes unchecked
			b.want("1", strconv.Itoa(notes(b.t, b.log)[""]))
		}},
		"header": {try: func(b *bounded) {
			for size, refused := range map[int]bool{60 << 10: false, 73 << 10: true} {
				if b.http == nil { // there is none
					return
				}
				a, err := b.http.Post(b.t.Context(), []byte(ping), http.Header{"X-Long": {strings.Repeat("x", size)}})
				if err != nil || a.Status == http.StatusRequestHeaderFieldsTooLarge != refused {
					b.t.Errorf("%d bytes: got %v, %v", size, a, err)
				}
			}
		}},
	}
	for name, bound := range bounds {
		for over, way := range boundedWays {
			t.Run(name+"/"+over, func(t *testing.T) {
				t.Parallel()
				b := way.start(t, bound.keys, bound.tools)
				b.want("ok", b.call(testkit.Echo, message(1)))
				bound.try(b)
				b.want("ok", b.call(testkit.Echo, message(1)))
			})
		}
	}
}

func (b *bounded) want(want, got string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("got %s, want %s", got, want)
	}
}
