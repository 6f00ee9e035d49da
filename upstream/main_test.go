package upstream_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// isProgram is the variable by which the test binary knows that it is to be the
// program of program_test.go.
const isProgram = "UPSTREAM_TEST_PROGRAM"

// TestMain lets more tests run at once than there are processors: they wait more
// than they work.
func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		os.Exit(program(os.Args[1:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Goroutines(m)
}
