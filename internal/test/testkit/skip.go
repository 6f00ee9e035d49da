package testkit

import (
	"os"
	"strings"
	"testing"
)

// LongVariable is set to 1 by `make test-all`, which also runs the long tests.
const LongVariable = "RECOURSE_TEST_LONG"

// Long marks a test that takes many seconds and only runs in `make test-all`. The name of such a test starts
// with TestLong, by which `make test-long` finds it.
func Long(tb testing.TB) {
	tb.Helper()
	if !strings.HasPrefix(tb.Name(), "TestLong") {
		tb.Fatalf("testkit: a long test is called TestLong..., not %s", tb.Name())
	}
	if os.Getenv(LongVariable) != "1" {
		tb.Skip("testkit: long: run by make test-all")
	}
}

// Sampled divides a table that is too long for `make test` in two: it reports whether the case of that number
// runs in this test. TestX runs one of every n, and TestLongX, which only differs by a call of [Long], runs
// the others. Number the cases so that every n-th case together cover every value of every axis.
func Sampled(tb testing.TB, number, n int) bool {
	tb.Helper()
	return (number%n == 0) != strings.HasPrefix(tb.Name(), "TestLong")
}

// LeaveOut skips the test because something is missing, or fails it with CI=true.
func LeaveOut(tb testing.TB, want error) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("testkit: %v", want)
	}
	tb.Skipf("testkit: left out: %v", want)
}
