package e2e_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// An npmServer is one of the reference servers as a program on stdio, which a test can kill during a call.
// They are servers of the legacy era built with the TypeScript SDK.
type npmServer struct {
	held string // the file that hold.mjs writes

	// Command is the command line, and Environ its environment besides PATH.
	Command []string
	Environ map[string]string
}

// holdText makes a server hold back an answer: the first one that contains it.
const holdText = "hold this answer"

// newNPMServer returns the server of the npm package @modelcontextprotocol/server-NAME, not started, with
// these arguments. [sdk.Node] says what happens if Node is missing.
func newNPMServer(tb testing.TB, name string, args ...string) *npmServer {
	tb.Helper()
	dir := sdk.Node(tb)
	s := &npmServer{held: filepath.Join(tb.TempDir(), "held")}
	s.Command = append([]string{
		sdk.NodeProgram(dir), "--import", filePathURL(filepath.Join(dir, "testkit", "hold.mjs")), sdk.NPMProgram(dir, name),
	}, args...)
	s.Environ = map[string]string{"TESTKIT_HELD": s.held, sdk.CompileCacheVariable: sdk.CompileCache(dir)}
	return s
}

// filePathURL returns the URL of a file, which names a module on every platform.
func filePathURL(path string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String()
}

// Kill waits until the server holds an answer back, and kills its process. The call has taken effect by then.
func (s *npmServer) Kill(ctx context.Context) error {
	for {
		note, err := os.ReadFile(s.held)
		if text, whole := strings.CutSuffix(string(note), "\n"); err == nil && whole {
			pid, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("testkit: %s: %w", s.held, err)
			}
			return kill(pid)
		}
		if !testkit.Pause(ctx, 5*time.Millisecond) {
			return fmt.Errorf("testkit: no answer is held back: %w", context.Cause(ctx))
		}
	}
}

func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		return fmt.Errorf("testkit: end the server: %w", err)
	}
	return nil
}
