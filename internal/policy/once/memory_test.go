package once_test

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/once"
)

// What a process remembers in memory is bounded: of too many calls none is forgotten, the next one is refused. Of too many answers
// it is only known that they were given.
func TestInMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := once.NewInMemory(slog.New(slog.DiscardHandler))
	claim := func(id string, keep time.Duration) (*once.Claim, error) {
		return l.Claim(t.Context(), &once.Ask{Row: once.Row{ID: id}, Keep: keep, Until: time.Now()})
	}
	begin := func(id string, keep time.Duration) *once.Claim {
		t.Helper()
		c, err := claim(id, keep)
		if err != nil || c.Verdict != once.First {
			t.Fatalf("%s: %+v, %v", id, c, err)
		}
		return c
	}
	const size = 256 << 10
	for i := range 100_000 {
		answer := ""
		if i <= 64<<20/size {
			answer = strings.Repeat("x", size)
		}
		begin(strconv.Itoa(i), time.Hour).Answered(answer, size, false, false, "")
	}
	for id, want := range map[string]int{"0": size, "255": size, "256": 0} {
		if c, err := claim(id, time.Hour); err != nil || c.Verdict != once.Repeat || len(c.Row.Answer) != want {
			t.Errorf("%s: %v, %v", id, c, err)
		}
	}
	if c, err := claim("one more", time.Hour); err == nil {
		t.Errorf("got %+v", c)
	}
}

// A row whose time is over does not count, unless its call is under way.
func TestInMemoryExpires(t *testing.T) {
	t.Parallel()
	l := once.NewInMemory(slog.New(slog.DiscardHandler))
	ask := &once.Ask{Row: once.Row{ID: "1"}, Keep: -time.Second, Until: time.Now()}
	first, err := l.Claim(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := l.Claim(t.Context(), ask); err != nil || c.Verdict != once.UnderWay {
		t.Errorf("under way: %+v, %v", c, err)
	}
	first.Answered("answer", 6, false, false, "")
	if c, err := l.Claim(t.Context(), ask); err != nil || c.Verdict != once.First {
		t.Errorf("over: %+v, %v", c, err)
	}
}
