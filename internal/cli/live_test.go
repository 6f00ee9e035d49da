package cli_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// For a server that cannot be used, the exit code says why, and the message says what to do.
func TestCallOfServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(refuses.Close)
	resets := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(resets.Close)
	dead := testkit.RefusedURL()
	const secret = "n0rth-t0ken"
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"refused":             {[]string{"x", "--server", dead}, cli.ExitTransient, "hint: check that a server runs at 127.0.0.1:"},
		"reset":               {[]string{"x", "--server", resets.URL}, cli.ExitTransient, "recourse: error: "},
		"no such name":        {[]string{"x", "--server", "http://name.invalid/mcp"}, cli.ExitTransient, "name.invalid"},
		"401":                 {[]string{"x", "--server", refuses.URL + "/401"}, cli.ExitAuth, "credentials"},
		"403":                 {[]string{"x", "--server", refuses.URL + "/403"}, cli.ExitAuth, "permit"},
		"404":                 {[]string{"x", "--server", refuses.URL + "/404"}, cli.ExitNotFound, "hint: check the path of the URL"},
		"405":                 {[]string{"x", "--server", refuses.URL + "/405"}, cli.ExitFailure, "hint: check the path of the URL"},
		"503":                 {[]string{"x", "--server", refuses.URL + "/503"}, cli.ExitTransient, "not available"},
		"invalid URL":         {[]string{"x", "--server", "localhost:8787/" + secret}, cli.ExitUsage, "--server is not the URL of an MCP server"},
		"broken URL":          {[]string{"x", "--server", "http://[::" + secret}, cli.ExitUsage, "--server is not the URL of an MCP server"},
		"another scheme":      {[]string{"x", "--server", "ftp://a:" + secret + "@b/"}, cli.ExitUsage, "--server is not the URL of an MCP server"},
		"invalid header":      {[]string{"x", "--server", dead, "--header", secret}, cli.ExitUsage, "write 'Name: value'"},
		"invalid argument":    {[]string{"x", "y", "--server", dead}, cli.ExitUsage, `"y" is not an argument`},
		"half an object":      {[]string{"x", `{"a":`, "--server", dead}, cli.ExitUsage, "hint: write them as "},
		"no timeout":          {[]string{"x", "--timeout", "0s", "--server", dead}, cli.ExitUsage, "--timeout must be more than 0"},
		"missing program":     {[]string{"x", "--", "/no/such/program"}, cli.ExitUsage, "hint: install it"},
		"two servers":         {[]string{"x", "--server", dead, "--", "farmd"}, cli.ExitUsage, "give only one"},
		"no server":           {[]string{"x"}, cli.ExitUsage, "no server given"},
		"a program that ends": {[]string{"x", "--", "false"}, cli.ExitFailure, "false ended before it answered"},
		"another program":     {[]string{"x", "--", "sh", "-c", "echo hello; cat >/dev/null"}, cli.ExitFailure, "sh does not speak MCP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), cli.Environment{Args: append([]string{"call"}, tt.args...), Stdout: &stdout, Stderr: &stderr})
			if code != tt.code || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.want) || strings.Contains(stderr.String(), secret) {
				t.Errorf("exit code %d, want %d; %s%s, want %q", code, tt.code, &stdout, &stderr, tt.want)
			}
		})
	}
}
