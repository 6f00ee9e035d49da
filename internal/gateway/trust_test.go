package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// recordResult returns a tool error with a record of the server.
func recordResult(origin, effect string) string {
	record := fmt.Sprintf(`{"v":1,"kind":"conflict","message":"The order is locked.","origin":%q,"effect":%q}`, origin, effect)
	return `{"content":[{"type":"text","text":"The order is locked."}],"isError":true,"_meta":{"` + recourse.MetaKey + `":` + record + `}}`
}

// Only a trusted server is believed if it says who failed, or that the call had no effect.
func TestTrusted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trusted                           bool
		origin, effect                    string
		wantOrigin, wantEffect, wantBasis string
	}{
		{true, "gateway", "applied", "gateway", "applied", "known"},
		{true, "provider", "unknown", "provider", "unknown", ""},
		{false, "gateway", "applied", "server", "applied", "stated"}, // any server is believed that it did something
		{false, "provider", "unknown", "provider", "unknown", ""},    // any server may blame its provider
		{true, "nobody", "perhaps", "", "none", "known"},
		{false, "nobody", "perhaps", "server", "none", "stated"}, // by its kind, which is only its word
		{false, "server", "none", "server", "none", "stated"},
	} {
		t.Run(fmt.Sprintf("%t/%s/%s", c.trusted, c.origin, c.effect), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL(), fmt.Sprintf("trusted: %t", c.trusted)).Client(t, testkit.Legacy)
			srv.Always(testkit.OrderCreate, faults.Result("record", recordResult(c.origin, c.effect)))
			a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != recourse.KindConflict || string(e.Origin) != c.wantOrigin || string(e.Effect) != c.wantEffect || string(e.EffectBasis) != c.wantBasis {
				t.Errorf("got %s of %q, effect %s (%s); want %s, effect %s (%s)",
					e.Kind, e.Origin, e.Effect, e.EffectBasis, c.wantOrigin, c.wantEffect, c.wantBasis)
			}
		})
	}
}

// A sentence of a trusted server is read as any server's: it leaves no more doubt, and is no more reason to repeat a write.
func TestTrustedSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recourse.Effect{
		"There is no order named A": recourse.EffectNone, "Unauthorized. Please provide a valid access token": recourse.EffectNone,
		"INSERT is not allowed in read-only mode": recourse.EffectNone, "Throttled": recourse.EffectNone,
		"Order already exists": recourse.EffectNone, "Could not connect to the press. Is it running?": recourse.EffectNone,
		"The request timed out": recourse.EffectUnknown, "Saved order 7, then the connection was refused": recourse.EffectUnknown,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL(), "trusted: true").Client(t, testkit.Legacy)
			srv.Always(testkit.OrderCreate, faults.Result("sentence", fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, text)))
			a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			wantBasis := recourse.BasisStated
			if want == recourse.EffectUnknown {
				wantBasis = ""
			}
			if e.Effect != want || e.EffectBasis != wantBasis {
				t.Errorf("got %s, effect %s (%s); want effect %s (%s)", e.Kind, e.Effect, e.EffectBasis, want, wantBasis)
			}
			if n := len(srv.Calls(testkit.OrderCreate)); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
		})
	}
}

// A result without isError that looks like a failure is a failure only if the server is known to write failures that way.
func TestWeakSigns(t *testing.T) {
	t.Parallel()
	const result = `{"content":[{"type":"text","text":"{\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"field 'x' not found\",\"retryable\":false}"}]}`
	for _, reads := range []bool{true, false} {
		t.Run(strconv.FormatBool(reads), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			entry := []string{"contract: recourse"}
			if reads {
				entry = append(entry, "reads: fieldmcp")
			}
			client := gatewaytest.Start(t, srv.URL(), entry...).Client(t, testkit.Legacy)
			srv.Always(testkit.GetField, faults.Result("weak", result))
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"x"}`)
			if err != nil || a.Message == nil {
				t.Fatalf("got %+v, %v", a, err)
			}
			if !reads {
				if string(a.Message.Result) != result {
					t.Errorf("got %s, want the result unchanged", a.Message.Result)
				}
				return
			}
			if e := gatewaytest.Record(t, a); e.Kind != recourse.KindNotFound || e.Resource.Type != "field" || a.Succeeded() {
				t.Errorf("got %s of %s", e.Kind, e.Resource.Type)
			}
			srv.Behave()
			if a, err = client.Call(t.Context(), testkit.GetField, `{"field_id":"x"}`); err != nil || !a.Succeeded() {
				t.Errorf("a success: got %s, %v", a.Body, err)
			}
		})
	}
}

// A tool's annotations, entry and contract decide whether its calls may be repeated.
func TestNatureOfTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		entry    []string
		tool     string
		attempts int
		effect   recourse.Effect
	}{
		{"untrusted annotation", nil, testkit.GetField, 1, recourse.EffectUnknown},
		{"trusted annotation", []string{"trust_annotations: true"}, testkit.GetField, 3, recourse.EffectNone},
		{"trusted annotation of a write", []string{"trust_annotations: true"}, testkit.OrderCreate, 1, recourse.EffectUnknown},
		{"entry over annotation", []string{"trust_annotations: true", "tools: {get_field: {read_only: false}}"}, testkit.GetField, 1, recourse.EffectUnknown},
		{"pattern", []string{"tools: {'get_*': {read_only: true}}"}, testkit.GetField, 3, recourse.EffectNone},
		{"another pattern", []string{"tools: {'set_*': {read_only: true}}"}, testkit.GetField, 1, recourse.EffectUnknown},
		{"longest pattern", []string{"tools: {'*': {read_only: true}, 'order_*': {read_only: false}}"}, testkit.OrderCreate, 1, recourse.EffectUnknown},
		{"name over pattern", []string{"tools: {'order_*': {read_only: true}, order_create: {read_only: false}}"}, testkit.OrderCreate, 1, recourse.EffectUnknown},
		{"idempotent", []string{"tools: {'order_*': {idempotent: true}}"}, testkit.OrderCreate, 3, recourse.EffectUnknown},
		{"something to verify", []string{"contract: fieldmcp", "tools: {order_create: {verify: {tool: order_get}}}"}, testkit.OrderCreate, 1, recourse.EffectUnknown},
		{"contract that reads", []string{"contract: fieldmcp"}, testkit.OrderCreate, 3, recourse.EffectNone},
		{"entry over contract", []string{"contract: fieldmcp", "tools: {order_create: {read_only: false}}"}, testkit.OrderCreate, 1, recourse.EffectUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL(), append(c.entry, "timeout: 5s")...).Client(t, testkit.Modern)
			srv.Always(c.tool, faults.Status(http.StatusServiceUnavailable, faults.Plain))
			arguments := map[string]string{testkit.GetField: `{"field_id":"F"}`, testkit.OrderCreate: `{"reference":"A","amount":1}`}[c.tool]
			a, err := client.Call(t.Context(), c.tool, arguments)
			if err != nil {
				t.Fatal(err)
			}
			if e := gatewaytest.Record(t, a); srv.Attempts(c.tool) != c.attempts || e.KnownEffect() != c.effect {
				t.Errorf("got %d attempts, effect %s; want %d, %s", srv.Attempts(c.tool), e.Effect, c.attempts, c.effect)
			}
		})
	}
}

// The failed items of a partly failed write have an unknown effect, like the write itself: an item that timed out may
// have written.
func TestEffectOfItems(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "reads: fieldmcp", "timeout: 5s", "tools: {get_field: {read_only: true}}").Client(t, testkit.Modern)
	partial := faults.ToolError("", `{"error":true,"code":"PARTIAL_SUCCESS","message":"1 of 2 items failed.","retryable":false,`+
		`"succeeded":[{"id":"1","data":{}}],"failed":[{"id":"2","code":"PROVIDER_TIMEOUT","message":"It took too long.","retryable":true}]}`)
	for tool, want := range map[string]recourse.Effect{testkit.OrderCreate: recourse.EffectUnknown, testkit.GetField: ""} {
		srv.Always(tool, partial)
		a, err := client.Call(t.Context(), tool, map[string]string{testkit.GetField: `{"field_id":"F"}`, testkit.OrderCreate: `{"reference":"A","amount":1}`}[tool])
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); len(e.Failed) != 1 || e.Failed[0].Error.Effect != want {
			t.Errorf("%s: got %s", tool, a.Body)
		}
	}
}

// A failure that shows only after the decision window is passed on unchanged, and logged.
func TestDecideWithin(t *testing.T) {
	t.Parallel()
	for _, in := range shapes {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithForm(in.form))
			f := startConfig(t, "decide_within: 4KiB\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
			client := f.Client(t, in.era)
			direct := client.Clone(t)
			direct.URL = srv.URL()
			if in.era == testkit.Legacy {
				direct.MustInitialize(t)
			}
			srv.Always(testkit.Echo, faults.IsErrorLast())
			const params = `{"name":"echo","arguments":{"message":"m"}}`
			want, got := direct.MustRequest(t, "1", "tools/call", params), client.MustRequest(t, "1", "tools/call", params)
			if !bytes.Equal(want.Body, got.Body) || got.Status != http.StatusOK {
				t.Errorf("got HTTP %d with %d bytes, want the server's %d", got.Status, len(got.Body), len(want.Body))
			}
			f.Await(t, func(lines []gatewaytest.LogLine) bool {
				return len(lines) == 1 && lines[0].Note != "" && lines[0].Effect == "none" // echo says that it only reads
			})
		})
	}
}

// An answer larger than max_result becomes a failure, or is broken off if it has begun.
func TestMaxResult(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		for _, c := range []struct {
			limit  string
			size   int64
			broken bool
			fits   bool
		}{
			{"100KiB", 90 << 10, false, true},
			{"100KiB", 110 << 10, false, false},
			{"100KiB", 1 << 20, false, false},
			{"1MiB", 900 << 10, false, true},
			{"1MiB", 2 << 20, true, false}, // of an unknown length
			{"0", 3 << 20, false, true},
		} {
			t.Run(fmt.Sprintf("%s/%s/%d", form, c.limit, c.size), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				f := startConfig(t, "max_result: "+c.limit+"\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
				client := f.Client(t, testkit.Modern)
				client.Keep = 8 << 20
				srv.Always(testkit.Echo, faults.Large(form, c.size, faults.Whole))
				a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
				switch {
				case c.broken:
					if err == nil {
						t.Errorf("got %d bytes without an error", a.Size)
					}
				case err != nil:
					t.Fatal(err)
				case c.fits:
					if !a.Succeeded() {
						t.Errorf("got %.300s", a.Body)
					}
				default:
					if e := gatewaytest.Record(t, a); e.Kind != recourse.KindBadResponse || !strings.Contains(e.Message, "larger than the 100KiB allowed") {
						t.Errorf("got %s: %s", e.Kind, e.Message)
					}
				}
			})
		}
	}
}

// A large answer is streamed in constant memory. This is a sample: one form of answer.
func TestLargeAnswerMemory(t *testing.T) {
	testLargeAnswerMemory(t)
}

// The other form.
func TestLongLargeAnswerMemory(t *testing.T) {
	testkit.Long(t)
	testLargeAnswerMemory(t)
}

func testLargeAnswerMemory(t *testing.T) {
	t.Helper()
	const size = 100 << 20
	for i, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		if !testkit.Sampled(t, i, 2) {
			continue
		}
		t.Run(form.String(), func(t *testing.T) {
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL(), "timeout: 60s").Client(t, testkit.Modern)
			srv.Always(testkit.Echo, faults.Large(form, size, faults.Whole))
			runtime.GC()
			peak := peakHeap(func() {
				if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || a.Size < size {
					t.Errorf("got %+v, %v", a, err)
				}
			})
			if peak > 64<<20 {
				t.Errorf("got %d MiB of memory for %d MiB", peak>>20, size>>20)
			}
		})
	}
}
