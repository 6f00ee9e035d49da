package testkit

import (
	"flag"
	"net/http"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Goroutines runs a package's tests and fails the run if a goroutine is left over. It is a complete TestMain:
//
//	func TestMain(m *testing.M) { testkit.Goroutines(m) }
//
// Connections that http.DefaultClient keeps, which SDKs use by default, are closed first. It is for tests that mostly wait: see [Waiting].
func Goroutines(m *testing.M) {
	Waiting()
	goleak.VerifyTestMain(tidyMain{m})
}

// Waiting runs six parallel tests of a package at once, instead of as many as there are processors: they mostly wait. It is for TestMain.
func Waiting() {
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err) // testing has always had it
	}
}

// tidyMain closes what belongs to the process before goleak checks.
type tidyMain struct{ m *testing.M }

// Run implements goleak.TestingM.
func (t tidyMain) Run() int {
	code := t.m.Run()
	http.DefaultClient.CloseIdleConnections()
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	for _, end := range atEnd.ends {
		end()
	}
	return code
}

// atEnd is called by [Goroutines] after the tests.
var atEnd struct {
	mu   sync.Mutex
	ends []func()
}

// AtEnd makes [Goroutines] call end after the tests of the package, before it looks for goroutines: it ends what the
// tests share.
func AtEnd(end func()) {
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	atEnd.ends = append(atEnd.ends, end)
}

// NoGoroutineLeft fails the test if it ends with a goroutine that was not there when NoGoroutineLeft was
// called; it waits a moment for those that are about to end. Call it first, so that it checks after every
// other cleanup.
//
// It cannot tell which test a goroutine belongs to, and therefore refuses tests that are or become parallel:
// testing runs the others while no other test is running. Parallel tests rely on [Goroutines].
func NoGoroutineLeft(tb testing.TB) {
	tb.Helper()
	tb.Setenv("TESTKIT_NO_GOROUTINE_LEFT", "1") // testing refuses Setenv and Parallel in the same test
	before := goleak.IgnoreCurrent()
	tb.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(tb, before)
	})
}
