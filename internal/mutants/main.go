// Command mutants changes the program, one place at a time, and runs the tests that should notice. Run it with
// `make mutants`, or
//
//	go run ./internal/mutants [-p 2] [-match REGEXP] [-list FILE]
//
// # The list
//
// list.yaml holds the mutations: a file, a text that stands in it once, what takes its place, and the packages whose tests
// should fail. A mutation of Go is put before the compiler as an overlay of the file (go help build). One of a file that is
// embedded, such as a contract, is written into a copy of the compiled tests: it stands there as it is. The tree is never
// touched, and several run at a time, those that have to die before the others.
//
// # What counts
//
// A mutation is killed when a test fails, or does not end in time. Golden files that `make golden` rewrites do not count:
// the tests that compare with them pass while RECOURSE_GOLDEN is off. One that does not compile, or whose packages fail
// without it, is a mistake in the list, and so is a text that is no longer found, or found twice.
//
// The program prints a line for each and the survivors at the end. It exits with 1 when one of those survives that have to
// die (must), when 5 % of all survive, or when there was a mistake.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// maxSurvivors is the part of the mutations that may not survive, in percent.
const maxSurvivors = 5

// each is how long a mutation takes on two cores that do other things too.
const each = 3 * time.Second

func main() {
	file := flag.String("list", "internal/mutants/list.yaml", "the list of mutations, relative to the module's root")
	parallel := flag.Int("p", runtime.NumCPU(), "how many run at a time")
	match := flag.String("match", "", "only mutations whose names match this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Stdout, *file, *match, *parallel)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, out io.Writer, file, match string, parallel int) (code int, err error) {
	wanted, err := regexp.Compile(match)
	if err != nil {
		return 0, err
	}
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	list, err := read(root, file)
	if err != nil {
		return 0, err
	}
	var chosen []mutation
	for _, m := range list {
		if wanted.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	slices.SortStableFunc(chosen, func(a, b mutation) int { return must(b) - must(a) })
	fmt.Fprintf(out, "%d mutations, %d at a time: this takes about %s\n",
		len(chosen), parallel, (each * time.Duration(len(chosen)) / time.Duration(max(parallel, 1))).Round(time.Minute))
	made, err := newBinaries(root, dir, chosen)
	if err != nil {
		return 0, err
	}
	r := runner{root: root, dir: dir, out: out, binaries: made, took: map[string]time.Duration{}}
	if err := r.baseline(ctx, chosen); err != nil {
		return 0, err
	}
	return summary(out, r.all(ctx, chosen, parallel)), ctx.Err()
}

func must(m mutation) int {
	if m.Must {
		return 1
	}
	return 0
}

// A result is what became of a mutation.
type result struct {
	mutation mutation
	killer   string // the test that failed first; "" for none
	err      error  // a mistake in the list
	took     time.Duration
}

func (r result) String() string {
	verdict := "SURVIVES"
	switch {
	case r.err != nil:
		verdict = "mistake: " + r.err.Error()
	case r.killer != "":
		verdict = r.killer
	}
	return fmt.Sprintf("%-46s %5.1fs  %s", r.mutation.Name, r.took.Seconds(), verdict)
}

// all runs mutations, as many at a time, and prints what became of each.
func (r *runner) all(ctx context.Context, list []mutation, parallel int) []result {
	results := make([]result, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	var printing sync.Mutex
	for range max(parallel, 1) {
		workers.Go(func() {
			for i := range next {
				results[i] = r.one(ctx, list[i])
				printing.Lock()
				fmt.Fprintln(r.out, results[i])
				printing.Unlock()
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// summary prints the survivors and returns the exit code.
func summary(out io.Writer, results []result) int {
	var survivors, mistakes []result
	fatal := false
	for _, r := range results {
		switch {
		case r.err != nil:
			mistakes = append(mistakes, r)
		case r.killer == "":
			survivors = append(survivors, r)
			fatal = fatal || r.mutation.Must
		}
	}
	fmt.Fprintf(out, "\n%d mutations, %d killed, %d survive, %d mistakes in the list\n",
		len(results), len(results)-len(survivors)-len(mistakes), len(survivors), len(mistakes))
	for _, r := range survivors {
		must := ""
		if r.mutation.Must {
			must = ", which has to die"
		}
		fmt.Fprintf(out, "  survives%s: %s (%s: %q -> %q)\n", must, r.mutation.Name, r.mutation.File, r.mutation.Find, r.mutation.Put)
	}
	for _, r := range mistakes {
		fmt.Fprintf(out, "  mistake: %s: %v\n", r.mutation.Name, r.err)
	}
	if fatal || len(mistakes) > 0 || 100*len(survivors) >= maxSurvivors*len(results) && len(survivors) > 0 {
		return 1
	}
	return 0
}
