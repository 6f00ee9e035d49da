package gateway_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

// TestMain runs more tests at once than there are processors, since they mostly wait.
func TestMain(m *testing.M) {
	if name := os.Getenv(authorVariable); name != "" {
		serveAuthor(name)
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Goroutines(m)
}

// deadline is the timeout of calls in tests that wait for it. They configure it with untilDeadline.
const (
	deadline      = time.Second
	untilDeadline = "timeout: 1s"
)

// runVirtual runs a parallel subtest in a bubble of testing/synctest, where time passes while nothing else can happen.
// Its servers must listen in memory.
func runVirtual(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// A front is a gateway in front of one server, called farm.
type front struct {
	url string // of the server's endpoint
	log *logBuffer
}

// start starts a gateway. entry has lines of the server's entry; timeout has a default.
func start(tb testing.TB, serverURL string, entry ...string) *front {
	tb.Helper()
	lines := slices.Clone(entry)
	if serverURL != "" {
		lines = append(lines, "url: "+serverURL)
	}
	reach := gateway.Reach{Dial: testkit.Dial}
	if serverURL == "" {
		reach = impatient
	}
	g, log := newReaching(tb, reach, "servers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
	return &front{log: log, url: open(tb, g, testkit.IsInMemory(serverURL)) + "/farm/mcp"}
}

// open serves a gateway as the program does, and returns its URL.
func open(tb testing.TB, g *gateway.Gateway, inMemory bool) string {
	tb.Helper()
	listen := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	if inMemory {
		listen = testkit.ListenInMemory
	}
	ln, err := listen()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan struct{})
	go func() {
		defer close(end)
		_ = g.Serve(ctx, ln, 0) // breaks current calls off
	}()
	tb.Cleanup(func() {
		cancel()
		<-end
	})
	return "http://" + ln.Addr().String()
}

// startChildren is start with a program as server.
func startChildren(tb testing.TB, program *child.Program, entry ...string) *front {
	tb.Helper()
	return start(tb, "", append(command(tb, program), entry...)...)
}

// command returns the keys of an entry for a program.
func command(tb testing.TB, program *child.Program, args ...string) []string {
	tb.Helper()
	line, err := json.Marshal(program.Command(args...))
	if err != nil {
		tb.Fatal(err)
	}
	return []string{"command: " + string(line)}
}

func startConfig(tb testing.TB, yaml string) *front {
	tb.Helper()
	g, log := newGateway(tb, yaml)
	return &front{log: log, url: testkit.Serve(tb, g) + "/farm/mcp"}
}

// newGateway returns a gateway that is closed when the test ends, and its log.
func newGateway(tb testing.TB, yaml string) (*gateway.Gateway, *logBuffer) {
	tb.Helper()
	return newReaching(tb, gateway.Reach{Dial: testkit.Dial}, yaml)
}

// impatient makes a gateway wait only briefly for processes.
var impatient = gateway.Reach{
	Patience: upstream.Patience{Leave: 50 * time.Millisecond, Restart: time.Millisecond},
	Pause:    time.Millisecond,
}

func newReaching(tb testing.TB, reach gateway.Reach, yaml string) (*gateway.Gateway, *logBuffer) {
	tb.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte(yaml), config.Options{KnownContracts: set.Names()})
	if err != nil {
		tb.Fatal(err)
	}
	log := &logBuffer{}
	g, err := gateway.NewReaching(reach, cfg, set, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	return g, log
}

// client returns a client of the gateway, with an open session in the legacy era.
func (f *front) client(tb testing.TB, era testkit.Era) *testkit.Client {
	tb.Helper()
	c := testkit.NewClient(tb, f.url, era)
	if era == testkit.Legacy {
		initialize(tb, c)
	}
	return c
}

func initialize(tb testing.TB, c *testkit.Client) {
	tb.Helper()
	if a, err := c.Initialize(context.Background()); err != nil || a.Status != http.StatusOK {
		tb.Fatalf("initialize: got %+v, %v", a, err)
	}
}

type logBuffer struct{ testkit.Buffer }

// A logLine is a line of the log about a failure.
type logLine struct {
	Level     string `json:"level"`
	Msg       string `json:"msg"`
	RequestID string `json:"request_id"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Kind      string `json:"kind"`
	Code      string `json:"code"`
	Origin    string `json:"origin"`
	Effect    string `json:"effect"`
	Attempts  int    `json:"attempts"`
	Wait      string `json:"wait"`
	Note      string `json:"note"`
	Cause     string `json:"cause"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Peer      string `json:"peer"`
	Path      string `json:"path"`

	NotRepeated string `json:"not_repeated"`
}

func (b *logBuffer) lines(tb testing.TB) []logLine {
	tb.Helper()
	var lines []logLine
	for text := range strings.Lines(b.String()) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			tb.Fatalf("log line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// failures returns the lines about failures.
func (b *logBuffer) failures(tb testing.TB) []logLine {
	tb.Helper()
	var failures []logLine
	for _, l := range b.lines(tb) {
		if l.Msg == "failure" || l.Msg == "observed" {
			failures = append(failures, l)
		}
	}
	return failures
}

// recordOf returns the record in an answer: in the _meta of a result or in the data of a JSON-RPC error.
func recordOf(tb testing.TB, a *testkit.Answer) *recourse.Error {
	tb.Helper()
	if a.Message == nil {
		tb.Fatalf("got HTTP %d %s, want a message", a.Status, a.Body)
	}
	var raw json.RawMessage
	if a.Message.Error != nil {
		raw = a.Message.Error.Data
	} else {
		result, err := a.ToolResult()
		if err != nil {
			tb.Fatal(err)
		}
		raw = result.Meta[recourse.MetaKey]
	}
	e := new(recourse.Error)
	if err := json.Unmarshal(raw, e); err != nil {
		tb.Fatalf("no record in %s: %v", a.Body, err)
	}
	return e
}

var eras = []testkit.Era{testkit.Legacy, testkit.Modern}

// await waits until cond accepts the lines about failures.
func (f *front) await(tb testing.TB, cond func(lines []logLine) bool) {
	tb.Helper()
	if !f.log.Until(func(string) bool { return cond(f.log.failures(tb)) }) {
		tb.Fatalf("got log %s", f.log)
	}
}
