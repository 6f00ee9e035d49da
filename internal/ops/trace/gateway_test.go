package trace_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
	sampledSpan = "00-" + clientTrace + "-" + clientSpan + "-01"
	otherSpan   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	unsampled   = "00-" + clientTrace + "-" + clientSpan + "-00"
)

// inHeader and inMeta return the trace in a request's header and _meta.
func inHeader(r testkit.Received) wire.Trace {
	return wire.Trace{Parent: r.Header.Get("Traceparent"), State: r.Header.Get("Tracestate"), Baggage: r.Header.Get("Baggage")}
}

func inMeta(t *testing.T, r testkit.Received) wire.Trace {
	t.Helper()
	var message struct {
		Params struct {
			Meta struct {
				TraceParent string `json:"traceparent"`
				TraceState  string `json:"tracestate"`
				Baggage     string `json:"baggage"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if err := json.Unmarshal(r.Body, &message); err != nil {
		t.Fatal(err)
	}
	return wire.Trace{Parent: message.Params.Meta.TraceParent, State: message.Params.Meta.TraceState, Baggage: message.Params.Meta.Baggage}
}

// traced starts a gateway with tracing in front of srv.
func traced(t *testing.T, srv *testkit.Server, sample string, entry ...string) (*testkit.Client, gatewaytest.Outcomes) {
	t.Helper()
	all := append([]string{"url: " + srv.URL(), "trust_annotations: true"}, entry...)
	g, _ := gatewaytest.New(t, "tracing: {endpoint: 'http://127.0.0.1:1', sample: "+sample+"}\nservers:\n  farm:\n    "+strings.Join(all, "\n    ")+"\n")
	told := make(gatewaytest.Outcomes, 10)
	g.Observe(told)
	client := testkit.NewClient(t, gatewaytest.Open(t, g, true)+"/farm/mcp", testkit.Legacy)
	client.MustInitialize(t)
	for range 2 { // initialize and its notification
		<-told
	}
	return client, told
}

// The client's trace is passed to the server in the header and in _meta, with the attempt's span as parent.
func TestTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	of := func(parent, state, baggage string) wire.Trace {
		return wire.Trace{Parent: parent, State: state, Baggage: baggage}
	}
	tests := map[string]struct {
		header, meta wire.Trace
		parent       string // of the request's span; "": none
		link         string
		want         wire.Trace // Parent: "*" for a span of the client's trace, "+" for a span of a new trace
	}{
		"none":                         {want: wire.Trace{Parent: "+"}},
		"in the header":                {header: of(sampledSpan, "a=1", "k=v"), parent: sampledSpan, want: of("*", "a=1", "k=v")},
		"in _meta":                     {meta: of(sampledSpan, "a=1", "k=v"), parent: sampledSpan, want: of("*", "a=1", "k=v")},
		"the same in both":             {header: of(sampledSpan, "a=1", "k=v"), meta: wire.Trace{Parent: sampledSpan, State: "a=1"}, parent: sampledSpan, want: of("*", "a=1", "k=v")},
		"_meta goes before the header": {header: of(otherSpan, "b=2", ""), meta: of(sampledSpan, "a=1", ""), parent: sampledSpan, link: otherSpan, want: of("*", "a=1", "")},
		"no trace in _meta":            {header: of(sampledSpan, "a=1", ""), meta: of("00-nonsense", "b=2", "k=v"), parent: sampledSpan, want: of("*", "a=1", "k=v")},
		"a state without a trace":      {header: of("nonsense", "a=1", "k=v"), want: of("+", "", "k=v")},
		"a state with a line end":      {meta: of(sampledSpan, "a=1\r\nX-Evil: 1", "ä=1"), parent: sampledSpan, want: of("*", "", "")},
		"a state longer than a header": {meta: of(sampledSpan, strings.Repeat("a", 9000), ""), parent: sampledSpan, want: of("*", "", "")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.InMemory())
			client, told := traced(t, srv, "1")
			client.Header = http.Header{}
			for name, value := range map[string]string{"Traceparent": test.header.Parent, "Tracestate": test.header.State, "Baggage": test.header.Baggage} {
				if value != "" {
					client.Header.Set(name, value)
				}
			}
			meta := map[string]string{"x": "1"}
			for name, value := range map[string]string{"traceparent": test.meta.Parent, "tracestate": test.meta.State, "baggage": test.meta.Baggage} {
				if value != "" {
					meta[name] = value
				}
			}
			form, err := json.Marshal(meta)
			if err != nil {
				t.Fatal(err)
			}
			a, err := client.Request(t.Context(), "tools/call", `{"name":"echo","arguments":{"message":"m"},"_meta":`+string(form)+`}`)
			if err != nil || !a.Succeeded() {
				t.Fatalf("got %.500s, %v", a.Body, err)
			}
			sent := srv.Calls(testkit.Echo)[0]
			got, o := inHeader(sent), <-told
			span, ok := tracecontext.Parse(got.Parent)
			if !ok || !span.Sampled || span.Span != o.Attempts[0].Span || span.Trace != o.Span.Own.Trace || o.TraceID() != span.Trace.String() {
				t.Fatalf("got %+v at the server, and span %+v in the outcome", got, o.Span)
			}
			parent := ""
			if !o.Span.Parent.IsZero() {
				parent = o.Span.Parent.String()
			}
			link := ""
			if !o.Span.Link.IsZero() {
				link = o.Span.Link.String()
			}
			if parent != test.parent || link != test.link {
				t.Errorf("got parent %q, link %q", parent, link)
			}
			got.Parent = "+"
			if span.Trace.String() == clientTrace {
				got.Parent = "*"
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			inner := inMeta(t, sent)
			if inner.Parent != inHeader(sent).Parent {
				t.Errorf("got %q in _meta, %q in the header", inner.Parent, inHeader(sent).Parent)
			}
			if test.want.State != "" && inner.State != test.want.State || test.want.Baggage != "" && inner.Baggage != test.want.Baggage {
				t.Errorf("got %+v in _meta", inner)
			}
			if !strings.Contains(string(sent.Body), `"x":"1"`) || sent.Header.Get("X-Evil") != "" {
				t.Errorf("the server got %s", sent.Body)
			}
		})
	}
}

// Each attempt has its own span.
func TestTraceOfAttempts(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client, told := traced(t, srv, "1")
		client.Header = http.Header{"Traceparent": {sampledSpan}}
		srv.Next(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil || !a.Succeeded() {
			t.Fatalf("got %.500s, %v", a.Body, err)
		}
		o, calls := <-told, srv.Calls(testkit.GetField)
		if len(calls) != 2 || len(o.Attempts) != 2 {
			t.Fatalf("got %d calls, %d attempts", len(calls), len(o.Attempts))
		}
		seen := map[string]bool{clientSpan: true, o.Span.Own.Span.String(): true}
		for i, call := range calls {
			span, _ := tracecontext.Parse(call.Header.Get("Traceparent"))
			if span.Span != o.Attempts[i].Span || span.Trace.String() != clientTrace || seen[span.Span.String()] {
				t.Errorf("attempt %d: got span %s", i+1, span)
			}
			seen[span.Span.String()] = true
		}
	})
}

// A trace that the client does not record is passed on unchanged, and so is every trace with mode observe.
func TestTraceLeftAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ parent, entry string }{
		"not recorded": {unsampled, "timeout: 30s"},
		"mode observe": {sampledSpan, "mode: observe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "tracing: {endpoint: 'http://127.0.0.1:1'}\nservers:\n  farm:\n    url: "+srv.URL()+"\n    "+test.entry+"\n")
			told := make(gatewaytest.Outcomes, 10)
			g.Observe(told)
			client := testkit.NewClient(t, gatewaytest.Open(t, g, true)+"/farm/mcp", testkit.Legacy)
			client.MustInitialize(t)
			for range 2 {
				<-told
			}
			client.Header = http.Header{"Traceparent": {test.parent}}
			a, err := client.Request(t.Context(), "tools/call", `{"name":"echo","arguments":{"message":"m"},"_meta":{"traceparent":"`+test.parent+`"}}`)
			if err != nil || !a.Succeeded() {
				t.Fatalf("got %.500s, %v", a.Body, err)
			}
			sent, o := srv.Calls(testkit.Echo)[0], <-told
			if inHeader(sent).Parent != test.parent || inMeta(t, sent).Parent != test.parent {
				t.Errorf("got %+v, %+v at the server", inHeader(sent), inMeta(t, sent))
			}
			if o.TraceID() != clientTrace || o.Span.Own.Sampled != (test.parent == sampledSpan) {
				t.Errorf("got span %+v", o.Span)
			}
		})
	}
}

// If the gateway begins a trace and does not sample it, the server is told not to sample it either.
func TestTraceNotSampled(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	client, told := traced(t, srv, "0")
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Fatalf("got %.500s, %v", a.Body, err)
	}
	span, ok := tracecontext.Parse(inHeader(srv.Calls(testkit.Echo)[0]).Parent)
	if o := <-told; !ok || span.Sampled || o.Span.Own.Sampled || o.TraceID() != span.Trace.String() {
		t.Errorf("got %s, %+v", span, o.Span)
	}
}

// The form of a failure becomes the span's error.type.
func TestFormOfFailures(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	client, told := traced(t, srv, "1")
	for call, want := range map[string]string{
		`{"name":"get_field","arguments":{}}`:         "tool_error",
		`{"name":"no_such_tool","arguments":{}}`:      "tool_error",
		`{"name":"echo","arguments":{"message":"m"}}`: "",
	} {
		if _, err := client.Request(t.Context(), "tools/call", call); err != nil {
			t.Fatal(err)
		}
		if o := <-told; o.Form != want {
			t.Errorf("%s: got %q, want %q", call, o.Form, want)
		}
	}
}

// Both attempts of a hedged call have their own span in the header and in _meta.
func TestTraceOfHedge(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client, told := traced(t, srv, "1", "hedge: {after: 200ms}")
		client.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`) // fetches the list of tools
		srv.Next(testkit.GetField, faults.Hang())
		client.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`)
		<-told
		o, calls := <-told, srv.Calls(testkit.GetField)[1:]
		if len(calls) != 2 || len(o.Attempts) != 2 {
			t.Fatalf("got %d calls, %d attempts", len(calls), len(o.Attempts))
		}
		for i, call := range calls {
			span, _ := tracecontext.Parse(inHeader(call).Parent)
			if span.Span != o.Attempts[i].Span || span.Trace != o.Span.Own.Trace || inMeta(t, call).Parent != span.String() {
				t.Errorf("attempt %d: got %q and %q, want %s", i+1, inHeader(call).Parent, inMeta(t, call).Parent, o.Attempts[i].Span)
			}
		}
	})
}
