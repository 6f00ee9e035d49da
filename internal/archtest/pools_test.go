package archtest_test

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pools are the files that reuse memory for the next caller, each with the test that shows that nothing of the last
// caller is left in it.
var pools = map[string]string{
	"internal/gateway/call.go": "internal/gateway/call_internal_test.go: func TestForgetLeavesNothing",
	"contract/draft.go":        "contract/draft_internal_test.go: func TestDropLeavesNothing",
	"internal/wire/pool.go":    "internal/wire/pool_internal_test.go: func TestResetLeavesNothing",
}

// poolsAreReset requires a test for each sync.Pool, except in the benchmarks, which serve nobody.
func poolsAreReset(known map[string]string) func([]file) []string {
	return func(files []file) []string {
		var faults []string
		found := map[string]bool{}
		texts := map[string][]byte{}
		for _, f := range files {
			texts[f.path] = f.data
			if path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || within(f.path, "internal/bench") ||
				!bytes.Contains(f.data, []byte("sync.Pool")) {
				continue
			}
			found[f.path] = true
			if known[f.path] == "" {
				faults = append(faults, f.path+" has a sync.Pool: fill what it keeps with testkit.Use, reset it, and demand that testkit.Unlike finds nothing")
			}
		}
		for name, test := range known {
			file, function, _ := strings.Cut(test, ": ")
			if !found[name] || !bytes.Contains(texts[file], []byte(function+"(")) {
				faults = append(faults, fmt.Sprintf("%s is in pools: it has none any more, or there is no %s", name, test))
			}
		}
		slices.Sort(faults)
		return faults
	}
}

func TestPools(t *testing.T) {
	t.Parallel()

	for _, fault := range poolsAreReset(pools)(readFiles(t)) {
		t.Error(fault)
	}
}

func TestPoolRuleFindsFaults(t *testing.T) {
	t.Parallel()

	rule := poolsAreReset(map[string]string{"a/kept.go": "a/kept_test.go: func TestKept", "a/gone.go": "a/kept_test.go: func TestKept"})
	got := rule([]file{
		{"a/kept.go", []byte("var p sync.Pool")},
		{"a/kept_test.go", []byte("func TestKept(t *testing.T) {}")},
		{"a/more.go", []byte("var p = sync.Pool{}")},
	})
	want := []string{
		"a/gone.go is in pools: it has none any more, or there is no a/kept_test.go: func TestKept",
		"a/more.go has a sync.Pool: fill what it keeps with testkit.Use, reset it, and demand that testkit.Unlike finds nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
