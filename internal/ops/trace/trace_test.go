package trace_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/trace"
	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// A collector keeps the spans that it receives.
type collector struct {
	answer func(w http.ResponseWriter, r *http.Request) // nil means status 200

	mu       sync.Mutex
	requests int
	header   http.Header
	resource *tracepb.ResourceSpans
	spans    []*tracepb.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests++
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(w, r)
		return
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(zip)
	var sent tracepb.TracesData
	if err != nil || proto.Unmarshal(body, &sent) != nil {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header, c.resource = r.Header, sent.GetResourceSpans()[0]
	c.spans = append(c.spans, c.resource.GetScopeSpans()[0].GetSpans()...)
}

func (c *collector) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// start starts an exporter for a collector in memory, and returns it with its log.
func start(t *testing.T, c *collector, cfg config.Tracing) (*trace.Exporter, *strings.Builder) {
	t.Helper()
	if c != nil {
		url := testkit.ServeInMemory(t, c)
		cfg.Endpoint = url + cfg.Endpoint
	}
	var log strings.Builder
	transport := &http.Transport{DialContext: testkit.Dial, MaxConnsPerHost: 1}
	return trace.New(&cfg, "v1.2.3", slog.New(slog.NewTextHandler(&log, nil)), transport), &log
}

// outcome returns the outcome of a sampled call with one attempt.
func outcome() *observe.Outcome {
	return &observe.Outcome{
		Method: "tools/call", Tool: "echo", Server: "farm", End: "success", Began: time.Now(), Took: time.Second, Sent: 1,
		Span: observe.Span{Own: tracecontext.New(1)}, Attempts: []observe.Attempt{{Began: time.Now(), Took: time.Second}},
	}
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	said := map[string]string{}
	for _, a := range list {
		said[a.GetKey()] = a.GetValue().GetStringValue()
		if _, isNumber := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); isNumber {
			said[a.GetKey()] = strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
	}
	return said
}

// A call of a real gateway becomes spans: one for the request, and one for each attempt.
func TestSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		e, _ := start(t, c, config.Tracing{Headers: map[string]string{"authorization": "Bearer t"}})
		srv := testkit.NewServer(t, testkit.InMemory())
		set := contract.Builtin()
		cfg, err := config.Parse("recourse.yaml", []byte("tracing: {endpoint: 'http://127.0.0.1:1'}\nservers:\n  farm:\n    url: "+srv.URL()+
			"\n    trust_annotations: true\n"), config.Options{KnownContracts: set.Names()})
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.NewReaching(gateway.Reach{Dial: testkit.Dial}, cfg, set, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		g.Observe(e)
		url := testkit.ServeInMemory(t, g)
		t.Cleanup(g.Close)
		client := testkit.NewClient(t, url+"/farm/mcp", testkit.Modern)
		client.Header = http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=1"}}
		srv.Next(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		for _, call := range []string{
			`{"name":"get_field","arguments":{"field_id":"F-1"}}`, `{"name":"get_field","arguments":{"wrong":"s3cret-value"}}`, `{"name":"nothing","arguments":{}}`,
		} {
			if _, err := client.Request(t.Context(), "tools/call", call); err != nil {
				t.Fatal(err)
			}
		}
		e.Close(time.Minute)
		if got := c.header.Get("Authorization"); got != "Bearer t" {
			t.Errorf("the collector got the header %q", got)
		}
		about := attributes(c.resource.GetResource().GetAttributes())
		if about["service.name"] != "recourse" || about["service.version"] != "v1.2.3" || about["service.instance.id"] == "" {
			t.Errorf("got resource %v", about)
		}
		type span struct {
			Name, Kind, Error, Kinds, Code, Reason, Attempt string
			Root, Waited, Failed                            bool
		}
		var got []span
		var root []byte
		for _, s := range c.spans {
			a := attributes(s.GetAttributes())
			one := span{
				Name: s.GetName(), Kind: strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"), Error: a["error.type"], Kinds: a["recourse.kind"],
				Code: a["rpc.response.status_code"], Reason: a["recourse.reason"], Attempt: a["recourse.attempt"],
				Waited: a["recourse.wait_ms"] > "0", Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
			}
			if one.Root = hex.EncodeToString(s.GetParentSpanId()) == "b7ad6b7169203331"; one.Root {
				root = s.GetSpanId()
			} else if !slices.Equal(s.GetParentSpanId(), root) {
				t.Errorf("%s does not belong to the call", s)
			}
			if hex.EncodeToString(s.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" || s.GetTraceState() != "a=1" {
				t.Errorf("%s belongs to another trace", s)
			}
			if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() || s.GetStartTimeUnixNano() < uint64(time.Now().Add(-time.Hour).UnixNano()) {
				t.Errorf("%s took no time", s)
			}
			if strings.Contains(s.String(), "s3cret-value") {
				t.Errorf("a span has an argument: %s", s)
			}
			got = append(got, one)
		}
		want := []span{
			{Name: "tools/call get_field", Kind: "SERVER", Root: true},
			{Name: "tools/call get_field", Kind: "CLIENT", Error: "unavailable", Attempt: "1", Failed: true},
			{Name: "tools/call get_field", Kind: "CLIENT", Attempt: "2", Reason: "the tool only reads", Waited: true},
			{Name: "tools/call get_field", Kind: "SERVER", Root: true, Error: "tool_error", Kinds: "missing_param", Failed: true},
			{Name: "tools/call", Kind: "SERVER", Root: true, Error: "tool_error", Kinds: "unknown_tool", Failed: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if f := e.Figures(); f != (trace.Figures{Sent: uint64(len(c.spans))}) {
			t.Errorf("%+v", f)
		}
	})
}

// A repetition of a call that is made once says what it got, and which request had sent it before.
func TestSpanOfOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		e, _ := start(t, c, config.Tracing{})
		o := outcome()
		o.Once, o.First = "replayed", "req-1"
		e.Ended(o)
		e.Close(time.Minute)
		if len(c.spans) == 0 {
			t.Fatal("got no span")
		}
		for _, span := range c.spans {
			said := attributes(span.GetAttributes())
			if span.GetKind() == tracepb.Span_SPAN_KIND_SERVER && (said["recourse.once"] != "replayed" || said["recourse.once.first"] != "req-1") {
				t.Errorf("got %v", said)
			}
		}
	})
}

// Calls that are not sampled, and streams that last for hours, are not sent.
func TestNotSampled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		e, _ := start(t, c, config.Tracing{})
		o := outcome()
		o.Span.Own.Sampled = false
		e.Ended(o)
		o = outcome()
		o.Method = "subscriptions/listen"
		e.Ended(o)
		e.Ended(&observe.Outcome{})
		e.Close(time.Minute)
		if c.requests != 0 || e.Figures() != (trace.Figures{}) {
			t.Errorf("%d requests, %+v", c.requests, e.Figures())
		}
	})
}

// A text that is not valid UTF-8 does not affect other spans.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		e, _ := start(t, c, config.Tracing{Endpoint: "/v1/traces/"})
		o := outcome()
		o.Span.State, o.ID, o.Reason = "a=\xff", "\xff\xfe", strings.Repeat("x", 1<<20)
		e.Ended(o)
		e.Ended(outcome())
		e.Close(time.Minute)
		if len(c.spans) != 4 || proto.Size(c.spans[0]) > 2000 {
			t.Errorf("%d spans: %.2000s", len(c.spans), c.spans)
		}
	})
}

// A hanging collector only loses the spans that find no room.
func TestCollectorHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answer: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}}
		e, log := start(t, c, config.Tracing{})
		began := time.Now()
		const calls = 5000
		for range calls {
			e.Ended(outcome())
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("calls waited for %s", took)
		}
		time.Sleep(time.Hour)
		f := e.Figures()
		if f.Sent != 0 || f.Dropped == 0 || f.Refused == 0 || f.Dropped+f.Refused != 2*calls {
			t.Errorf("%+v", f)
		}
		e.Ended(outcome())
		synctest.Wait()
		began = time.Now()
		e.Close(5 * time.Second)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("closing took %s", took)
		}
		e.Ended(outcome())
		if f := e.Figures(); f.Dropped+f.Refused != 2*calls+4 {
			t.Errorf("after closing: %+v", f)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines:\n%s", n, log)
		}
	})
}

// Spans are sent again if the collector may accept them later, but not if it never will.
func TestCollectorRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status, requests int
		wait             string
		least, most      time.Duration
	}{
		"overloaded":               {http.StatusServiceUnavailable, 3, "", 3 * time.Second, 4 * time.Second},
		"asks for a short wait":    {http.StatusTooManyRequests, 3, "7", 14 * time.Second, 15 * time.Second},
		"asks for an endless wait": {http.StatusTooManyRequests, 3, "99999999999999999", 20 * time.Second, 21 * time.Second},
		"refuses":                  {http.StatusBadRequest, 1, "", 0, time.Second},
		"redirects":                {http.StatusTemporaryRedirect, 1, "", 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *collector
				well := false
				c = &collector{answer: func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if well {
						return
					}
					w.Header().Set("Location", "http://"+r.Host+"/elsewhere")
					if test.wait != "" {
						w.Header().Set("Retry-After", test.wait)
					}
					w.WriteHeader(test.status)
					_, _ = io.Copy(w, io.LimitReader(endless{}, 64<<20)) // reading all of it would take long
				}}
				e, log := start(t, c, config.Tracing{})
				began := time.Now()
				e.Ended(outcome())
				for e.Figures().Refused == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(began) - 2*time.Second; took < test.least || took > test.most { // after the linger
					t.Errorf("took %s", took)
				}
				if n := c.counted(); n != test.requests {
					t.Errorf("%d requests", n)
				}
				well = true
				e.Ended(outcome())
				e.Close(time.Minute)
				if f := e.Figures(); f != (trace.Figures{Sent: 2, Refused: 2}) {
					t.Errorf("%+v", f)
				}
				if text := log.String(); !strings.Contains(text, "the collector does not take traces") || !strings.Contains(text, "takes traces again") {
					t.Error(text)
				}
			})
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Nobody listens at the collector's address.
func TestCollectorIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, log := start(t, nil, config.Tracing{Endpoint: "http://127.0.0.1:1"})
		e.Ended(outcome())
		time.Sleep(time.Minute)
		e.Close(time.Second)
		if f := e.Figures(); f != (trace.Figures{Refused: 2}) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%+v\n%s", f, log)
		}
	})
}

// Calls end on many goroutines while others are sent, and the gateway stops meanwhile: each span is counted once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	c := &collector{}
	e, _ := start(t, c, config.Tracing{})
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	var calls sync.WaitGroup
	var mu sync.Mutex
	ended := uint64(0)
	for range 8 {
		calls.Go(func() {
			n := uint64(0)
			for ctx.Err() == nil {
				e.Ended(outcome())
				n++
			}
			mu.Lock()
			defer mu.Unlock()
			ended += n
		})
	}
	calls.Wait()
	e.Close(10 * time.Second)
	if f := e.Figures(); f.Sent+f.Dropped+f.Refused != 2*ended || f.Sent != uint64(len(c.spans)) {
		t.Errorf("got %+v for %d spans, %d received", f, 2*ended, len(c.spans))
	}
}
