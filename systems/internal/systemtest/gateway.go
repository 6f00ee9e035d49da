package systemtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
)

// AsProgram is the environment variable that makes a test binary the program of the
// system that it tests.
const AsProgram = "RECOURSE_TEST_PROGRAM"

// Main runs the tests of a system, or the system itself on stdin and stdout, for a gateway that starts it.
func Main(m *testing.M, start func() (systems.System, error)) {
	if os.Getenv(AsProgram) == "" {
		testkit.Goroutines(m)
		return
	}
	s, err := start()
	if err == nil {
		err = s.MCPServer().Run(context.Background(), mcptool.Stdio(io.NopCloser(os.Stdin), os.Stdout))
		err = errors.Join(err, s.Close())
	}
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Gateway starts a gateway in front of one server, called system, until the test ends,
// and returns its root. entry are the keys of the server's entry.
func Gateway(t *testing.T, entry ...string) string {
	t.Helper()
	g, _ := gatewaytest.New(t, "servers:\n  system:\n    "+strings.Join(entry, "\n    ")+"\n")
	return testkit.Serve(t, g)
}
