package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

func filesOf(t *testing.T, o options) map[string][]byte {
	t.Helper()
	result, err := run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := result.files()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The program prints the page, or writes it with its figures, and refuses what it cannot do before it begins.
func TestProgram(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := simulate(t.Context(), []string{"-tasks", "20"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# What recovery is worth", "| obeys | yes | 100.00 % |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	dir := t.TempDir()
	if err := simulate(t.Context(), []string{"-tasks", "20", "-write", dir}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name := range filesOf(t, options{seed: 1, tasks: 1}) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, args := range [][]string{{"-tasks", "0"}, {"-tasks", "1000000000", "-write", dir + "/none"}, {"more"}, {"-seed", "x"}} {
		if err := simulate(t.Context(), args, io.Discard); err == nil {
			t.Errorf("accepted %q", args)
		}
	}
}

// A seed always gives the same page, to the byte; another seed gives another page.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	first := filesOf(t, options{seed: 7, tasks: 60})
	if diff := cmp.Diff(first, filesOf(t, options{seed: 7, tasks: 60})); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, filesOf(t, options{seed: 8, tasks: 60})) {
		t.Error("another seed changes nothing")
	}
}

// The figures are valid XML, and the page shows them all.
func TestFigures(t *testing.T) {
	t.Parallel()
	made := filesOf(t, options{seed: 1, tasks: 20})
	for name, data := range made {
		if name == pageName {
			continue
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Contains(made[pageName], []byte("]("+name+")")) {
			t.Errorf("no %s on the page", name)
		}
	}
}

// The page in docs is up to date with the code.
func TestLongPage(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	for name, want := range filesOf(t, options{seed: 1, tasks: 10_000}) {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, make simulate writes it (-want +got):\n%s", name, diff)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, options{tasks: 1 << 40}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The counts of a tally agree, and the agent that obeys does no harm in worlds where no failure looks like a success.
func TestTallies(t *testing.T) {
	t.Parallel()
	const tasks = 500
	r, err := run(t.Context(), options{seed: 3, tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	if want := (2*len(agents)+len(onceAgents))*len(r.worlds) + 2; len(r.tallies) != want { // one is played in one world
		t.Fatalf("%d pairs, want %d", len(r.tallies), want)
	}
	for k, sum := range r.tallies {
		if sum.tasks != tasks || sum.success > tasks || sum.safe > sum.success || sum.attempts < tasks {
			t.Errorf("%v: %+v", k, sum)
		}
		if k.world == "calm" && (sum.safe != tasks || sum.attempts != tasks || sum.needless != 0) {
			t.Errorf("%v: %+v", k, sum)
		}
		if k.agent == "obeys" && k.world != worldSilent && (sum.duplicates > 0 || sum.wrong > 0 || sum.safe != sum.success) {
			t.Errorf("%v: %+v", k, sum)
		}
		if (k.agent == "blind" || k.agent == "middleware") && k.world == "lost-writes" && (sum.duplicates == 0) != k.once {
			t.Errorf("%v makes %d duplicates", k, sum.duplicates)
		}
		if k.once && k.world != worldSilent && sum.wrong+sum.duplicates > 0 {
			t.Errorf("%v: %+v", k, sum)
		}
		if k.agent == "gives up" && (sum.attempts != tasks || sum.duplicates != 0) {
			t.Errorf("%v: %+v", k, sum)
		}
	}
	// All agents have the same luck.
	for _, world := range []string{"one-in-20", "lost-writes", worldSilent} {
		for _, gateway := range []bool{false, true} {
			var all []int
			for _, a := range agents {
				n := 0
				for _, s := range r.tallies[orderKey{world, a.name, gateway, false}].met {
					n += s.all
				}
				all = append(all, n)
			}
			if slices.Min(all) != slices.Max(all) {
				t.Errorf("%s: tasks with a failure, by agent: %v", world, all)
			}
		}
	}
}

// A contract that says what a success looks like sees all silent faults but the old copies, of which nobody can know.
func TestExpecting(t *testing.T) {
	t.Parallel()
	worlds, err := allWorlds()
	if err != nil {
		t.Fatal(err)
	}
	w := worlds[slices.IndexFunc(worlds, func(w *world) bool { return w.Name == worldSilent })]
	play := func(a agent) *tally {
		return agentInWorld{world: w, agent: a, gateway: true}.play(t.Context(), options{seed: 2, tasks: 3000})
	}
	if sum := play(expecting); sum.duplicates > 0 || sum.wrong == 0 || sum.wrong >= play(agents[0]).wrong {
		t.Errorf("%d duplicates, %d wrong claims", sum.duplicates, sum.wrong)
	}
	w.Faults = slices.DeleteFunc(w.Faults, func(f trouble) bool { return f.Fault == faultStale })
	if sum := play(expecting); sum.duplicates+sum.wrong > 0 {
		t.Errorf("without old copies: %d duplicates, %d wrong claims", sum.duplicates, sum.wrong)
	}
}

// Behind the gateway the goal is met, except where a failure looks like a success.
func TestGoal(t *testing.T) {
	t.Parallel()
	worlds, err := allWorlds()
	if err != nil {
		t.Fatal(err)
	}
	outages := 0
	for _, w := range worlds {
		if w.Name == worldSilent {
			continue
		}
		sum := agentInWorld{world: w, agent: agents[0], gateway: true}.play(t.Context(), options{seed: 2, tasks: 3700})
		if recovered := sum.recovered(); float64(recovered.part) < 0.999*float64(recovered.all) || recovered.all == 0 && w.Name != "calm" {
			t.Errorf("%s: recovered %s", w.Name, recovered.ofAll())
		}
		if sum.duplicates+sum.wrong > 0 {
			t.Errorf("%s: %d duplicates, %d wrong claims", w.Name, sum.duplicates, sum.wrong)
		}
		if calls := sum.inOutage; calls.all > 0 {
			outages++
			if float64(calls.part) > 1.2*float64(calls.all) {
				t.Errorf("%s: %s attempts per call", w.Name, ratio(calls.part, calls.all))
			}
		}
	}
	if outages != 2 {
		t.Errorf("%d worlds have outages", outages)
	}
}

// A task is recoverable if a call after its first fault can still be in time.
func TestOracle(t *testing.T) {
	t.Parallel()
	w := &outage{Every: time.Hour, For: 10 * time.Minute}
	for _, test := range []struct {
		at                time.Duration
		open, recoverable bool
	}{
		{49 * time.Minute, false, false},
		{50 * time.Minute, true, false},
		{58 * time.Minute, true, false},
		{58*time.Minute + time.Second, true, true},
		{time.Hour + 59*time.Minute, true, true},
		{2 * time.Hour, false, false},
	} {
		now := epoch.Add(test.at)
		end, open := w.ends(now)
		if open != test.open {
			t.Errorf("at %s: open is %t", test.at, open)
		}
		if !open {
			continue
		}
		task := newTask(&world{}, 1, 0, now)
		task.met(&trouble{Fault: faultUnreachable}, end)
		task.met(&trouble{Fault: faultUnreachable}, never)
		if task.recoverable() != test.recoverable {
			t.Errorf("at %s: recoverable is %t", test.at, task.recoverable())
		}
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		writes  bool
		claim   claim
		created int
		want    bool
	}{
		"done":                   {true, claim{done: true}, 1, true},
		"not done":               {true, claim{done: true}, 0, false},
		"failed":                 {true, claim{}, 0, true},
		"failed and done":        {true, claim{}, 1, false},
		"unknown and done":       {true, claim{open: true}, 1, true},
		"read":                   {false, claim{done: true, says: statusNow}, 0, true},
		"read an old copy":       {false, claim{done: true, says: statusStale}, 0, false},
		"read that it is absent": {false, claim{done: true}, 0, false},
		"not read":               {false, claim{}, 0, true},
	} {
		if got := (&task{writes: test.writes}).isTrue(test.claim, test.created); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Tasks continue in the order in which they wake up, and no wait exceeds a deadline.
func TestClock(t *testing.T) {
	t.Parallel()
	c := &clock{now: epoch}
	var order []string
	sleep := func(name string, d time.Duration, want error) func(*task) {
		return func(task *task) {
			if err := c.Sleep(t.Context(), d); !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
			order = append(order, name+" "+c.now.Sub(epoch).String()+" "+task.slept.String())
		}
	}
	c.start(&task{deadline: epoch.Add(10 * time.Second)}, sleep("late", time.Minute, context.DeadlineExceeded))
	c.start(&task{deadline: epoch.Add(10 * time.Second)}, sleep("a", 2*time.Second, nil))
	c.start(&task{deadline: epoch.Add(10 * time.Second)}, sleep("b", 2*time.Second, nil))
	c.wake(epoch.Add(time.Second))
	c.start(&task{deadline: epoch.Add(10 * time.Second)}, sleep("soon", time.Millisecond, nil))
	c.wake(never)
	want := []string{"soon 1.001s 1ms", "a 2s 2s", "b 2s 2s", "late 10s 10s"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The gateway writes a failure as the contract says, with its effect if that is known.
func TestGateway(t *testing.T) {
	t.Parallel()
	commerce := contract.MustBuiltin("commerce")
	reader := contract.Reader{Contracts: []*contract.Contract{commerce}, Trusted: true}
	for _, test := range []struct {
		fault  trouble
		writes bool
		kind   recourse.Kind
		effect recourse.Effect
		calls  int // at the shop
		took   time.Duration
	}{
		{trouble{Fault: faultLost, Rate: 1}, true, recourse.KindTimeout, recourse.EffectUnknown, 1, gatewayTimeout},
		{trouble{Fault: faultUnavailable, Rate: 1}, true, recourse.KindUnavailable, recourse.EffectUnknown, 1, latency},
		{trouble{Fault: faultReset, Rate: 1, After: true}, true, recourse.KindUnreachable, recourse.EffectUnknown, 1, latency},
		{trouble{Fault: faultUnreachable, Rate: 1}, true, recourse.KindUnreachable, recourse.EffectNone, 3, 3*latency + 300*time.Millisecond},
		{trouble{Fault: faultUnavailable, Rate: 1}, false, recourse.KindUnavailable, recourse.EffectNone, 3, 3*latency + 300*time.Millisecond},
		{trouble{Fault: faultLimited, Rate: 1, Wait: time.Minute}, true, recourse.KindRateLimited, recourse.EffectNone, 1, latency},
	} {
		w := &world{Faults: []trouble{test.fault}}
		s := &shop{world: w, clock: &clock{now: epoch}, created: map[string]int{}, spans: map[*trouble]limitSpan{}}
		g := newGateway(s, commerce, func() float64 { return 0 })
		number := 0
		if test.writes {
			number = 1
		}
		s.clock.start(newTask(w, 1, number, epoch), func(task *task) {
			result, err := g.call(task.call(), task.deadline)
			if err != nil {
				t.Error(err)
				return
			}
			reading, failed := reader.Result(result)
			e, ok := reading.Failure.(*recourse.Error)
			if !failed || !ok || e.Kind != test.kind || e.Effect != test.effect || task.faults != test.calls || s.clock.now.Sub(epoch) != test.took {
				t.Errorf("%s: %s after %d calls and %s", test.fault.Fault, result, task.faults, s.clock.now.Sub(epoch))
			}
			if test.effect == recourse.EffectUnknown && (e.Verify == nil || e.Verify.Tool != toolRead) {
				t.Errorf("%s names no verify call: %s", test.fault.Fault, result)
			}
			if created := s.created[task.id]; (created == 1) != test.fault.After {
				t.Errorf("%s: created %d times", test.fault.Fault, created)
			}
		})
		s.clock.wake(never)
	}
}

// All mistakes in a world's file are reported at once.
func TestParseWorld(t *testing.T) {
	t.Parallel()
	_, err := parseWorld("w.yaml", []byte(`title: W
doc: w
faults:
- {fault: typo, rate: 0.1}
- {fault: lost, tool: none, rate: 0.1}
- {fault: lost}
- {fault: lost, rate: 2}
- {fault: lost, window: {every: 1m, for: 1h}}
- {fault: lost, limit: {calls: 0, per: 1m}}
`))
	mistakes, ok := errors.AsType[strictyaml.Errors](err)
	if !ok || len(mistakes) != 6 {
		t.Fatalf("%v", err)
	}
	for i, want := range []string{"no fault `typo`", "no such tool", "one of `rate`", "at most 1", "shorter", "some calls"} {
		if !strings.Contains(mistakes[i].Message, want) {
			t.Errorf("%s: want %q", mistakes[i], want)
		}
	}
}
