package otelrecovery_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/recovery/otelrecovery"
)

type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// flaky fails once, then answers.
type flaky struct{ calls int }

func (f *flaky) CallTool(context.Context, call) (json.RawMessage, error) {
	time.Sleep(time.Second)
	if f.calls++; f.calls == 1 {
		return nil, recourse.RateLimited(10 * time.Second)
	}
	return json.RawMessage(`{"content":[]}`), nil
}

// A call is a span; each of its attempts and waits is a span in it, of the right length.
func TestSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := tracetest.NewSpanRecorder()
		tracer := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test")
		client := recovery.New(&flaky{}, contract.MustBuiltin("fieldmcp"), recovery.WithHooks(recovery.Hooks{Observe: otelrecovery.Observer(tracer)}))
		ctx, whole := tracer.Start(t.Context(), "the agent's step")
		if _, err := client.CallTool(ctx, call{"get", json.RawMessage("{}")}); err != nil {
			t.Fatal(err)
		}
		whole.End()
		type span struct {
			Name  string
			Took  time.Duration
			Error string
		}
		var got []span
		for _, s := range recorder.Ended() {
			if s.Name() != "the agent's step" && s.Parent().SpanID() != whole.SpanContext().SpanID() {
				t.Errorf("%s is not in the call's trace", s.Name())
			}
			one := span{s.Name(), s.EndTime().Sub(s.StartTime()), ""}
			for _, a := range s.Attributes() {
				if a.Key == "error.type" {
					one.Error = a.Value.AsString()
				}
			}
			got = append(got, one)
		}
		want := []span{
			{"tools/call get", time.Second, "rate_limited"},
			{"wait", 10 * time.Second, ""},
			{"tools/call get", time.Second, ""},
			{"the agent's step", 12 * time.Second, ""},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
