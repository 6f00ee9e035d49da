package e2e_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// recourseVariable is the environment variable that makes the test binary run as recourse.
const recourseVariable = "E2E_RECOURSE"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(modernVariable) != "":
		os.Exit(modernProgram(os.Args[1:]))
	case os.Getenv(recourseVariable) != "":
		os.Exit(cli.Main())
	}
	testkit.Goroutines(m)
}

// callTimeout is the default timeout of calls in these tests.
const callTimeout = 10 * time.Second

// A front is a gateway in front of one server with the title "The farm".
type front struct {
	url    string            // of the server's endpoint at the gateway
	header map[string]string // that clients send

	config  *config.Config
	set     *contract.Set
	log     *slog.Logger
	current atomic.Pointer[gateway.Gateway]
	opened  chan struct{} // receives a token for each GET request
}

// start starts a gateway that ends with the test. keys are further keys of the server's entry, one each, such as its
// command if there is no URL; those with a leading slash, such as "/max_request: 1KiB", are top-level keys.
func start(tb testing.TB, serverURL string, keys ...string) *front {
	tb.Helper()
	set := contract.Builtin()
	cfg, err := config.Parse("recourse.yaml", configuration(serverURL, keys), config.Options{KnownContracts: set.Names()})
	if err != nil {
		tb.Fatal(err)
	}
	f := &front{
		config: cfg, set: set, log: slog.New(slog.NewTextHandler(tb.Output(), nil)),
		opened: make(chan struct{}, 1024),
	}
	if err := f.Restart(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.current.Load().Close() }) // registered earlier, it runs after the listener is closed
	f.url = testkit.Serve(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			f.opened <- struct{}{}
		}
		f.current.Load().ServeHTTP(w, r)
	})) + "/farm/mcp"
	return f
}

// configuration returns the text of a configuration with one server.
func configuration(serverURL string, keys []string) []byte {
	top, entry := []string(nil), []string{"title: The farm"}
	if serverURL != "" {
		entry = append(entry, "url: "+serverURL)
	}
	timed := false
	for _, key := range keys {
		if global, ok := strings.CutPrefix(key, "/"); ok {
			top = append(top, global)
			continue
		}
		timed = timed || strings.HasPrefix(key, "timeout:")
		entry = append(entry, key)
	}
	if !timed {
		entry = append(entry, fmt.Sprintf("timeout: %s", callTimeout))
	}
	return []byte(strings.Join(append(top, "servers:", "  farm:", "    "+strings.Join(entry, "\n    ")), "\n") + "\n")
}

// wrapped returns the command line and the environment of `recourse wrap` in front of a server on stdio. keys are as in
// [start].
func wrapped(tb testing.TB, keys ...string) (command []string, environ map[string]string) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "recourse.yaml")
	if err := os.WriteFile(file, configuration("", keys), 0o600); err != nil {
		tb.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	// By default the race detector waits a second before exit.
	return []string{exe, "wrap", "-c", file}, map[string]string{recourseVariable: "1", "GORACE": "atexit_sleep_ms=0"}
}

// Restart replaces the gateway, like a deployment: the new one knows nothing about its clients.
func (f *front) Restart() error {
	g, err := gateway.New(f.config, f.set, f.log)
	if err != nil {
		return err
	}
	if old := f.current.Swap(g); old != nil {
		old.Drain()
		old.Close()
	}
	return nil
}
