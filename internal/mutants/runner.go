package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A runner runs the tests of the module in root.
type runner struct {
	root     string
	dir      string // for binaries; removed when the program ends
	out      io.Writer
	binaries *binaries
	took     map[string]time.Duration // how long a package's tests take without a mutation
}

// limit is how long the tests of a package may take before they count as failed.
const limit = "1m"

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	noTests    = regexp.MustCompile(`(?m)^testing: warning: no tests to run$`)
)

// test runs the compiled tests of a package, and returns their output.
func (r *runner) test(ctx context.Context, binary, pkg, run string) (output []byte, passed bool, err error) {
	args := []string{"-test.failfast", "-test.paniconexit0", "-test.timeout=" + limit, "-test.run=" + run}
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // what compile has made
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(pkg))
	cmd.Env = append(cmd.Environ(), "RECOURSE_GOLDEN=off", "CI=true") // with which tests that lack something fail
	output, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return nil, false, err
	case err == nil && noTests.Match(output):
		return nil, false, fmt.Errorf("%s has no test that is called like %q", pkg, run)
	}
	return output, err == nil, nil
}

// firstLines returns enough of an output to tell what went wrong.
func firstLines(text []byte) string {
	const most = 300
	line := strings.Join(strings.Fields(string(text)), " ")
	return line[:min(len(line), most)]
}

// one runs the tests for a mutation.
func (r *runner) one(ctx context.Context, m mutation) result {
	start := time.Now()
	killer, err := r.kill(ctx, m)
	return result{mutation: m, killer: killer, err: err, took: time.Since(start)}
}

// kill runs the packages' tests, the fastest first, until one fails.
func (r *runner) kill(ctx context.Context, m mutation) (killer string, err error) {
	changed, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(r.dir, "one")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cheapest := func(a, b string) int { return cmp.Compare(r.took[a], r.took[b]) }
	for _, pkg := range slices.SortedStableFunc(slices.Values(m.Test), cheapest) {
		binary, err := r.binaries.with(ctx, dir, pkg, m.File, changed)
		if err != nil {
			return "", err
		}
		out, passed, err := r.test(ctx, binary, pkg, m.Run)
		if err != nil {
			return "", err
		}
		if found := failedTest.FindAllSubmatch(out, -1); !passed && len(found) > 0 {
			return pkg + " " + string(found[len(found)-1][1]), nil // the most specific subtest
		}
		if !passed {
			return pkg + " (" + firstLines(out) + ")", nil
		}
	}
	return "", nil
}

// baseline runs the tests of all mutations on the unchanged tree: a test that fails there says nothing about a
// mutation.
func (r *runner) baseline(ctx context.Context, list []mutation) error {
	runs := map[string][]string{} // by package
	var packages []string
	for _, m := range list {
		for _, p := range m.Test {
			if !slices.Contains(packages, p) {
				packages = append(packages, p)
			}
			if run := "(" + m.Run + ")"; !slices.Contains(runs[p], run) {
				runs[p] = append(runs[p], run)
			}
		}
	}
	for _, p := range packages {
		run := strings.Join(runs[p], "|")
		if slices.Contains(runs[p], "()") {
			run = ""
		}
		binary, err := r.binaries.of(ctx, p)
		if err != nil {
			return err
		}
		start := time.Now()
		out, passed, err := r.test(ctx, binary, p, run)
		if err != nil {
			return fmt.Errorf("%s as it is: %w", p, err)
		}
		if !passed {
			return fmt.Errorf("%s as it is fails: %s", p, firstLines(out))
		}
		r.took[p] = time.Since(start)
		fmt.Fprintf(r.out, "%-46s %5.1fs  passes as it is\n", p, r.took[p].Seconds())
	}
	return nil
}
