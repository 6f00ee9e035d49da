package upstream_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// TestMain lets more tests run at once than there are processors: they wait more
// than they work.
func TestMain(m *testing.M) {
	if os.Getenv(testkit.ChildVariable) != "" {
		os.Exit(testkit.Child(os.Args[1:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Goroutines(m)
}
