package journal_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// A world is a gateway with a journal in front of a server.
type world struct {
	server  *testkit.Server
	client  *testkit.Client
	journal *journal.Journal
	metrics *admin.Admin
	rows    *store.Journal
	log     *testkit.Buffer
}

// all returns settings that keep everything.
func all() *config.Journal {
	return &config.Journal{Failures: true, Successes: 1, Keep: time.Hour, MaxSize: 1 << 30, Arguments: config.ArgumentsMasked}
}

// begin starts a world with a store at an address.
func begin(t *testing.T, address string, settings *config.Journal, entry ...string) *world {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{server: testkit.NewServer(t, testkit.InMemory()), rows: s.Journal(), log: new(testkit.Buffer)}
	set := contract.Builtin()
	lines := append([]string{"url: " + w.server.URL(), "timeout: 20s"}, entry...)
	cfg, err := config.Parse("recourse.yaml", []byte("store: sqlite:unused.db\nservers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n"),
		config.Options{KnownContracts: set.Names(), KnownFamilies: []string{"slack"}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	g, err := gateway.NewReaching(gateway.Reach{Dial: testkit.Dial, Pause: time.Millisecond, Once: s.Once()}, cfg, set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.journal, w.metrics = journal.New(w.rows, settings, log), admin.New("v1.2.3", admin.Sources{})
	g.Observe(w.metrics) // before the journal, by which tests know that it has been told
	g.Observe(w.journal)
	t.Cleanup(func() {
		g.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		w.journal.Close(ctx)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = testkit.NewClient(t, testkit.ServeInMemory(t, g)+"/farm/mcp", testkit.Modern)
	return w
}

// call calls a tool, and returns the request id.
func (w *world) call(t *testing.T, tool, arguments string, script ...testkit.Fault) string {
	t.Helper()
	w.server.Next(tool, script...)
	a, err := w.client.Call(t.Context(), tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return a.Header.Get("X-Request-Id")
}

// settle waits until n calls are written or lost.
func (w *world) settle(t *testing.T, n uint64) journal.Stats {
	t.Helper()
	var s journal.Stats
	if !testkit.Until(func() bool {
		s = w.journal.Stats()
		return s.Written+s.Lost >= n
	}) {
		t.Fatalf("%+v, want %d", s, n)
	}
	return s
}

func databases(t *testing.T, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, service.Postgres(t))
	})
}

// The journal has who called what, each attempt, and the reasons.
func TestJournalTellsTheStory(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		w := begin(t, address, all(), "trust_annotations: true")
		const trace = "0af7651916cd43dd8448eb211c80319c"
		w.client.Header = http.Header{"Traceparent": {"00-" + trace + "-b7ad6b7169203331-01"}}
		healed := w.call(t, testkit.GetField, `{"field_id":"F-1"}`,
			faults.StatusWith("", http.StatusServiceUnavailable, "text/plain", "down, token=abcdef-s3cr3t-123456"))
		failed := w.call(t, testkit.OrderCreate, `{"reference":"A-17","amount":1}`,
			faults.StatusWith("", http.StatusBadGateway, "text/plain", "no route, password=hunter2-s3cr3t"))
		w.settle(t, 2)
		calls, err := journal.Of(t.Context(), w.rows, healed)
		if err != nil || len(calls) != 1 {
			t.Fatalf("%v, %d calls", err, len(calls))
		}
		c := calls[0]
		if c.Ending != "success" || c.TraceID != trace || c.Server != "farm" || c.Contract != "recourse" || c.Tool != testkit.GetField ||
			c.Nature != "reads" || c.Status != http.StatusOK || c.Bytes == 0 || c.Sent != 2 || c.Took <= 0 || c.Failure != nil ||
			time.Since(c.Began) > time.Minute || !strings.Contains(string(c.Arguments), `"field_id":"F-1"`) {
			t.Errorf("got call %+v", c)
		}
		first, second := c.Attempts[0], c.Attempts[1]
		if first.Status != http.StatusServiceUnavailable || first.Failure != recourse.KindUnavailable || first.Reason != "the tool only reads" ||
			second.Wait <= 0 || second.After <= first.After+first.Took || second.Failure != "" {
			t.Errorf("got attempts %+v", c.Attempts)
		}
		calls, err = journal.Find(t.Context(), w.rows, &store.Filter{Failures: true})
		if err != nil || len(calls) != 1 {
			t.Fatalf("%v, %d calls", err, len(calls))
		}
		c = calls[0]
		if c.RequestID != failed || c.Failure.Kind != recourse.KindUnavailable || c.Failure.Effect != recourse.EffectUnknown ||
			!strings.Contains(c.Final, "a repetition might do it twice") || !strings.Contains(c.Cause, "no route") {
			t.Errorf("got %+v: %+v", c, c.Failure)
		}
		everything, err := json.Marshal(calls)
		if err != nil || strings.Contains(string(everything), "s3cr3t") {
			t.Errorf("%v, the journal has a secret: %s", err, everything)
		}
	})
}

// The settings decide what is kept, and can change.
func TestJournalKeepsByChoice(t *testing.T) {
	t.Parallel()
	w := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), all())
	const get = `{"field_id":"F-1"}`
	w.call(t, testkit.GetField, get)
	w.settle(t, 1)
	none := all()
	none.Successes, none.Arguments = 0, config.ArgumentsNames
	w.journal.Configure(none)
	w.call(t, testkit.GetField, get)
	w.call(t, testkit.GetField, get, faults.ToolError("", "there is no field F-1"))
	w.settle(t, 2)
	off := all()
	off.Failures, off.Successes, off.Arguments = false, 1, config.ArgumentsOff
	w.journal.Configure(off)
	w.call(t, testkit.GetField, get, faults.ToolError("", "there is no field F-1"))
	w.call(t, testkit.GetField, get)
	w.settle(t, 3)
	calls, err := journal.Find(t.Context(), w.rows, &store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, c := range calls {
		kept = append(kept, c.Ending+string(c.Arguments))
	}
	if got, want := strings.Join(kept, " "), `success{"field_id":"F-1"} failure{"field_id":"[string]"} success`; got != want {
		t.Errorf("kept: %s, want %s", got, want)
	}
}

// A database outage neither affects calls nor, if it is short, loses entries.
func TestJournalOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	db := service.NewPostgres(t)
	w := begin(t, db.URL, all())
	const get = `{"field_id":"F-1"}`
	w.call(t, testkit.GetField, get)
	w.settle(t, 1)
	db.Stop()
	for range 10 {
		w.call(t, testkit.GetField, get)
	}
	w.log.Await(t, "cannot write the journal")
	db.Start(t)
	if s := w.settle(t, 11); s.Lost != 0 {
		t.Errorf("%+v, %s", s, w.log)
	}
	w.log.Await(t, "the journal is written again")
	if calls, err := journal.Find(t.Context(), w.rows, &store.Filter{}); err != nil || len(calls) != 11 {
		t.Errorf("%v, %d calls", err, len(calls))
	}
}

// Values of arguments are kept only if both the settings and the contract allow that.
func TestJournalKeepsNoValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contract  string
		arguments config.Arguments
		kept      bool
	}{
		"masked":                          {"recourse", config.ArgumentsMasked, true},
		"names":                           {"recourse", config.ArgumentsNames, false},
		"off":                             {"recourse", config.ArgumentsOff, false},
		"a contract that never shows any": {"commerce", config.ArgumentsMasked, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := all()
			settings.Arguments = test.arguments
			w := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), settings, "contract: "+test.contract)
			w.call(t, testkit.OrderCreate, `{"reference":"A-1","amount":"c4nary"}`) // amount must be a number
			w.settle(t, 1)
			calls, err := journal.Find(t.Context(), w.rows, &store.Filter{})
			if err != nil || len(calls) != 1 || len(calls[0].Failure.Violations) == 0 {
				t.Fatalf("%v, %+v", err, calls)
			}
			story, err := json.Marshal(calls[0])
			if err != nil || strings.Contains(string(story), "c4nary") != test.kept {
				t.Errorf("%v: %s", err, story)
			}
		})
	}
}

// The arguments of a verify call are kept if the settings allow that.
func TestJournalKeepsVerifyArguments(t *testing.T) {
	t.Parallel()
	for arguments, kept := range map[config.Arguments]bool{config.ArgumentsMasked: true, config.ArgumentsNames: false, config.ArgumentsOff: false} {
		t.Run(string(arguments), func(t *testing.T) {
			t.Parallel()
			settings := all()
			settings.Arguments = arguments
			w := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), settings,
				"tools: {order_create: {verify: {tool: order_get, from: {reference: /reference}}}}")
			w.call(t, testkit.OrderCreate, `{"reference":"c4nary","amount":1}`, faults.ResetBeforeAnswer())
			w.settle(t, 1)
			calls, err := journal.Find(t.Context(), w.rows, &store.Filter{})
			if err != nil || len(calls) != 1 || calls[0].Failure.Verify == nil {
				t.Fatalf("%v, %+v", err, calls)
			}
			if verify := calls[0].Failure.Verify; strings.Contains(verify.Args.String(), "c4nary") != kept {
				t.Errorf("got verify call %+v", verify)
			}
		})
	}
}

// A failure that says success reaches the client byte for byte, and the journal says what it looks like and which line would
// have had it told. With that line it is told.
func TestJournalKeepsWhatLooksFailed(t *testing.T) {
	t.Parallel()
	const result = `{"content":[ {"type":"text","text":"{\"ok\": false, \"error\":\"channel_not_found\"}"} ],"isError":false}`
	settings := all()
	settings.Successes = 0
	w := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), settings, "tools: {order_create: {read_only: false}}")
	w.server.Next(testkit.OrderCreate, faults.Result("", result))
	a, err := w.client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
	if err != nil || string(a.Message.Result) != result {
		t.Fatalf("got %s, %v, want the answer of the server unchanged", a.Message.Result, err)
	}
	w.call(t, testkit.Echo, `{"message":"fine"}`)
	w.settle(t, 1)
	calls, err := journal.Find(t.Context(), w.rows, &store.Filter{})
	if err != nil || len(calls) != 1 {
		t.Fatalf("got %d calls, %v, want the one that looks failed", len(calls), err)
	}
	c := calls[0]
	if c.Ending != observe.Seems || c.Line != "reads: slack" || c.Failure == nil || c.Failure.Kind != recourse.KindNotFound {
		t.Errorf("got %q, %q, %+v", c.Ending, c.Line, c.Failure)
	}

	told := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), settings, c.Line)
	told.server.Next(testkit.OrderCreate, faults.Result("", result))
	a, err = told.client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
	if err != nil || !strings.Contains(string(a.Message.Result), `"isError":true`) {
		t.Errorf("got %s, %v, want a failure", a.Message.Result, err)
	}
}

// What a server answers to a call that is made once, after its client has gone, is in the call's row and story, and is counted.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		w := begin(t, address, all(), "tools: {order_create: {once: true}}")
		w.client.MustListTools(t)
		w.settle(t, 1)
		answered, answer := context.WithCancel(t.Context())
		ctx, leave := context.WithCancel(t.Context())
		w.server.Next(testkit.OrderCreate, testkit.Fault{Name: "late", Happen: func(e *testkit.Exchange) {
			leave()
			<-answered.Done()
			e.Answer(e.Result(`{"content":[{"type":"text","text":"created"}]}`))
		}}.Running(true))
		if a, err := w.client.Call(ctx, testkit.OrderCreate, testkit.OrderArgs); err == nil {
			t.Fatalf("got %s", a.Body)
		}
		w.settle(t, 2)
		answer()
		var calls []*journal.Row
		if !testkit.Until(func() bool {
			var err error
			calls, err = journal.Find(t.Context(), w.rows, &store.Filter{Tool: testkit.OrderCreate})
			return err != nil || len(calls) != 1 || calls[0].Late != ""
		}) || len(calls) != 1 || calls[0].Late != "success" || len(calls[0].Arguments) == 0 {
			t.Fatalf("got %+v", calls)
		}
		if story := explain.Story(calls[0]).String(); !strings.Contains(story, "what the server answered after that: success") {
			t.Errorf("got story\n%s", story)
		}
		page := httptest.NewRecorder()
		w.metrics.Handler().ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		if want := `recourse_once_late_total{answer="success",gen_ai_tool_name="order_create",server="farm"} 1`; !strings.Contains(page.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, page.Body)
		}
	})
}

// The row and the story of a repetition name the request that has sent the call before.
func TestRepetitionsNameTheFirst(t *testing.T) {
	t.Parallel()
	w := begin(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"), all(), "tools: {order_create: {once: true}}")
	w.server.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
	var ids []string
	for range 2 {
		a, err := w.client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
		if err != nil || a.Succeeded() {
			t.Fatalf("got %+v, %v", a, err)
		}
		ids = append(ids, a.Header.Get("X-Request-Id"))
	}
	w.settle(t, 2)
	for i, want := range []string{"", ids[0]} {
		calls, err := journal.Of(t.Context(), w.rows, ids[i])
		if err != nil || len(calls) != 1 || calls[0].First != want {
			t.Fatalf("got %+v, %v", calls, err)
		}
		if story := explain.Story(calls[0]).String(); want != "" && !strings.Contains(story, "the request that sent it before: "+want) {
			t.Errorf("got story\n%s", story)
		}
	}
}
