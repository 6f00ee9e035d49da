package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// The time of a call stops while a question to its client is open, and continues with the answer. max_timeout still limits
// it.
func TestDeadlineStopsDuringAQuestion(t *testing.T) {
	t.Parallel()
	const quiet, most = 10 * time.Second, time.Minute
	type step struct {
		after time.Duration
		do    func(q *Questions, d *Deadline)
	}
	ask := func(id string) func(*Questions, *Deadline) {
		return func(q *Questions, d *Deadline) { q.Ask(wire.ID(id), d) }
	}
	answer := func(id string) func(*Questions, *Deadline) {
		return func(q *Questions, _ *Deadline) { q.Answer(wire.ID(id)) }
	}
	progress := func(_ *Questions, d *Deadline) { d.Alive() }
	tests := map[string]struct {
		steps []step
		want  time.Duration
	}{
		"silence":                                      {nil, quiet},
		"progress":                                     {[]step{{6 * time.Second, progress}, {6 * time.Second, progress}}, 22 * time.Second},
		"progress for ever":                            {[]step{{9 * time.Second, progress}, {9 * time.Second, progress}, {9 * time.Second, progress}, {9 * time.Second, progress}, {9 * time.Second, progress}, {9 * time.Second, progress}, {5 * time.Second, progress}}, most},
		"a question without an answer":                 {[]step{{time.Second, ask("1")}}, most},
		"an answer, and then silence":                  {[]step{{time.Second, ask("1")}, {20 * time.Second, answer("1")}}, 31 * time.Second},
		"an answer whose id has escapes":               {[]step{{0, ask(`"a"`)}, {20 * time.Second, answer(`"\u0061"`)}}, 30 * time.Second},
		"an answer to something else":                  {[]step{{0, ask(`"1"`)}, {20 * time.Second, answer("1")}}, most},
		"progress meanwhile":                           {[]step{{0, ask("1")}, {5 * time.Second, progress}, {20 * time.Second, answer("1")}}, 35 * time.Second},
		"one answer to two questions":                  {[]step{{0, ask("1")}, {0, ask("2")}, {20 * time.Second, answer("1")}}, most},
		"two answers":                                  {[]step{{0, ask("1")}, {0, ask("2")}, {20 * time.Second, answer("2")}, {5 * time.Second, answer("1")}}, 35 * time.Second},
		"an answer that comes twice":                   {[]step{{0, ask("1")}, {5 * time.Second, answer("1")}, {5 * time.Second, answer("1")}}, 15 * time.Second},
		"a question of an unknown call":                {[]step{{0, func(_ *Questions, d *Deadline) { d.Suspend() }}}, most},
		"a question of an unknown call, then progress": {[]step{{0, func(_ *Questions, d *Deadline) { d.Suspend() }}, {20 * time.Second, progress}}, 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var q Questions
				began := time.Now()
				var told time.Duration
				ctx, cancel := context.WithCancelCause(t.Context())
				d := new(Deadline)
				d.Start(quiet, most, cancel, func(within time.Duration) error {
					told = within
					return errors.New("too late")
				})
				defer d.Stop()
				for _, s := range test.steps {
					time.Sleep(s.after)
					s.do(&q, d)
				}
				<-ctx.Done()
				if took := time.Since(began); took != test.want {
					t.Errorf("got the end after %v, want %v", took, test.want)
				}
				if want := map[bool]time.Duration{true: most, false: quiet}[test.want == most]; told != want || context.Cause(ctx) == nil {
					t.Errorf("got an error that says %v, want %v", told, want)
				}
			})
		})
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	var q Questions
	d, other := new(Deadline), new(Deadline)
	q.Ask(wire.ID("0"), other)
	const most = 256
	for i := range 2 * most {
		q.Ask(wire.IntID(int64(i)), d)
	}
	if len(q.open) != most {
		t.Errorf("got %d questions", len(q.open))
	}
	q.Drop(d)
	if len(q.open) != 1 {
		t.Errorf("got %d questions of another call", len(q.open))
	}
}
