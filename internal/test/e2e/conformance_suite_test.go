package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
	"github.com/recoursehq/recourse/internal/upstream/process"
)

// A conformanceSuite is the official MCP conformance suite, with the server on which the Go SDK runs it.
type conformanceSuite struct {
	dir    string // of the npm packages
	node   string // the program that runs the suite
	server string // the program that is the server
}

// A suiteCheck is the suite's finding about one requirement. A requirement may be checked more than once.
type suiteCheck struct {
	Scenario string `json:"-"`
	ID       string `json:"id"`
	Status   string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Error    string `json:"errorMessage"`
}

var errNoNewNode = errors.New("the npm packages in .tools/node have no Node for this platform, " +
	"and the conformance suite needs a later one than other tests")

// newConformanceSuite builds the server. [sdk.Node] says what happens if Node is missing.
func newConformanceSuite(tb testing.TB) *conformanceSuite {
	tb.Helper()
	dir := sdk.Node(tb)
	node, err := sdk.LaterNode(dir)
	if err != nil {
		testkit.LeaveOut(tb, errNoNewNode)
	}
	return &conformanceSuite{dir: dir, node: node, server: buildServer(tb, goSDKModule+"/conformance/everything-server")}
}

// goSDKModule is the Go SDK, which brings servers.
const goSDKModule = "github.com/modelcontextprotocol/go-sdk"

// buildServer builds a server of a module that the tests already use.
// It is built with the race detector if the tests are: its packages have just been compiled for them.
func buildServer(tb testing.TB, pkg string) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "server.exe") // a suffix that only matters on Windows
	args := []string{"build", "-o", program}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "-race" && setting.Value == "true" {
				args = append(args, "-race")
			}
		}
	}
	build := exec.CommandContext(tb.Context(), "go", append(args, pkg)...)
	build.Env = append(os.Environ(), "GOPROXY=off") // missing modules are not downloaded
	if output, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("testkit: go build: %v: %s", err, output)
	}
	return program
}

// Command is the command line that starts the server on stdio.
func (c *conformanceSuite) Command() []string { return []string{c.server} }

// Serve runs the server on a free loopback port until the test ends, and returns its endpoint's URL. In the legacy era it
// has sessions; in the modern era it is stateless.
func (c *conformanceSuite) Serve(tb testing.TB, era testkit.Era) string {
	tb.Helper()
	const startup = 30 * time.Second
	ctx, cancel := context.WithTimeout(tb.Context(), startup)
	defer cancel()
	addr, err := testkit.FreeAddress()
	if err != nil {
		tb.Fatal(err)
	}
	var output testkit.Buffer
	cmd := exec.Command(c.server, "-http", addr, fmt.Sprintf("-stateless=%t", era == testkit.Modern))
	cmd.Env, cmd.Stderr = os.Environ(), &output
	var group process.Group
	if err := group.Start(cmd); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the exit status does not matter
	}()
	tb.Cleanup(func() {
		group.Kill()
		<-ended
		group.Close()
	})
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close() // nothing was sent
			return "http://" + addr
		}
		select {
		case <-ended:
			tb.Fatalf("testkit: the server has ended: %s", &output)
		default:
		}
		if !testkit.Pause(ctx, 10*time.Millisecond) {
			tb.Fatalf("testkit: the server does not listen: %v: %s", err, &output)
		}
	}
}

// Run runs the suite's checks for the era's newest version of the protocol against the server at the URL, and
// returns the findings. The whole run may take two minutes.
func (c *conformanceSuite) Run(tb testing.TB, url string, era testkit.Era) []suiteCheck {
	tb.Helper()
	const whole = 2 * time.Minute
	ctx, cancel := context.WithTimeout(tb.Context(), whole)
	defer cancel()
	results := tb.TempDir()
	var output testkit.Buffer
	suite := exec.CommandContext(ctx, c.node,
		filepath.Join(c.dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--requirements", era.Version(), "--output-dir", results)
	suite.Dir = results
	suite.Env = sdk.NodeEnviron(c.dir)
	suite.Stdout, suite.Stderr = &output, &output
	var group process.Group
	suite.Cancel = func() error {
		group.Kill()
		return nil
	}
	err := group.Start(suite)
	if err == nil {
		err = suite.Wait()
		group.Close()
	}
	// The exit status also reports a failed check.
	if err != nil && (ctx.Err() != nil || suite.ProcessState == nil || suite.ProcessState.ExitCode() != 1) {
		tb.Fatalf("testkit: the conformance suite: %v: %s", err, &output)
	}
	checks, err := readChecks(results)
	if err != nil || len(checks) == 0 {
		tb.Fatalf("testkit: the conformance suite has no results: %v: %s", err, &output)
	}
	return checks
}

// scenarioFolder is a folder of results: the scenario and the time.
var scenarioFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readChecks(dir string) ([]suiteCheck, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, fmt.Errorf("list the results: %w", err)
	}
	var all []suiteCheck
	for _, file := range files {
		folder := scenarioFolder.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if folder == nil {
			return nil, fmt.Errorf("%s is not named for a scenario", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the results: %w", err)
		}
		var checks []suiteCheck
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		for _, check := range checks {
			check.Scenario = folder[1]
			all = append(all, check)
		}
	}
	return all, nil
}
