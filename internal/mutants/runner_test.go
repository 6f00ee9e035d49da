package main

import (
	"errors"
	"io"
	"testing"
)

// The exit code depends on survivors and mistakes.
func TestSummary(t *testing.T) {
	t.Parallel()
	killed := func(n int) []result {
		list := make([]result, n)
		for i := range list {
			list[i].killer = "TestIt"
		}
		return list
	}
	for name, tt := range map[string]struct {
		results []result
		want    int
	}{
		"all die":                    {killed(10), 0},
		"one of a hundred survives":  {append(killed(99), result{}), 0},
		"one that must die survives": {append(killed(99), result{mutation: mutation{Must: true}}), 1},
		"five of a hundred survive":  {append(killed(95), make([]result, 5)...), 1},
		"a mistake":                  {append(killed(99), result{err: errors.New("it does not compile")}), 1},
		"no mutations":               {nil, 0},
		"four of a hundred survive":  {append(killed(96), make([]result, 4)...), 0},
		"the only one survives":      {make([]result, 1), 1},
	} {
		if got := summary(io.Discard, tt.results); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tt.want)
		}
	}
}
