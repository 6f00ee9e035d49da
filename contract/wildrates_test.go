package contract_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/wildtest"
)

// The minimum percentage of each half of the corpus that must be read right, and the maximum percentage of the innocent
// answers that may be taken for a failure.
const (
	minSeen  = 95.0
	minHeld  = 90.0
	maxFalse = 0.0
)

var showHeld = flag.Bool("held", false, "print what is read wrong of the half of the corpus that is not to be looked at")

// wildReader reads answers like a program that knows nothing about the server or, if known, like one that expects the
// forms of every family.
func wildReader(known bool) *contract.Reader {
	r := &contract.Reader{Contracts: contract.Builtin().All()}
	if known {
		r.Families = contract.Families()
	}
	return r
}

// readWild reads an answer of the corpus; nil is a success.
func readWild(r *contract.Reader, a *wildtest.Sample) *recourse.Error {
	if a.Result == nil {
		return r.HTTP(a.Status, a.Header, a.Body).Error()
	}
	reading, _ := r.Result(a.Result)
	return reading.Error()
}

// A tally counts the right answers of a family.
type tally struct{ right, all int }

func (n tally) rate() float64 { return 100 * float64(n.right) / float64(n.all) }

func (n tally) String() string { return fmt.Sprintf("%d of %d (%.1f %%)", n.right, n.all, n.rate()) }

// How many failures in the wild are read right, and how many successes are taken for failures.
func TestWildRates(t *testing.T) {
	t.Parallel()
	corpus, err := wildtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen, held := wildTallies(t, corpus)
	t.Logf("read right of the half seen: %s", total(seen))
	t.Logf("read right of the half held back: %s", total(held))
	mistaken := mistakenInnocents(t, corpus)
	t.Logf("taken for a failure: %s of the innocent answers", mistaken)
	if total(seen).rate() < minSeen || total(held).rate() < minHeld {
		t.Errorf("want at least %.1f %% of the half seen read right, and %.1f %% of the other", minSeen, minHeld)
	}
	if mistaken.rate() > maxFalse {
		t.Errorf("want at most %.1f %% of the innocent answers taken for a failure", maxFalse)
	}
}

// wildTallies counts, by family, how many answers of each half are read right. It prints the others; for the half held
// back only their number, so that nobody works on those entries unawares.
func wildTallies(t *testing.T, corpus *wildtest.Corpus) (seen, held map[string]tally) {
	t.Helper()
	seen, held = map[string]tally{}, map[string]tally{}
	readers := map[bool]*contract.Reader{false: wildReader(false), true: wildReader(true)}
	for i := range corpus.Failures {
		f := &corpus.Failures[i]
		wrong := f.Want.Wrong(readWild(readers[f.Answer.Unmarked], &f.Answer))
		if f.Answer.Unmarked && readWild(readers[false], &f.Answer) != nil {
			wrong = "a failure to readers who do not know the server"
		}
		half := seen
		if f.Held {
			half = held
		}
		count := half[f.Family]
		if count.all++; wrong == "" {
			count.right++
		}
		half[f.Family] = count
		if wrong != "" && (!f.Held || *showHeld) {
			t.Logf("%s/%s: %s", f.Family, f.Name, wrong)
		}
	}
	for _, family := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%-12s seen %s, held back %s", family, seen[family], held[family])
	}
	return seen, held
}

func total(families map[string]tally) tally {
	var sum tally
	for _, n := range families {
		sum.right += n.right
		sum.all += n.all
	}
	return sum
}

// mistakenInnocents counts the successes that are taken for failures, even with every family known.
func mistakenInnocents(t *testing.T, corpus *wildtest.Corpus) tally {
	t.Helper()
	n := tally{all: len(corpus.Innocents)}
	for _, known := range []bool{false, true} {
		r := wildReader(known)
		for i := range corpus.Innocents {
			innocent := &corpus.Innocents[i]
			reading, failed := r.Result(innocent.Result)
			if !failed {
				continue
			}
			n.right++
			t.Logf("%s/%s: taken for a failure by %s", innocent.Topic, innocent.Name, strings.TrimSpace(reading.Sign))
		}
	}
	return n
}
