package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/patterns"
	"github.com/recoursehq/recourse/systems/studies"
)

// A called is the result of recourse call.
type called struct {
	code           int
	stdout, stderr string
}

// quiet is for systems whose log does not matter.
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

// callTool runs recourse call against the server at an address.
func callTool(t *testing.T, address string, header http.Header, args ...string) called {
	t.Helper()
	args = append([]string{"call", "--server", address}, args...)
	for name := range header {
		args = append(args, "--header", name+": "+header.Get(name))
	}
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := cli.Run(ctx, cli.Environment{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	return called{code, stdout.String(), stderr.String()}
}

// The exit code of a call tells the kind of failure.
func TestCallExitCodes(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/cli-exit-codes")
	good, err := studies.New(studies.Options{Logger: quiet})
	address := serveSystem(t, good, err)
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
		{"ok", address, []string{"study_get", "study_id=s-1"}, cli.ExitOK, ""},
		{"general", address, create("fault-400"), cli.ExitFailure, failed},
		{"billing", address, create("fault-402"), cli.ExitFailure, failed},
		{"usage", address, []string{"study_get", "study_id=x-1"}, cli.ExitUsage, failed},
		{"validation", address, create("fault-422"), cli.ExitUsage, failed},
		{"auth", stranger, []string{"study_get", "study_id=s-1"}, cli.ExitAuth, failed},
		{"permission", address, create("fault-forbidden"), cli.ExitAuth, failed},
		{"not found", address, []string{"study_get", "study_id=00000000-0000-4000-8000-000000000404"}, cli.ExitNotFound, failed},
		{"limited", address, create("fault-429"), cli.ExitTransient, failed},
		{"transient", address, create("fault-500"), cli.ExitTransient, failed},
		{"dropped", address, create("fault-drop"), cli.ExitTransient, "study_get"},
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

// The contract decides whether a failure is transient. A server that cannot be reached may come back, and a failure in
// a tool's result counts as one. The code is shown.
func TestCallExitCodesOfContracts(t *testing.T) {
	t.Parallel()
	p, err := patterns.New(patterns.Options{Logger: quiet})
	library := serveSystem(t, p, err)
	c, err := commerce.New(commerce.Options{Logger: quiet})
	shop := serveSystem(t, c, err)
	s, err := studies.New(studies.Options{Logger: quiet, Hosted: true})
	service := serveSystem(t, s, err)
	for _, tt := range []struct {
		name, url string
		args      []string
		code      int
		stderr    string
	}{
		{"an unreachable server", testkit.RefusedURL(), []string{"get_pattern", "id=observer"}, cli.ExitTransient, "error: "},
		{"a web page, of patterns", library, []string{"get_pattern", "id=fault-html", "format=json"}, cli.ExitTransient, "(SERVER_ERROR)"},
		{"a limit, of patterns", library, []string{"get_pattern", "id=fault-429", "format=json"}, cli.ExitTransient, "(CLIENT_ERROR)"},
		{"an unknown guide", library, []string{"get_skill", "slug=x"}, cli.ExitNotFound, "(NOT_FOUND)"},
		{"an adapter's failure", shop, []string{"get-orders", `ids=["fault-adapter"]`}, cli.ExitFailure, "(4001)"},
		{"one that may pass", shop, []string{"get-orders", `ids=["fault-locked"]`}, cli.ExitTransient, "(4001)"},
		{"a backend that is down", shop, []string{"get-orders", `ids=["fault-down"]`}, cli.ExitTransient, "(4002)"},
		{"an unknown order", shop, []string{"cancel-order", "orderId=SO-404"}, cli.ExitNotFound, "(4001)"},
		{"a tool that returns its failures", service, []string{"chatbot_setup", "url=http://127.0.0.1:1/chat"}, 0, "recourse: error: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := callTool(t, tt.url, nil, tt.args...)
			isFailure := tt.code != 0 && got.code == tt.code || tt.code == 0 && got.code != cli.ExitOK
			if !isFailure || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A failure in the HTTP answer is read like any other.
func TestCallReadsHTTPAnswers(t *testing.T) {
	t.Parallel()
	s, err := fieldmcp.New(fieldmcp.Options{Logger: quiet, Quotas: []mcptool.Policy{{Name: "minute", Limit: 1, Window: time.Minute}}})
	address, args := serveSystem(t, s, err), []string{"deere_list_resources", "resourceType=organizations"}
	if got := callTool(t, address, nil, args...); got.code != cli.ExitAuth {
		t.Errorf("without credentials: %+v", got)
	}
	var got called
	for range 3 { // a new minute may begin meanwhile
		got = callTool(t, address, s.Entrance().Header, args...)
	}
	if got.code != cli.ExitTransient || !strings.Contains(got.stderr, "recourse: error: ") {
		t.Errorf("beyond the limit: %+v", got)
	}
}

// Numbers reach the server as they were written, however long they are.
func TestCallSendsNumbersAsWritten(t *testing.T) {
	t.Parallel()
	c, err := commerce.New(commerce.Options{Logger: quiet})
	shop, parseErr := url.Parse(serveSystem(t, c, err))
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	for _, args := range [][]string{
		{`{"id": 9007199254740993, "deep": [{"n": 12345678901234567890}]}`},
		{"id=9007199254740993", `deep=[{"n":12345678901234567890}]`},
	} {
		behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: shop.Scheme, Host: shop.Host})
		var sent atomic.Value
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte("tools/call")) {
				sent.Store(string(body))
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			behind.ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		callTool(t, srv.URL+shop.Path, nil, append([]string{"get-orders"}, args...)...)
		if got, _ := sent.Load().(string); !strings.Contains(got, "9007199254740993") || !strings.Contains(got, "12345678901234567890") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// A question from the server is printed, and exits as missing input.
func TestCallThatNeedsInput(t *testing.T) {
	t.Parallel()
	s, err := patterns.New(patterns.Options{Logger: quiet})
	address := serveSystem(t, s, err)
	got := callTool(t, address, s.Entrance().Header, "search_patterns", "q=", "format=json", "--reads", "patterns")
	if got.code != cli.ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "recourse: error: ") {
		t.Errorf("%+v", got)
	}
}

// If a batch fails in part, the output has the items that succeeded, and the reason for each that did not.
func TestCallOfPartialBatch(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-uses-succeeded", "fieldmcp/client-reports-failed")

	s, err := fieldmcp.New(fieldmcp.Options{Logger: quiet})
	got := callTool(t, serveSystem(t, s, err), s.Entrance().Header, "deere_get_fields", `{"fieldIds":["FLD-101","FLD-999","FLD-102"]}`)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != cli.ExitFailure || len(lines) != 2 || !strings.Contains(lines[0], `"id":"FLD-101"`) || !strings.Contains(lines[1], `"River bottom"`) {
		t.Errorf("exit code %d: %s", got.code, got.stdout)
	}
	if !strings.Contains(got.stderr, "FLD-999: FIELD_NOT_FOUND: ") {
		t.Errorf("%s", got.stderr)
	}
}

// With --server, contract show prints one page for each tool.
func TestShowTools(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/errors-of-tools")

	s, err := fieldmcp.New(fieldmcp.Options{Logger: quiet})
	address := serveSystem(t, s, err)
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), cli.Environment{
		Args:  []string{"contract", "show", "fieldmcp", "--server", address, "--header", "Authorization: " + s.Entrance().Header.Get("Authorization")},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	})
	if code != 0 || strings.Count(stdout.String(), "### Errors of `deere_") != 11 || !strings.Contains(stdout.String(), "| `fieldId` | string | yes |") {
		t.Errorf("exit code %d %s: %s", code, stderr.String(), stdout.String())
	}
}

// With --recover a server that is down for a moment is waited for, before the session is open as well as after.
func TestCallRecoversConnecting(t *testing.T) {
	t.Parallel()
	c, err := commerce.New(commerce.Options{Logger: quiet})
	shop, parseErr := url.Parse(serveSystem(t, c, err))
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	for name, tt := range map[string]struct {
		down   int32 // requests: server/discover and initialize
		status int
		args   []string
		code   int
		stderr string
	}{
		"down at first":       {2, http.StatusBadGateway, []string{"--recover", "--reads", "terra"}, cli.ExitOK, "recourse: waiting "},
		"without --recover":   {2, http.StatusBadGateway, nil, cli.ExitTransient, "recourse: error: "},
		"invalid credentials": {9, http.StatusUnauthorized, []string{"--recover", "--reads", "terra"}, cli.ExitAuth, "recourse: error: "},
		"in too little time":  {9, http.StatusBadGateway, []string{"--recover", "--reads", "terra", "--timeout", "1s"}, cli.ExitTransient, "recourse: error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: shop.Scheme, Host: shop.Host})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) <= tt.down {
					w.WriteHeader(tt.status)
					return
				}
				behind.ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			got := callTool(t, srv.URL+shop.Path, nil, append([]string{"get-orders", `ids=["SO-1001"]`}, tt.args...)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// With --recover the call is made as the contract asks of a client, and every wait is told.
func TestCallRecovers(t *testing.T) {
	t.Parallel()
	c, err := commerce.New(commerce.Options{Logger: quiet, Timeout: 100 * time.Millisecond})
	shop := serveSystem(t, c, err)
	const order = `{"order":{"externalId":"fault-timeout-1","customer":{"email":"ada@example.com","name":"Ada"},` +
		`"shippingAddress":{"line1":"1 Mill Lane","city":"Salem","postalCode":"97301","country":"US"},"lineItems":[{"sku":"MUG-BLUE","quantity":1}]}}`
	for name, tt := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"an outage that ends": {[]string{"get-orders", `ids=["fault-once"]`}, cli.ExitOK, `"success":true`, "recourse: waiting "},
		"a lost write":        {[]string{"create-sales-order", order}, cli.ExitOK, "fault-timeout-1", "recourse: after attempt 1: the write has landed"},
		"too little time":     {[]string{"get-orders", `ids=["fault-busy"]`, "--timeout", "5s"}, cli.ExitTransient, "", "longer than"},
		"for programs":        {[]string{"get-orders", `ids=["fault-busy"]`, "--json", "--timeout", "5s"}, cli.ExitTransient, "", `{"action":"call","tool":"get-orders","attempt":1,`},
		"a mistake":           {[]string{"get-orders", `ids="SO-1"`}, cli.ExitUsage, "", "recourse: error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := callTool(t, shop, nil, append(tt.args, "--recover", "--reads", "commerce")...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Who is told to end does so, although the server asks and does not listen.
func TestToolsOfADeafServer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		testkit.LeaveOut(t, err)
	}
	const asks = `i=0; while :; do i=$((i+1)); echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"roots/list\"}"; done`
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	ended := make(chan int)
	go func() {
		ended <- cli.Run(ctx, cli.Environment{
			Args:  []string{"tools", "--", "sh", "-c", asks},
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: os.Environ(),
		})
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
