package journal_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// stuck is an observer that does not return before it is closed. Those after it are told of calls only then.
type stuck chan struct{}

func (s stuck) Ended(*observe.Outcome) { <-s }

// Whenever a process is killed, a call whose client has its answer is in the journal, or is counted by the next process. One that is
// not kept is not counted.
func TestAnsweredCallsAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		successes float64
		lost      uint64
	}{"kept": {1, 1}, "not kept": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := all()
			settings.Successes = test.successes
			dir, killed, observer := t.TempDir(), t.TempDir(), make(stuck)
			j := journal.New(&fake{}, settings, slog.New(slog.DiscardHandler))
			t.Cleanup(func() { closing(j, 5*time.Second) })
			if err := j.CountKilled(filepath.Join(dir, "unwritten-")); err != nil {
				t.Fatal(err)
			}
			g, _ := gatewaytest.Before(t, testkit.NewServer(t, testkit.InMemory()))
			g.Observe(observer)
			g.Observe(j)
			host := gatewaytest.StartHost(t, g)
			t.Cleanup(func() { close(observer) })
			host.Send(gatewaytest.Hello)
			host.Next()

			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil { // as a killed process leaves it: nobody holds its lock
				t.Fatal(err)
			}
			next := journal.New(&fake{}, settings, slog.New(slog.DiscardHandler))
			defer closing(next, 5*time.Second)
			if err := next.CountKilled(filepath.Join(killed, "unwritten-")); err != nil {
				t.Fatal(err)
			}
			if s := next.Stats(); s.Lost != test.lost {
				t.Errorf("counted %d calls, want %d", s.Lost, test.lost)
			}
		})
	}
}

// Calls that are lost since the store fails are told in the log now and then. What a kill leaves untold is counted by the next process.
func TestUntoldLossIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 9000 // more than are kept for the store to come back
		dir, killed := t.TempDir(), t.TempDir()
		j := journal.New(&fake{down: errDown}, all(), slog.New(slog.DiscardHandler))
		if err := j.CountKilled(filepath.Join(dir, "unwritten-")); err != nil {
			t.Fatal(err)
		}
		j.Ended(failing(0))
		time.Sleep(time.Second) // it has failed, and said so: for a minute it says nothing more
		for i := range calls - 1 {
			j.Ended(failing(i))
		}
		if s := j.Stats(); s.Lost == 0 {
			t.Error("nothing is lost")
		}
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		next := journal.New(&fake{}, all(), slog.New(slog.DiscardHandler))
		if err := next.CountKilled(filepath.Join(killed, "unwritten-")); err != nil {
			t.Fatal(err)
		}
		if s := next.Stats(); s.Lost != calls {
			t.Errorf("counted %d calls, want %d", s.Lost, calls)
		}
		closing(next, time.Second)
		closing(j, time.Second)
	})
}
