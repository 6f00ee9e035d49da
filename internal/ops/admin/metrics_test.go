package admin_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/upstream"
)

// everything returns a listener with a value for every metric.
func everything() *admin.Admin {
	a := admin.New("v1.2.3", admin.Sources{
		Gateway: func() gateway.Stats {
			return gateway.Stats{Requests: 1, Expires: time.Now(), Servers: []gateway.ServerFigures{{Server: "farm", Processes: &upstream.Processes{Running: 1}}}}
		},
		Protections: func() []gateway.Protection {
			return []gateway.Protection{{
				Server:    "farm",
				Circuits:  []breaker.State{{Status: breaker.StatusClosed}, {Tool: "get_field", Status: breaker.StatusOpen, Refused: 3}, {Tool: "order_create", Status: breaker.StatusHalfOpen}},
				Bulkheads: []gateway.Bulkhead{{BulkheadState: limit.BulkheadState{Max: 8, In: 8, Queued: 2}}, {Tools: "order_*", BulkheadState: limit.BulkheadState{Max: 1, Refused: 4}}},
			}}
		},
		Limits:  func() gateway.LimitStats { return gateway.LimitStats{Waiting: 10, RedisFailures: 11} },
		Spans:   func() admin.Spans { return admin.Spans{Sent: 5, Dropped: 6, Refused: 7} },
		Journal: func() admin.JournalCounts { return admin.JournalCounts{Written: 8, Lost: 9} },
		Unknown: func() (int, error) { return 12, nil },
		Pins:    func() (map[string]int, error) { return map[string]int{"farm": 13, "gone": 1}, nil },
	})
	a.Ended(&observe.Outcome{
		Server: "farm", Method: "tools/call", Tool: "get_field", Queued: time.Second, Reason: "gave up after 2 attempts",
		Limit: "team", Once: "first",
		Record: recourse.QuotaExhausted("team").WithOrigin(recourse.OriginGateway),
		Attempts: []observe.Attempt{
			{Failure: recourse.KindTimeout, Reason: "the tool only reads"}, {Failure: recourse.KindTimeout, Reason: "gave up after 2 attempts"},
		},
	})
	a.Ended(&observe.Outcome{
		Server: "farm", Method: "tools/call", Tool: "get_field", End: observe.Seems,
		Seeming: &observe.Seeming{Error: recourse.NotFound("field", "f-1"), Line: "reads: general"},
	})
	a.Late(&observe.Late{Server: "farm", Tool: "get_field", Answer: "success"})
	return a
}

// A metric is a served metric.
type metric struct {
	kind   string
	labels []string
}

// served returns the program's own metrics with their labels.
func served(t *testing.T) map[string]metric {
	t.Helper()
	_, text := get(t, everything(), "/metrics")
	all := map[string]metric{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE ((?:mcp|recourse)_\w+) (\w+)$`).FindAllStringSubmatch(text, -1) {
		name := found[1]
		sample := regexp.MustCompile(`(?m)^` + name + `(?:_count)?(?:\{(.*)\})? `).FindStringSubmatch(text)
		if sample == nil {
			t.Fatalf("no sample of %s", name)
		}
		m := metric{kind: found[2]}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(sample[1], -1) {
			m.labels = append(m.labels, label[1])
		}
		all[name] = m
	}
	if len(all) < 20 {
		t.Fatalf("only %d metrics are served:\n%s", len(all), text)
	}
	return all
}

// The table of metrics in docs/operating.md has exactly the program's own metrics, with types and labels.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:mcp|recourse)_\\w+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		labels := regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[3], -1)
		names := []string{}
		for _, label := range labels {
			names = append(names, label[1])
		}
		slices.Sort(names)
		documented[row[1]] = fmt.Sprint(row[2], " ", names)
	}
	is := map[string]string{}
	for name, m := range served(t) {
		names := append([]string{}, m.labels...)
		slices.Sort(names)
		is[name] = fmt.Sprint(m.kind, " ", names)
	}
	if diff := cmp.Diff(is, documented); diff != "" {
		t.Errorf("docs/operating.md (-served +documented):\n%s", diff)
	}
}

// The figures of all parts are served.
func TestFigures(t *testing.T) {
	t.Parallel()
	_, text := get(t, everything(), "/metrics")
	for _, want := range []string{
		`recourse_breaker_open{gen_ai_tool_name="",server="farm"} 0`,
		`recourse_breaker_open{gen_ai_tool_name="get_field",server="farm"} 1`,
		`recourse_breaker_open{gen_ai_tool_name="order_create",server="farm"} 0.5`,
		`recourse_breaker_refusals_total{gen_ai_tool_name="get_field",server="farm"} 3`,
		`recourse_concurrency_limit{server="farm",tools=""} 8`,
		`recourse_queue_length{server="farm",tools=""} 2`,
		`recourse_queue_refusals_total{server="farm",tools="order_*"} 4`,
		`recourse_queue_wait_seconds_count{server="farm"} 1`,
		`recourse_spans_total{result="dropped"} 6`,
		`recourse_journal_calls_total{result="lost"} 9`,
		`recourse_limit_refusals_total{policy="team",server="farm"} 1`,
		`recourse_limit_waiting 10`,
		`recourse_limit_redis_failures_total 11`,
		`recourse_attempts_total{error_type="timeout",reason="the tool only reads",repetition="true",server="farm"} 1`,
		`recourse_not_repeated_total{kind="timeout",server="farm"} 1`,
		`recourse_processes{server="farm"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// Whatever servers list and clients send, the number of labels is limited, and the metrics are served.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	var circuits []breaker.State
	for i := range 5000 {
		circuits = append(circuits, breaker.State{Tool: fmt.Sprintf("tool_%d", i), Status: breaker.StatusOpen})
	}
	circuits = append(circuits, breaker.State{Tool: "other", Status: breaker.StatusOpen})
	a := admin.New("v1.2.3", admin.Sources{Protections: func() []gateway.Protection { return []gateway.Protection{{Server: "farm", Circuits: circuits}} }})
	for i := range 5000 {
		a.Ended(&observe.Outcome{
			Server: "farm", Method: "tools/call", Tool: fmt.Sprintf("tool_%d", i), Limit: fmt.Sprint("limit ", i),
			Attempts: []observe.Attempt{{Reason: fmt.Sprint("reason ", i)}, {}},
		})
	}
	status, text := get(t, a, "/metrics")
	if lines := strings.Count(text, "\n"); status != http.StatusOK || lines > 6000 {
		t.Errorf("%d: %d lines", status, lines)
	}
	for _, want := range []string{`gen_ai_tool_name="other",mcp_method_name="tools/call",server="farm"} 4800`, `reason="other"`, `policy="other"`, "recourse_breaker_open"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// However many servers, tools and ways to fail there are, an answer stays below 5 MB, and no call is lost.
func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	const servers, tools = 400, 100
	var figures []gateway.ServerFigures
	var protections []gateway.Protection
	for s := range servers * 25 {
		figures = append(figures, gateway.ServerFigures{Server: fmt.Sprintf("server_%d", s), Sessions: 1})
		protections = append(protections, gateway.Protection{Server: fmt.Sprintf("server_%d", s), Circuits: []breaker.State{{Refused: 2}}})
	}
	figures = append(figures, gateway.ServerFigures{Server: "other", Sessions: 1})
	a := admin.New("v1.2.3", admin.Sources{
		Gateway:     func() gateway.Stats { return gateway.Stats{Servers: figures} },
		Protections: func() []gateway.Protection { return protections },
		Spans:       func() admin.Spans { return admin.Spans{Sent: 7} },
	})
	for s := range servers {
		for i := range tools {
			o := &observe.Outcome{Server: fmt.Sprintf("server_%d", s), Method: "tools/call", Tool: fmt.Sprintf("tool_%d", i), Attempts: []observe.Attempt{{}}}
			a.Ended(o)
			o.Record = recourse.New(recourse.Kinds()[i%40], "")
			a.Ended(o)
		}
	}
	status, text := get(t, a, "/metrics")
	if status != http.StatusOK || len(text) > 5_000_000 || len(text) < 3_500_000 {
		t.Errorf("%d: %d bytes", status, len(text))
	}
	for name, want := range map[string]float64{
		"mcp_server_operation_duration_seconds_count": 2 * servers * tools, "recourse_failures_total": servers * tools,
		"recourse_attempts_total": 2 * servers * tools, "recourse_answer_size_bytes_count": 2 * servers * tools,
		"recourse_sessions": servers*25 + 1, "recourse_breaker_refusals_total": servers * 50, "recourse_spans_total": 7,
	} {
		if got := sum(t, text, name); got != want {
			t.Errorf("%s: %f, want %f", name, got, want)
		}
	}
	for _, want := range []string{`gen_ai_tool_name="other",kind="timeout",[^}]*server="other"`, `recourse_spans_total\{result="sent"\} 7`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// sum adds up the series of a metric.
func sum(t *testing.T, text, name string) (all float64) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name+"{") {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
			if err != nil {
				t.Fatal(err)
			}
			all += value
		}
	}
	return all
}

// Calls on the fast path are counted in the same series as others, each tool separately up to the limit.
func TestUsualCalls(t *testing.T) {
	t.Parallel()
	a := admin.New("v1.2.3", admin.Sources{})
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			for i := range 300 {
				o := &observe.Outcome{
					Server: "farm", Method: "tools/call", Tool: fmt.Sprintf("tool_%d", i), Took: 30 * time.Millisecond, Bytes: 100,
					Attempts: []observe.Attempt{{Took: 20 * time.Millisecond}},
				}
				a.Ended(o)
				o.Queued = time.Millisecond
				a.Ended(o)
			}
		})
	}
	calls.Wait()
	_, text := get(t, a, "/metrics")
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_bucket{error_type="",gen_ai_tool_name="tool_7",mcp_method_name="tools/call",server="farm",le="0.02"} 0`,
		`mcp_server_operation_duration_seconds_bucket{error_type="",gen_ai_tool_name="tool_7",mcp_method_name="tools/call",server="farm",le="0.05"} 4`,
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="other",mcp_method_name="tools/call",server="farm"} 400`,
		`recourse_answer_size_bytes_sum{server="farm"} 120000`,
		`recourse_attempts_total{error_type="",reason="",repetition="false",server="farm"} 1200`,
		`recourse_attempt_duration_seconds_bucket{server="farm",le="0.02"} 1200`,
		`recourse_queue_wait_seconds_count{server="farm"} 600`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// Prometheus can parse the metrics, and its linter accepts names, units and help texts.
func TestMetricsAreWellFormed(t *testing.T) {
	t.Parallel()
	_, text := get(t, everything(), "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", err, problems)
	}
}
