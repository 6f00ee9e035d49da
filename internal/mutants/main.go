// Command mutants changes the program, one place at a time, and runs the tests that should notice. Run it with `make
// mutants`, or
//
//	go run ./internal/mutants [-p 2] [-match REGEXP] [-sample] [-list FILE]
//
// # The list
//
// list.yaml has the mutations: a file, a text that occurs in it once, its replacement, and the packages whose tests
// should fail. A mutation of Go reaches the compiler as an overlay of the file (go help build). A mutation of an
// embedded file, such as a contract, is written into a copy of the compiled tests, which contains the file as it is.
// The source tree is never changed. Several mutations run at a time, those that must be noticed first.
//
// `make test-mutants` makes the mutations marked as sample: one for each way in which a file becomes part of the program.
// If one of them is not noticed, this program is probably broken, not the tests.
//
// # What counts
//
// A mutation is killed if a test fails, or does not end in time. Golden files that `make golden` rewrites do not count:
// with RECOURSE_GOLDEN=off, the tests that compare with them pass. These are mistakes in the list: a mutation that does
// not compile, packages that fail without it, and a text that is not found, or found twice. The tools that
// tests need must be installed, since a skipped test notices nothing.
//
// The program prints a line for each mutation, and the survivors at the end. It exits with 1 if a mutation survives
// that must be noticed, if 5 % of all survive, or if there was a mistake.
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

// maxSurvivors is the percentage of mutations at which too many survive.
const maxSurvivors = 5

// each is how long a mutation takes on two cores that are also busy with other work.
const each = 3 * time.Second

func main() {
	file := flag.String("list", "internal/mutants/list.yaml", "the list of mutations, relative to the module's root")
	parallel := flag.Int("p", runtime.NumCPU(), "how many run at a time")
	match := flag.String("match", "", "only mutations whose names match this regular expression")
	sample := flag.Bool("sample", false, "only mutations that are marked sample")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Stdout, *file, *match, *sample, *parallel)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, out io.Writer, file, match string, sample bool, parallel int) (code int, err error) {
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
		if wanted.MatchString(m.Name) && (m.Sample || !sample) {
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
		len(chosen), parallel, (each * time.Duration(len(chosen)) / time.Duration(max(parallel, 1))).Round(10*time.Second))
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

// A result is what happened to a mutation.
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

// all runs mutations, parallel at a time, and prints each result.
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
