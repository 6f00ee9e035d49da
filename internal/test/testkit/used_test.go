package testkit_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// careless is a pooled struct with a field of every kind.
//
//nolint:unused // its fields are set and read by reflection
type careless struct {
	inner struct {
		flag  bool
		pair  [2]int8
		count uint32
	}
	share  float64
	name   string
	memory []byte
	index  map[string]int
	to     *careless
	done   chan<- struct{}
	stop   func() error
	from   io.Reader
}

func TestUnlikeFindsWhatAResetLeaves(t *testing.T) {
	t.Parallel()

	var used, fresh careless
	if err := testkit.Use(&used, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"inner.flag", "inner.pair[0]", "inner.pair[1]", "inner.count",
		"share", "name", "memory", "index", "to", "done", "stop", "from",
	}
	got := testkit.Unlike(&used, &fresh)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "testkit_test.careless.")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	used = careless{memory: used.memory[:0]}
	if left := testkit.Unlike(&used, &fresh); len(left) > 0 {
		t.Error("after a reset:", left)
	}
	if err := testkit.Use(&used); err == nil || !strings.Contains(err.Error(), "from") {
		t.Error("without a sample of a reader:", err)
	}
}
