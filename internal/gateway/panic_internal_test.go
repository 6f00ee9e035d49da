package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// panicLog keeps the log at the default level.
type panicLog struct{ testkit.Buffer }

// A panicLine is the part of a line about a panic that tests compare.
type panicLine struct {
	Level     string `json:"level"`
	Cause     string `json:"cause"`
	RequestID string `json:"request_id"`
	Stack     string `json:"stack"`
}

// panics returns the lines about panics since it was last called.
func (l *panicLog) panics(tb testing.TB) (lines []panicLine) {
	tb.Helper()
	for text := range strings.Lines(l.Take()) {
		var line struct {
			panicLine

			Msg string `json:"msg"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			tb.Fatal(err)
		}
		if line.Msg == "panic" {
			lines = append(lines, line.panicLine)
		}
	}
	return lines
}

// panicking returns a stage, or a step, that panics with fault before or after the following ones.
func panicking[C, R any](fault any, after bool) func(C, func(C) R) R {
	return func(c C, next func(C) R) R {
		if after {
			_ = next(c)
		}
		panic(fault)
	}
}

// insertStep adds a step before send at each server.
func insertStep(g *Gateway, additional step) {
	for _, on := range g.table.Load().all {
		if on.many == nil {
			on.work = pipeline(enforced, slices.Insert(slices.Clone(steps), len(steps)-1, additional))
		}
	}
}

// A panic in a stage fails only its own call: the log and the observers get it, and the client gets an answer if it is not
// too late.
func TestPanicInAStage(t *testing.T) {
	t.Parallel()

	arguments := map[string]string{ // by tool
		testkit.OrderCreate: `{"reference":"A","amount":1}`, testkit.GetField: `{"field_id":"F-1"}`,
	}
	unavailable := []testkit.Fault{faults.Status(http.StatusServiceUnavailable, faults.Plain)}
	tests := []struct {
		name    string
		at      int // how many stages precede the panicking one; 0: it is a step, before send
		after   bool
		fault   any
		path    string
		tool    string
		answers []testkit.Fault
		want    seen
		form    string // part of the answer; "": the answer is broken off, or already sent
	}{
		{
			name: "before the message is read", at: 4, fault: "a bug",
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectNone, Status: 500, Told: 1}, form: `"kind":"internal"`,
		},
		{
			name: "before the call is sent", fault: "a bug",
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectNone, Status: 200, Told: 1}, form: `"effect":"none"`,
		},
		{
			name: "after the call was sent", after: true, fault: "a bug", answers: unavailable,
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectUnknown, Attempts: []int{503}, Status: 200, Told: 1}, form: `"effect":"unknown"`,
		},
		{
			name: "after a read was sent", after: true, fault: "a bug", tool: testkit.GetField, answers: unavailable,
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectNone, Attempts: []int{503}, Status: 200, Told: 1}, form: `"effect":"none"`,
		},
		{
			name: "after the answer", after: true, fault: "a bug",
			want: seen{End: observe.BrokenOff, Kind: recourse.KindInternal, Effect: recourse.EffectUnknown, Attempts: []int{200}, Status: 200, Told: 1},
		},
		{
			name: "where failures are written", at: 1, after: true, fault: "a bug",
			want: seen{End: observe.BrokenOff, Kind: recourse.KindInternal, Effect: recourse.EffectUnknown, Attempts: []int{200}, Status: 200, Told: 1},
		},
		{
			name: "one server of several", path: "/all", fault: "a bug",
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectNone, Status: 200, Told: 1}, form: `"effect":"none"`,
		},
		{
			name: "one of two attempts", path: "/hedged/mcp", tool: testkit.GetField, fault: "a bug",
			want: seen{End: observe.Failed, Kind: recourse.KindInternal, Effect: recourse.EffectNone, Status: 200, Told: 1}, form: `"effect":"none"`,
		},
		{
			name: "net/http's way to abort", fault: http.ErrAbortHandler,
			want: seen{End: observe.BrokenOff},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			srv := testkit.NewServer(t)
			set := contract.Builtin()
			cfg, err := config.Parse("recourse.yaml", []byte("servers:\n  farm: {url: '"+srv.URL()+"', trust_annotations: true}\n"+
				"  hedged: {url: '"+srv.URL()+"', trust_annotations: true, hedge: {after: 30s}}\n"+
				"endpoints:\n  all: {path: /all, servers: [farm]}\n"), config.Options{KnownContracts: set.Names()})
			if err != nil {
				t.Fatal(err)
			}
			log, w := new(panicLog), &watcher{more: make(chan struct{}, 10)}
			g, err := New(cfg, set, slog.New(slog.NewJSONHandler(log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(g.Close)
			g.Observe(w)
			if tt.at > 0 {
				g.table.Load().serve = chain(slices.Insert(slices.Clone(stages), tt.at, panicking[*call, *failure](tt.fault, tt.after)))
			} else {
				insertStep(g, panicking[*attempt, end](tt.fault, tt.after))
			}
			path, tool := cmp.Or(tt.path, "/farm/mcp"), cmp.Or(tt.tool, testkit.OrderCreate)
			client := testkit.NewClient(t, testkit.Serve(t, g)+path, testkit.Modern)
			srv.Next(tool, tt.answers...)
			answer, err := client.Call(t.Context(), tool, arguments[tool])
			<-w.more
			if tt.form != "" && (err != nil || !bytes.Contains(answer.Body, []byte(tt.form))) {
				t.Errorf("got %v, %v; want an answer with %s", answer, err, tt.form)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if diff := gocmp.Diff([]seen{tt.want}, w.calls); diff != "" {
				t.Errorf("outcomes (-want +got)\n%s", diff)
			}
			lines := log.panics(t)
			if tt.fault == http.ErrAbortHandler { //nolint:errorlint // the very value
				if lines != nil {
					t.Errorf("got %v, want silence", lines)
				}
				return
			}
			if len(lines) != 1 || lines[0].Level != "ERROR" || lines[0].Cause != "panic: a bug" || lines[0].RequestID == "" ||
				!strings.Contains(lines[0].Stack, "panic_internal_test.go") {
				t.Errorf("got log %+v, want one line about the panic", lines)
			}
		})
	}
}

// The same over stdio, and the next call is answered.
func TestPanicOverStdio(t *testing.T) {
	t.Parallel()

	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte("servers:\n  farm: {url: '"+testkit.NewServer(t).URL()+"'}\n"), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	log := new(panicLog)
	g, err := New(cfg, set, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	var once sync.Once
	faulty := func(a *attempt, try try) end {
		once.Do(func() { panic("a bug") })
		return try(a)
	}
	insertStep(g, faulty)
	const call = `{"jsonrpc":"2.0","id":%,"method":"tools/call","params":{"name":"get_field","arguments":{"field_id":"F-1"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	in, host := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error)
	go func() { ended <- g.ServeStdio(context.Background(), "/farm/mcp", in, &out) }()
	for _, id := range []string{"1", "2"} {
		if _, err := io.WriteString(host, strings.Replace(call, "%", id, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"kind":"internal"`) || !strings.Contains(got, `"hectares":16.2`) {
		t.Errorf("got %s, want one failure and one success", got)
	}
	if lines := log.panics(t); len(lines) != 1 || lines[0].Level != "ERROR" {
		t.Errorf("got log %+v, want one line", lines)
	}
}
