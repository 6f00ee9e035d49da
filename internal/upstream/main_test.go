package upstream_test

import (
	"os"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// TestMain runs more tests at once than there are processors, since they mostly wait.
func TestMain(m *testing.M) {
	if os.Getenv(child.Variable) != "" {
		os.Exit(child.Main(os.Args[1:]))
	}
	testkit.Goroutines(m)
}
