package upstream_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A process that ignores the end of stdin is told to end, and then killed; its children end with it.
func TestStubbornProcessesEnd(t *testing.T) {
	t.Parallel()
	t.Run("stubborn", func(t *testing.T) {
		t.Parallel()
		s := serve(t, command("stubborn")) // checks at the end that no process is left
		s.SetPatience(0, 0, time.Second)
		s.mustCall("echo", 0)
		s.Close()
		want := []string{"stdin has ended", "told to end"}
		if runtime.GOOS == "windows" {
			want = want[:1] // Windows has no signal that asks a process to end
		}
		if diff := cmp.Diff(want, stderrOf(s.log)); diff != "" {
			t.Errorf("what the process noticed before it was killed (-want +got):\n%s", diff)
		}
	})
	t.Run("grandchild", func(t *testing.T) {
		t.Parallel()
		s := serve(t, command("grandchild"))
		s.SetPatience(0, 0, 100*time.Millisecond)
		s.mustCall("echo", 0)
		began := time.Now()
		s.Close()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Close took %s", took)
		}
	})
	t.Run("grandchild of one that crashes", func(t *testing.T) {
		t.Parallel()
		s := serve(t, command("grandchild"))
		s.SetPatience(0, 0, 100*time.Millisecond)
		_, err := s.call("exit", 0)
		if got, want := record(t, err), "unreachable origin=gateway effect=: farm's process ended (exit status 1)."; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		s.mustCall("echo", 0)
		if first := pids(s.log)[0]; child.GroupAlive(first) {
			t.Error("the new child started while processes of the old one were alive")
		}
	})
}

// The cause tells the operator why the child ended, without credentials.
func TestCauseOfACrash(t *testing.T) {
	t.Parallel()
	s := serve(t, command("die"))
	s.AwaitExits()
	_, err := s.call("echo", 0)
	if got, want := record(t, err), "unavailable origin=gateway effect=none: farm could not be started: its process ended (exit status 3)."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	cause := recourse.From(err).Cause().Error()
	if !strings.Contains(cause, "cannot open the store") || strings.Contains(cause+s.log.String(), "51H8abcdefghijklmnop") {
		t.Errorf("got cause %s", cause)
	}
}
