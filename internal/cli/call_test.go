package cli_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/patterns"
	"github.com/recoursehq/recourse/systems/studies"
)

// A called is what recourse call comes to.
type called struct {
	code           int
	stdout, stderr string
}

// quiet is for systems whose log is of no interest.
var quiet = slog.New(slog.DiscardHandler)

// serveSystem serves a reference system until the test ends, and returns its endpoint.
func serveSystem(t *testing.T, s systems.System, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		srv.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv.URL + s.Entrance().Path
}

// callTool runs recourse call with the server at url.
func callTool(t *testing.T, url string, header http.Header, args ...string) called {
	t.Helper()
	args = append([]string{"call", "--server", url}, args...)
	for name := range header {
		args = append(args, "--header", name+": "+header.Get(name))
	}
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := cli.Run(ctx, cli.Environment{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	return called{code, stdout.String(), stderr.String()}
}

// The exit code of a call says which sort of failure it was.
func TestCallExitCodes(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/cli-exit-codes")
	good, err := studies.New(studies.Options{Logger: quiet})
	url := serveSystem(t, good, err)
	bad, err := studies.New(studies.Options{Logger: quiet, Token: "no token of anybody"})
	stranger := serveSystem(t, bad, err)
	const failed = "recourse: error: "
	create := func(title string) []string {
		return []string{"study_create", "workspace_id=w-1", "title=" + title, "question=Why?"}
	}
	for _, tt := range []struct {
		name   string
		url    string
		args   []string
		code   int
		stderr string
	}{
		{"ok", url, []string{"study_get", "study_id=s-1"}, cli.ExitOK, ""},
		{"general", url, create("fault-400"), cli.ExitFailure, failed},
		{"billing", url, create("fault-402"), cli.ExitFailure, failed},
		{"usage", url, []string{"study_get", "study_id=x-1"}, cli.ExitUsage, failed},
		{"validation", url, create("fault-422"), cli.ExitUsage, failed},
		{"auth", stranger, []string{"study_get", "study_id=s-1"}, cli.ExitAuth, failed},
		{"permission", url, create("fault-forbidden"), cli.ExitAuth, failed},
		{"not found", url, []string{"study_get", "study_id=00000000-0000-4000-8000-000000000404"}, cli.ExitNotFound, failed},
		{"limited", url, create("fault-429"), cli.ExitTransient, failed},
		{"transient", url, create("fault-500"), cli.ExitTransient, failed},
		{"dropped", url, create("fault-drop"), cli.ExitTransient, "study_get"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := callTool(t, tt.url, nil, tt.args...)
			if got.code != tt.code || (got.stdout != "") != (tt.code == cli.ExitOK) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A failure that is the HTTP answer is read like any other.
func TestCallReadsHTTPAnswers(t *testing.T) {
	t.Parallel()
	s, err := fieldmcp.New(fieldmcp.Options{Logger: quiet, Quotas: []mcptool.Policy{{Name: "minute", Limit: 1, Window: time.Minute}}})
	url, args := serveSystem(t, s, err), []string{"deere_list_resources", "resourceType=organizations"}
	if got := callTool(t, url, nil, args...); got.code != cli.ExitAuth {
		t.Errorf("without credentials: %+v", got)
	}
	var got called
	for range 3 { // the minute may end meanwhile
		got = callTool(t, url, s.Entrance().Header, args...)
	}
	if got.code != cli.ExitTransient || !strings.Contains(got.stderr, "recourse: error: ") {
		t.Errorf("beyond the limit: %+v", got)
	}
}

// A question in place of an answer is printed, and is a matter of input.
func TestCallThatIsAskedBack(t *testing.T) {
	t.Parallel()
	s, err := patterns.New(patterns.Options{Logger: quiet})
	url := serveSystem(t, s, err)
	got := callTool(t, url, s.Entrance().Header, "search_patterns", "q=", "format=json", "--reads", "patterns")
	if got.code != cli.ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "recourse: error: ") {
		t.Errorf("%+v", got)
	}
}
