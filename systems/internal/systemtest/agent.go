package systemtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems"
)

// An Agent calls the tools of a system as a client of package recovery, with the Go SDK, through an injector.
type Agent struct {
	*recovery.Client[*mcp.CallToolParams, *mcp.CallToolResult]

	Session  *mcp.ClientSession // without recovery
	Injector *inject.Injector
	Clock    *Clock

	mu       sync.Mutex
	entrance systems.Entrance
}

// NewAgent serves a system until the test ends and connects an agent that only knows c. faults are the rules
// of a fault file; "" for none. The agent does not actually wait, and adds no jitter to its waits.
func NewAgent(t *testing.T, s systems.System, c *contract.Contract, faults string, options ...recovery.Option) *Agent {
	t.Helper()
	a := &Agent{Injector: inject.New(plan(t, faults)), Clock: NewClock(), entrance: s.Entrance()}
	front := a.front(t, s)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint:             front + a.entrance.Path,
			HTTPClient:           &http.Client{Transport: recovery.NewMCPTransport(entering{dial(t), a.Entrance})},
			DisableStandaloneSSE: true,
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	a.Session = session
	a.Client = recovery.New(session, c, slices.Concat([]recovery.Option{
		recovery.WithTimeout(aWhile), recovery.WithClock(a.Clock), recovery.WithLogger(Quiet()),
		recovery.WithRandom(func() float64 { return 0 }),
	}, options)...)
	return a
}

// Inject serves a system behind an injector until the test ends, and returns the URL of its endpoint. faults are the rules of a
// fault file.
func Inject(t *testing.T, s systems.System, faults string) string {
	t.Helper()
	target, err := url.Parse(Serve(t, s))
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	return testkit.Serve(t, inject.Front(inject.NewTransport(inject.New(plan(t, faults)), inject.MCP, base), target)) + target.Path
}

// plan returns the plan with these rules.
func plan(t *testing.T, rules string) *inject.Plan {
	t.Helper()
	if rules == "" {
		return new(inject.Plan)
	}
	p, err := inject.Parse("faults.yaml", []byte("rules:\n"+rules), inject.Options{Traffic: inject.MCP})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// front serves the system behind the injector, and returns the root of the injector.
func (a *Agent) front(t *testing.T, s systems.System) string {
	t.Helper()
	target, err := url.Parse(testkit.ServeInMemory(t, s.Handler()) + a.entrance.Path)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := inject.Server(inject.Front(inject.NewTransport(a.Injector, inject.MCP, dial(t)), target))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return "http://" + listener.Addr().String()
}

// dial returns a transport to listeners in memory.
func dial(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: testkit.Dial, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Entrance returns what the agent sends.
func (a *Agent) Entrance() systems.Entrance {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entrance
}

// Enter replaces what the agent sends from now on.
func (a *Agent) Enter(e systems.Entrance) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entrance = e
}

// An Outcome is the result of a call.
type Outcome struct {
	Text     string // of the result
	Failure  *recourse.Error
	Question *recourse.NeedsInput
}

// Call calls a tool; arguments are a JSON object. It fails the test unless the call ends with a failure of
// that code, or of that kind if it has no code: "" means a success, "question" a question.
func (a *Agent) Call(t *testing.T, tool, arguments, code string) Outcome {
	t.Helper()
	result, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	var o Outcome
	got := ""
	switch {
	case errors.As(err, &o.Failure):
		got = cmp.Or(o.Failure.Code, string(o.Failure.Kind))
	case errors.As(err, &o.Question):
		got = "question"
	}
	if got != code || (err == nil) != (code == "") {
		t.Fatalf("%s %s ended with %q, want %q: %v", tool, arguments, got, code, err)
	}
	if result != nil {
		o.Text = textOf(result)
	}
	return o
}

// Reached returns how many calls of each tool reached the system.
func (a *Agent) Reached() map[string]int {
	reached := map[string]int{}
	for _, e := range a.Injector.Ledger().Calls {
		if e.Reached > 0 {
			reached[e.Tool] += e.Reached
		}
	}
	return reached
}

// CheckReached fails the test unless exactly these calls, by tool, reached the system.
func (a *Agent) CheckReached(t *testing.T, want map[string]int) {
	t.Helper()
	if diff := gocmp.Diff(want, a.Reached()); diff != "" {
		t.Errorf("what reached the system (-want +got):\n%s", diff)
	}
}

// CheckWaits fails the test unless the agent has waited for these times, in order.
func (a *Agent) CheckWaits(t *testing.T, want ...time.Duration) {
	t.Helper()
	if diff := gocmp.Diff(want, a.Clock.Waits()); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// A Clock only advances when somebody sleeps, without actually waiting. It implements [recovery.Clock].
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

// NewClock returns a clock that starts now.
func NewClock() *Clock { return &Clock{now: time.Now()} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep advances the clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waits = append(c.waits, d)
	return ctx.Err()
}

// Waits returns the durations of all sleeps, in order.
func (c *Clock) Waits() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waits)
}
