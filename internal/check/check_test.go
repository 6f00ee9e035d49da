//go:build unix

package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/provider"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The test binary is the fixture if it is told so.
func TestMain(m *testing.M) {
	if breaks, asked := os.LookupEnv("FIXTURE_BREAKS"); asked {
		(&fixture{breaks: breaks}).serveStdio(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	if name := os.Getenv("FIXTURE_HOSTILE"); name != "" {
		serveHostile(name)
		os.Exit(0)
	}
	testkit.Waiting()
	os.Exit(m.Run())
}

// overHTTP are the rules that only a server over HTTP can break.
var overHTTP = []string{"hang-ups", "no-address", "header-checked", "lost-session"}

// silent are the rules that a fixture breaks by not answering.
var silent = []string{"answers", "provider-answers", "id-kept", "many-at-once", "split-lines"}

// withSlow are the rules for which a fixture makes its slow call; "": for the good one.
var withSlow = []string{"", "slow-beside", "cancel-running"}

// fixtureReport checks a fixture that breaks a rule.
func fixtureReport(t *testing.T, breaks string, options check.Options) *check.Report {
	t.Helper()
	var to server.Server
	if slices.Contains(overHTTP, breaks) {
		listening := httptest.NewServer(&fixture{breaks: breaks})
		t.Cleanup(listening.Close)
		to = &server.Endpoint{URL: listening.URL}
	} else {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(t.TempDir(), "lock")
		leave := 10 * time.Second
		if breaks == "leaves" || breaks == "provider-answers" {
			leave = 500 * time.Millisecond
		}
		to = &server.Program{
			Command: []string{self}, Env: append(os.Environ(), "FIXTURE_BREAKS="+breaks, "FIXTURE_LOCK="+lock), Stderr: os.Stderr,
			Leave: leave,
		}
	}
	if options.Mode == "" {
		options.Mode, options.Writes = check.Owner, fixtureWrites(t)
		if slices.Contains(withSlow, breaks) {
			slow := check.Write{Tool: "order_get", Args: []byte(`{"order_id":"slow","limit":1}`), Slow: true}
			options.Writes = append(options.Writes, slow)
		}
	}
	if strings.HasPrefix(breaks, "provider-") {
		options.Mode = check.Wired
		if program, ok := to.(*server.Program); ok {
			wire(t, program, &options)
		}
	}
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second
		if slices.Contains(silent, breaks) {
			options.Timeout = 2 * time.Second
		}
		if breaks == "provider-answers" { // which is given six times as long
			options.Timeout, options.Writes = 500*time.Millisecond, options.Writes[:1]
		}
	}
	return check.Check(t.Context(), to, options)
}

// wire has a program's HTTP go to a provider that answers as it is told, and to a local service otherwise.
func wire(t *testing.T, program *server.Program, options *check.Options) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(service.Close)
	proxy := &provider.Proxy{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, service.Listener.Addr().String())
	}}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	program.Env = append(program.Env, append(proxy.Env(), "FIXTURE_PROVIDER=http://provider.test/orders")...)
	options.Provider = proxy
}

// A server that tells its provider's failures apart keeps all rules in mode wired.
func TestGoodWired(t *testing.T) {
	t.Parallel()

	report := fixtureReport(t, "provider-none", check.Options{})
	if report.Grade != "A" || len(report.Findings) > 0 || report.Rules.Observed < 40 {
		t.Errorf("%s, %d rules, broken: %v: %+v", report.Grade, report.Rules.Observed, brokenIn(report), report.Findings)
	}
}

// fixtureWrites are the writes of the fixture.
func fixtureWrites(t *testing.T) []check.Write {
	t.Helper()
	writes, err := check.ReadWrites("writes.yaml", []byte(`
calls:
- tool: order_get
  args: {order_id: A-17, limit: 1}
  reads: true
- tool: order_create
  args: {idempotency_key: "{mark}", amount: 5}
  other: {idempotency_key: "{mark}", amount: 6}
  verify: {tool: order_get, args: {order_id: "{mark}", limit: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return writes
}

// Arguments of a file of writes reach the server as they stand there, however deep.
func TestWritesHaveDeepArguments(t *testing.T) {
	t.Parallel()
	writes, err := check.ReadWrites("writes.yaml", []byte(`
calls:
- tool: order_create
  args: {order: {ref: "{mark}", lines: [{sku: a, n: 2}]}}
  verify: {tool: order_find, args: {where: {ref: "{mark}"}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		string(writes[0].Args):        `{"order":{"lines":[{"n":2,"sku":"a"}],"ref":"{mark}"}}`,
		string(writes[0].Verify.Args): `{"where":{"ref":"{mark}"}}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// brokenIn returns the rules that a report finds broken.
func brokenIn(report *check.Report) (rules []string) {
	for i := range report.Findings {
		if !slices.Contains(rules, report.Findings[i].Rule) {
			rules = append(rules, report.Findings[i].Rule)
		}
	}
	return rules
}

// A server that keeps every rule gets an A without a finding, over stdio and over HTTP.
func TestGood(t *testing.T) {
	t.Parallel()

	listening := httptest.NewServer(&fixture{})
	t.Cleanup(listening.Close)
	for name, report := range map[string]*check.Report{
		"stdio": fixtureReport(t, "", check.Options{Timeout: 10 * time.Second}),
		"http":  check.Check(t.Context(), &server.Endpoint{URL: listening.URL}, check.Options{Mode: check.Owner, Writes: fixtureWrites(t)}),
	} {
		if report.Grade != "A" || report.Score != 100 || len(report.Findings) > 0 {
			t.Errorf("%s: %s, %d of 100, broken: %v: %+v", name, report.Grade, report.Score, brokenIn(report), report.Findings)
		}
		for _, n := range report.NotObserved {
			t.Logf("%s: not observed: %s: %s", name, n.Rule, n.Why)
		}
	}
}

// A verify call that answers differently each time shows nothing of reads.
func TestAnswersVary(t *testing.T) {
	t.Parallel()
	if report := fixtureReport(t, "answers-vary", check.Options{}); len(report.Findings) > 0 {
		t.Errorf("broken: %v: %+v", brokenIn(report), report.Findings)
	}
}

// What a server does with slow calls is seen over HTTP as well.
func TestSlowOverHTTP(t *testing.T) {
	t.Parallel()
	for breaks, want := range map[string][]string{
		"": nil, "slow-beside": {"cancel-running", "slow-beside"}, "cancel-running": {"cancel-running"},
	} {
		t.Run(breaks, func(t *testing.T) {
			t.Parallel()
			listening := httptest.NewServer(&fixture{breaks: breaks, cancelled: make(chan struct{}, 1)})
			t.Cleanup(listening.Close)
			slow := check.Write{Tool: "order_get", Args: []byte(`{"order_id":"slow","limit":1}`), Slow: true}
			report := check.Check(t.Context(), &server.Endpoint{URL: listening.URL},
				check.Options{Mode: check.Owner, Writes: append(fixtureWrites(t), slow), Timeout: 10 * time.Second})
			got := brokenIn(report)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("broken: %v, want %v", got, want)
			}
			for _, n := range report.NotObserved {
				if n.Rule == "slow-beside" || n.Rule == "cancel-running" {
					t.Errorf("not observed: %s: %s", n.Rule, n.Why)
				}
			}
		})
	}
}

// besides are the findings that breaking a rule brings with it.
var besides = map[string][]string{
	"absent-not-internal": {"failure-says-why"},
	"cancel-ignored":      {"survives"},
	"contract-advice":     {"contract-form"},
	"contract-form":       {"contract-advice"},
	"provider-answers":    {"answers"},
	"provider-told":       {"reads-hold"}, // if the machine is slow, the fixture gives up on its provider
	"failure-says-why":    {"argument-named"},
	"idempotent-kept":     {"repeated-write", "parallel-write"},
	"repeated-write":      {"parallel-write"},
	"hang-ups":            {"alive-after-faults", "many-at-once"},
	"hints-agree":         {"write-settled"}, // its read may destroy
	"id-kept":             {"answers-once"},
	"split-lines":         {"answers", "cancel-ignored", "many-at-once"},
	"many-at-once":        {"answers"},
	"slow-beside":         {"cancel-running"},
	"starts-again":        {"starts"},
}

// Each rule is tripped by the server that breaks it, and by no other.
func TestEachRuleTrips(t *testing.T) {
	t.Parallel()

	for _, rule := range check.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()

			var options check.Options
			if rule.Group == "contract" {
				options.Contract = contract.MustBuiltin("fieldmcp")
			}
			report := fixtureReport(t, rule.ID, options)
			broken := brokenIn(report)
			if !slices.Contains(broken, rule.ID) {
				t.Errorf("not found; broken: %v, stopped: %s, not observed: %v", broken, report.Stopped, report.NotObserved)
			}
			for i := range report.Findings { // the line that mends is about the tool at hand
				if f := &report.Findings[i]; f.Rule == "key-conflict" && f.Entry != `tools: {order_create: {once: {key: "/idempotency_key"}}}` {
					t.Errorf("the entry is %s", f.Entry)
				}
			}
			for _, other := range broken {
				if other != rule.ID && !slices.Contains(besides[rule.ID], other) {
					t.Errorf("%s is broken as well: %+v", other, sentences(report, other))
				}
			}
		})
	}
}

// sentences returns what a report says of a rule.
func sentences(report *check.Report, rule string) (said []string) {
	for i := range report.Findings {
		if report.Findings[i].Rule == rule {
			said = append(said, report.Findings[i].Tool+": "+report.Findings[i].Said)
		}
	}
	return said
}

// The lines that mend are configuration.
func TestEntries(t *testing.T) {
	t.Parallel()

	for _, rule := range check.Rules() {
		if rule.Entry == "" {
			continue
		}
		entry := strings.ReplaceAll(rule.Entry, "TOOL", "order_create")
		src := "store: sqlite:store.db\nservers:\n  any:\n    url: http://127.0.0.1:9101/mcp\n    " + entry + "\n"
		if _, err := config.Parse("recourse.yaml", []byte(src), config.Options{KnownContracts: []string{contract.Default}, KnownFamilies: []string{"general"}}); err != nil {
			t.Errorf("%s: %v", rule.ID, err)
		}
	}
}

// The same server twice gives the same bytes, however long its writes take to show.
func TestSameBytes(t *testing.T) {
	t.Parallel()

	for _, breaks := range []string{"argument-named", "repeated-write"} {
		var before []byte
		for range 2 {
			report, err := json.Marshal(fixtureReport(t, breaks, check.Options{Timeout: 10 * time.Second}))
			if err != nil {
				t.Fatal(err)
			}
			if before != nil && !bytes.Equal(before, report) {
				t.Errorf("%s: first %s, then %s", breaks, before, report)
			}
			before = report
		}
	}
}

// That a verify call shows nothing of a write says why the rules about such a write are not observed, and no others.
func TestUnverifiedWrite(t *testing.T) {
	t.Parallel()
	report := fixtureReport(t, "repeated-write", check.Options{Mode: check.Owner, Writes: []check.Write{{
		Tool: "order_create", Args: []byte(`{"idempotency_key":"{mark}","amount":5}`),
		Verify: check.VerifyCall{Tool: "order_get", Args: []byte(`{"order_id":"none","limit":1}`)},
	}}})
	const why = "order_create: after one call, the answer of order_get does not show its mark"
	for _, n := range report.NotObserved {
		ofWrite := slices.Contains([]string{"repeated-write", "parallel-write", "key-conflict"}, n.Rule)
		if ofWrite != (n.Why == why) {
			t.Errorf("%s: %s", n.Rule, n.Why)
		}
	}
}
