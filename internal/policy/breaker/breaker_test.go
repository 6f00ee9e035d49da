package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/policy/breaker"
)

var rule = breaker.Settings{FailureRate: 0.5, Window: 30 * time.Second, MinCalls: 4, OpenFor: 5 * time.Second, MaxOpen: time.Minute}

// A clock moves only when the test moves it.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// call makes a call that ends immediately, and reports whether it was let through.
func (c *clock) call(b *breaker.Breaker, tool string, o breaker.Sign) bool {
	pass, refusal := b.Admit(c.now, tool)
	if refusal != nil {
		return false
	}
	b.Done(c.now, pass, o, 0)
	return true
}

// open makes calls fail until the breaker opens.
func (c *clock) open(t *testing.T, b *breaker.Breaker, tool string, o breaker.Sign) {
	t.Helper()
	for range rule.MinCalls {
		if !c.call(b, tool, o) {
			t.Fatal("opened too early")
		}
	}
	if b.Closed(tool) {
		t.Fatal("did not open")
	}
}

func TestOpensOnRate(t *testing.T) {
	t.Parallel()
	const ok, bad, nothing = breaker.Answered, breaker.Failed, breaker.Nothing
	for _, test := range []struct {
		name  string
		calls []breaker.Sign
		open  bool
	}{
		{"too few calls", []breaker.Sign{bad, bad, bad}, false},
		{"enough", []breaker.Sign{bad, bad, bad, bad}, true},
		{"half of them", []breaker.Sign{ok, ok, bad, bad}, true},
		{"less than half", []breaker.Sign{ok, ok, ok, bad, bad}, false},
		{"an answer never opens", []breaker.Sign{bad, bad, bad, ok}, false},
		{"cancelled calls do not count", []breaker.Sign{bad, bad, bad, nothing, nothing}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, c := breaker.New(rule), newClock()
			for _, o := range test.calls {
				c.call(b, "get", o)
			}
			if b.Closed("get") == test.open {
				t.Errorf("open: %v, want %v", !test.open, test.open)
			}
		})
	}
}

// Results older than the window are forgotten.
func TestWindowSlides(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	for range 20 { // one failure every eight seconds
		c.call(b, "get", breaker.Failed)
		c.pass(11 * time.Second)
	}
	if !b.Closed("get") {
		t.Error("opened after three failures in a window")
	}
	b, c = breaker.New(rule), newClock()
	for range rule.MinCalls - 1 {
		c.call(b, "get", breaker.Failed)
	}
	c.pass(rule.Window)
	if s := b.States(c.now)[1]; s.Calls != 0 {
		t.Errorf("after the window %d calls still count", s.Calls)
	}
}

// After its time, an open circuit lets one probe through at a time. A failing probe doubles the time; an answer closes
// the circuit.
func TestProbes(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "", breaker.Failed)
	for _, open := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		if _, refusal := b.Admit(c.now, "get"); refusal == nil || refusal.Wait != open || refusal.Tool != "" {
			t.Fatalf("got %+v, want %s", refusal, open)
		}
		c.pass(open - 1)
		if b.Refuses(c.now, "get") == nil {
			t.Fatal("a call was let through too early")
		}
		c.pass(1)
		probe, refusal := b.Admit(c.now, "get")
		if refusal != nil {
			t.Fatalf("the probe is refused: %+v", refusal)
		}
		if _, refusal := b.Admit(c.now, "get"); refusal == nil || refusal.Wait != time.Second {
			t.Fatalf("during the probe: %+v", refusal)
		}
		b.Done(c.now, probe, breaker.Failed, 0)
	}
	c.pass(time.Minute)
	c.call(b, "get", breaker.Nothing)
	if b.Closed("get") || b.Refuses(c.now, "get") != nil {
		t.Error("a probe without a result changed the state")
	}
	c.call(b, "get", breaker.Answered)
	if !b.Closed("get") {
		t.Error("an answered probe did not close the circuit")
	}
	c.open(t, b, "", breaker.Failed)
	if refusal := b.Refuses(c.now, "get"); refusal == nil || refusal.Wait != 5*time.Second {
		t.Errorf("reopened: %+v", refusal)
	}
}

// A hanging probe does not keep the circuit open for ever, and its result is ignored after another probe.
func TestProbeThatHangs(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "", breaker.Failed)
	c.pass(5 * time.Second)
	hung, _ := b.Admit(c.now, "")
	c.pass(breaker.ProbeTimeout)
	if !c.call(b, "", breaker.Answered) {
		t.Fatal("no second probe")
	}
	b.Done(c.now, hung, breaker.Failed, 0)
	if !b.Closed("") {
		t.Error("the first probe reopened the circuit")
	}
}

// Calls from before the opening neither close the circuit nor keep it open longer.
func TestLateCalls(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	good, _ := b.Admit(c.now, "")
	bad, _ := b.Admit(c.now, "")
	c.open(t, b, "", breaker.Failed)
	c.pass(4 * time.Second)
	b.Done(c.now, good, breaker.Answered, 0)
	b.Done(c.now, bad, breaker.Failed, 0)
	if refusal := b.Refuses(c.now, ""); refusal == nil || refusal.Wait != time.Second {
		t.Errorf("after late results: %+v", refusal)
	}
}

// A tool without answers in time does not affect other tools, and an unreachable server does not count against the
// tool.
func TestToolAndServer(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "slow", breaker.TimedOut)
	if refusal := b.Refuses(c.now, "slow"); refusal == nil || refusal.Tool != "slow" {
		t.Errorf("tool: %+v", refusal)
	}
	if !b.Closed("get") || !c.call(b, "get", breaker.Answered) {
		t.Error("another tool is held back")
	}
	b = breaker.New(rule)
	c.open(t, b, "get", breaker.Missed)
	c.pass(5 * time.Second)
	if !c.call(b, "other", breaker.Answered) || !b.Closed("get") {
		t.Error("the tool is still held back after the server's recovery")
	}
}

// The server's own wait keeps the circuit open longer, but within a limit.
func TestStatedWait(t *testing.T) {
	t.Parallel()
	for stated, want := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, 20 * time.Second: 20 * time.Second, 1000 * time.Hour: time.Hour} {
		b, c := breaker.New(rule), newClock()
		for range rule.MinCalls {
			pass, _ := b.Admit(c.now, "")
			b.Done(c.now, pass, breaker.Failed, stated)
		}
		if refusal := b.Refuses(c.now, ""); refusal == nil || refusal.Wait != want {
			t.Errorf("%s stated: %+v, want %s", stated, refusal, want)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "slow", breaker.TimedOut)
	c.call(b, "slow", breaker.Answered)
	c.call(b, "get", breaker.Answered)
	c.call(b, "get", breaker.Failed)
	want := []breaker.State{
		{Status: breaker.StatusClosed, Calls: 2, Failed: 1},
		{Tool: "get", Status: breaker.StatusClosed, Calls: 2, Failed: 1},
		{Tool: "slow", Status: breaker.StatusOpen, Wait: 5 * time.Second, Refused: 1},
	}
	if diff := cmp.Diff(want, b.States(c.now)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	c.pass(5 * time.Second)
	if s := b.States(c.now)[2]; s.Status != breaker.StatusHalfOpen {
		t.Errorf("after its time: %+v", s)
	}
}

// New settings do not affect an open circuit.
func TestSet(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "", breaker.Failed)
	other := rule
	other.OpenFor, other.Window = 20*time.Second, time.Minute
	b.Set(other)
	if refusal := b.Refuses(c.now, ""); refusal == nil || refusal.Wait != 5*time.Second {
		t.Errorf("after the change: %+v", refusal)
	}
	c.pass(5 * time.Second)
	c.call(b, "", breaker.Failed)
	if refusal := b.Refuses(c.now, ""); refusal == nil || refusal.Wait != 40*time.Second {
		t.Errorf("open again: %+v", refusal)
	}
}

// A window of another length starts empty.
func TestSetWindow(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	for range rule.MinCalls - 1 {
		c.call(b, "get", breaker.Failed)
	}
	longer := rule
	longer.Window *= 10
	b.Set(longer)
	for _, s := range b.States(c.now) {
		if s.Calls != 0 {
			t.Errorf("%d earlier calls count", s.Calls)
		}
	}
	c.open(t, b, "get", breaker.Failed)
}

// Invented tool names neither use unlimited memory nor displace a failing tool.
func TestManyNames(t *testing.T) {
	t.Parallel()
	b, c := breaker.New(rule), newClock()
	c.open(t, b, "slow", breaker.TimedOut)
	for i := range 10_000 {
		c.call(b, fmt.Sprint("made-up-", i), breaker.Answered)
	}
	if n := len(b.States(c.now)); n > 2001 {
		t.Errorf("%d circuits", n)
	}
	if b.Closed("slow") {
		t.Error("the failing tool was forgotten")
	}
	c.open(t, b, "slow too", breaker.TimedOut)
}
