package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/gateway"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/testkit"
)

// TestMain lets more tests run at once than there are processors: they wait more
// than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Goroutines(m)
}

// deadline is that of calls in the tests, slack what an answer may take beyond it.
const (
	deadline = 600 * time.Millisecond
	slack    = 250 * time.Millisecond
)

// A front is a gateway in front of one server, which is called farm.
type front struct {
	url string // of the server's endpoint at the gateway
	log *logBuffer
}

// entry are the keys of the server's entry, one a line; url and timeout have
// defaults.
func start(t testing.TB, serverURL string, entry ...string) *front {
	t.Helper()
	lines := append([]string{"url: " + serverURL}, entry...)
	if !strings.Contains(strings.Join(entry, "\n"), "timeout:") {
		lines = append(lines, fmt.Sprintf("timeout: %s", deadline))
	}
	return startConfig(t, "servers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
}

func startConfig(t testing.TB, yaml string) *front {
	t.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", []byte(yaml), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	f := &front{log: &logBuffer{}}
	g, err := gateway.New(cfg, set, slog.New(slog.NewJSONHandler(f.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close) // after the listener's: it was registered earlier
	f.url = testkit.Serve(t, g) + "/farm/mcp"
	return f
}

// client returns a client of the gateway; of the old era with an open session.
func (f *front) client(t testing.TB, era testkit.Era) *testkit.Client {
	t.Helper()
	c := testkit.NewClient(t, f.url, era)
	if era == testkit.OldEra {
		initialize(t, c)
	}
	return c
}

func initialize(t testing.TB, c *testkit.Client) {
	t.Helper()
	if a, err := c.Initialize(context.Background()); err != nil || a.Status != http.StatusOK {
		t.Fatalf("initialize: %v %+v", err, a)
	}
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A logLine is what the gateway logs of a failure.
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
	Repeat    string `json:"repeat"`
	Note      string `json:"note"`
	Cause     string `json:"cause"`
}

func (b *logBuffer) lines(t testing.TB) []logLine {
	t.Helper()
	var lines []logLine
	for text := range strings.Lines(b.String()) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("log line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// failures are the lines about failures.
func (b *logBuffer) failures(t testing.TB) []logLine {
	t.Helper()
	var failures []logLine
	for _, l := range b.lines(t) {
		if l.Msg == "failure" || l.Msg == "observed" {
			failures = append(failures, l)
		}
	}
	return failures
}

// recordOf returns the record that an answer carries, in _meta of a result or in the
// data of a JSON-RPC error.
func recordOf(t testing.TB, a *testkit.Answer) *recourse.Error {
	t.Helper()
	if a.Message == nil {
		t.Fatalf("no message in HTTP %d %s", a.Status, a.Body)
	}
	raw := json.RawMessage(nil)
	if a.Message.Error != nil {
		raw = a.Message.Error.Data
	} else {
		result, err := a.ToolResult()
		if err != nil {
			t.Fatal(err)
		}
		raw = result.Meta[recourse.MetaKey]
	}
	e := new(recourse.Error)
	if err := json.Unmarshal(raw, e); err != nil {
		t.Fatalf("no record in %s: %v", a.Body, err)
	}
	return e
}

// eras are the eras, for subtests.
var eras = []testkit.Era{testkit.OldEra, testkit.NewEra}
