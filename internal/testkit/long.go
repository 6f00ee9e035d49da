package testkit

import (
	"os"
	"strings"
	"testing"
)

// LongVariable is set to 1 by `make test-all`, which runs the long tests too.
const LongVariable = "RECOURSE_TEST_LONG"

// Long leaves a test that takes many seconds to `make test-all`. The name of such a test starts with TestLong, by which
// `make test-long` finds it.
func Long(tb testing.TB) {
	tb.Helper()
	if !strings.HasPrefix(tb.Name(), "TestLong") {
		tb.Fatalf("testkit: a long test is called TestLong..., not %s", tb.Name())
	}
	if os.Getenv(LongVariable) != "1" {
		tb.Skip("testkit: long: run by make test-all")
	}
}

// Sampled divides a table that is too long for `make test` in two: it reports whether the case of that number runs in
// this test. TestX runs one of every n, TestLongX, which is the same but for a call of [Long], the others. Number the
// cases so that each n-th have met every value of every axis.
func Sampled(tb testing.TB, number, n int) bool {
	tb.Helper()
	return (number%n == 0) != strings.HasPrefix(tb.Name(), "TestLong")
}
