package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// seen is the part of an outcome that the test compares.
type seen struct {
	End      string
	Kind     recourse.Kind
	Effect   recourse.Effect
	Attempts []int // HTTP statuses
	Status   int
	Told     int
}

// A watcher is an observer that hands outcomes to the test.
type watcher struct {
	mu    sync.Mutex
	calls []seen
	more  chan struct{}
}

func (w *watcher) Ended(o *observe.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := seen{End: o.End, Status: o.Status, Told: len(o.Failures)}
	if o.Record != nil {
		s.Kind, s.Effect = o.Record.Kind, o.Record.Effect
	}
	for _, try := range o.Attempts {
		s.Attempts = append(s.Attempts, try.Status)
		if try.Began.Before(o.Began) || try.Took <= 0 || o.Took < try.Took {
			s.Attempts = append(s.Attempts, -1)
		}
	}
	if o.End == observe.Succeeded && o.Bytes == 0 && o.Status == http.StatusOK {
		s.Told = -1
	}
	w.calls = append(w.calls, s)
	w.more <- struct{}{}
}

// forbidding is an additional stage: it refuses requests with the header X-Forbidden.
func forbidding(c *call, next next) *failure {
	if c.req.header.Get("X-Forbidden") != "" {
		return answer.Refuse(http.StatusForbidden, recourse.New(recourse.KindPermissionDenied, ""))
	}
	if c.req.header.Get("X-Panic") != "" {
		panic(http.ErrAbortHandler)
	}
	return next(c)
}

// watched serves a gateway with an additional stage, and returns its URL and an observer of its calls.
func watched(t *testing.T, file string, additional stage) (url string, w *watcher) {
	t.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte(file), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(cfg, set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	w = &watcher{more: make(chan struct{}, 100)}
	g.Observe(w)
	g.table.Load().serve = chain(slices.Insert(slices.Clone(stages), 4, additional))
	return testkit.Serve(t, g), w
}

// Every observer gets one outcome of each call, however it ends. An additional stage is a function and its place in the
// list of stages.
func TestEveryCallEndsOnce(t *testing.T) {
	t.Parallel()

	const get = `{"field_id":"F-1"}`
	srv := testkit.NewServer(t)
	url, w := watched(t, "servers:\n  farm: {url: '"+srv.URL()+"', trust_annotations: true, timeout: 20s}\n"+
		"  watched: {url: '"+srv.URL()+"', mode: observe, timeout: 20s}\n", forbidding)

	tests := []struct {
		name    string
		path    string
		header  http.Header
		faults  []testkit.Fault
		tool    string
		args    string
		leaves  bool
		notify  bool
		want    seen
		failing bool // the client gets no whole answer
	}{
		{name: "success", want: seen{End: observe.Succeeded, Attempts: []int{200}, Status: 200}},
		{name: "success, in events", faults: []testkit.Fault{faults.Large(testkit.SSE, 1000, faults.Whole)}, want: seen{End: observe.Succeeded, Attempts: []int{200}, Status: 200}},
		{name: "a notification", notify: true, want: seen{End: observe.Succeeded, Attempts: []int{202}, Status: 202}},
		{name: "an unknown path", path: "/nowhere", want: seen{End: observe.Failed, Kind: recourse.KindInvalidRequest, Effect: recourse.EffectNone, Status: 404, Told: 1}},
		{name: "an additional stage", header: http.Header{"X-Forbidden": {"yes"}}, want: seen{End: observe.Failed, Kind: recourse.KindPermissionDenied, Effect: recourse.EffectNone, Status: 403, Told: 1}},
		{name: "a panic that aborts", header: http.Header{"X-Panic": {"yes"}}, failing: true, want: seen{End: observe.BrokenOff}},
		{name: "arguments", args: `{}`, want: seen{End: observe.Failed, Kind: recourse.KindMissingParam, Effect: recourse.EffectNone, Status: 200, Told: 1}},
		{name: "a failure of the tool", faults: []testkit.Fault{faults.ToolError("no", "no")}, want: seen{End: observe.Failed, Kind: recourse.KindUnknown, Effect: recourse.EffectNone, Attempts: []int{200}, Status: 200, Told: 1}},
		{name: "healed", faults: []testkit.Fault{faults.Status(503, faults.Plain)}, want: seen{End: observe.Succeeded, Attempts: []int{503, 200}, Status: 200}},
		{name: "a write", tool: testkit.OrderCreate, args: `{"reference":"A","amount":1}`, faults: []testkit.Fault{faults.Status(503, faults.Plain)}, want: seen{End: observe.Failed, Kind: recourse.KindUnavailable, Effect: recourse.EffectUnknown, Attempts: []int{503}, Status: 200, Told: 1}},
		{name: "broken off", faults: []testkit.Fault{faults.Large(testkit.JSON, 1<<20, faults.Broken)}, failing: true, want: seen{End: observe.BrokenOff, Kind: recourse.KindBadResponse, Effect: recourse.EffectNone, Attempts: []int{200}, Status: 200, Told: 1}},
		{name: "client gone", faults: []testkit.Fault{faults.Hang()}, leaves: true, failing: true, want: seen{End: observe.Left, Kind: recourse.KindCancelled, Effect: recourse.EffectNone, Attempts: []int{0}, Told: 1}},
		{name: "observed", path: "/watched/mcp", faults: []testkit.Fault{faults.Status(503, faults.Plain)}, want: seen{End: observe.Failed, Kind: recourse.KindUnavailable, Effect: recourse.EffectUnknown, Attempts: []int{503}, Status: 503, Told: 1}},
	}
	for _, tt := range tests {
		path := tt.path
		if path == "" {
			path = "/farm/mcp"
		}
		tool, arguments := tt.tool, tt.args
		if tool == "" {
			tool = testkit.GetField
		}
		if arguments == "" {
			arguments = get
		}
		client := testkit.NewClient(t, url+path, testkit.Modern)
		client.Header = tt.header
		srv.Next(tool, tt.faults...)
		ctx, cancel := context.WithCancel(t.Context())
		if tt.leaves {
			before := srv.Attempts(tool)
			go func() {
				_ = srv.Await(ctx, func() bool { return srv.Attempts(tool) > before })
				cancel()
			}()
		}
		var err error
		if tt.notify {
			_, err = client.Notify(ctx, "notifications/x", "")
		} else {
			_, err = client.Call(ctx, tool, arguments)
		}
		cancel()
		if (err != nil) != tt.failing && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", tt.name, err)
		}
		<-w.more
		w.mu.Lock()
		if diff := cmp.Diff([]seen{tt.want}, w.calls); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
		w.calls = nil
		w.mu.Unlock()
	}
	if len(w.more) != 0 {
		t.Errorf("got %d more outcomes", len(w.more))
	}
}

// A client that hangs up with the last event of its answer has had it: the call has succeeded.
func TestClientGoesWithItsAnswer(t *testing.T) {
	t.Parallel()

	srv := testkit.NewServer(t, testkit.WithForm(testkit.SSE))
	url, w := watched(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n", func(c *call, next next) *failure {
		f := next(c)
		<-c.req.ctx.Done() // the client goes before the call has ended
		return f
	})

	client := testkit.NewClient(t, url+"/farm/mcp", testkit.Modern)
	got, err := client.OpenCall(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := got.NextMessage(); err != nil || m.Result == nil {
		t.Fatalf("got %+v, %v", m, err)
	}
	got.Close()
	<-w.more
	want := []seen{{End: observe.Succeeded, Attempts: []int{200}, Status: 200}}
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

// A client that hangs up with the end of a failure has had it as well.
func TestClientGoesWithItsFailure(t *testing.T) {
	t.Parallel()

	srv := testkit.NewServer(t)
	srv.Always(testkit.OrderCreate, faults.Status(503, faults.Plain))
	url, w := watched(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n", func(c *call, next next) *failure {
		c.reply.W = readToTheEnd{c.reply.W, c.req.ctx}
		return next(c)
	})

	client := testkit.NewClient(t, url+"/farm/mcp", testkit.Modern)
	client.Header = http.Header{"Connection": {"close"}}
	if a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`); err != nil || a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	<-w.more
	want := []seen{{
		End: observe.Failed, Kind: recourse.KindUnavailable, Effect: recourse.EffectUnknown, Attempts: []int{503}, Status: 200, Told: 1,
	}}
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

// A readToTheEnd writes the answer, and waits until the client has gone with it.
type readToTheEnd struct {
	front.Writer

	client context.Context
}

func (w readToTheEnd) Event(e *wire.Event, is front.Said) (int, error) {
	n, err := w.Writer.Event(e, is)
	w.Flush()
	<-w.client.Done()
	return n, err
}
