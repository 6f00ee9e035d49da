package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// faultyServer answers as the path says, and lists no tools.
func faultyServer(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := 0
		_, _ = fmt.Sscanf(strings.TrimPrefix(r.URL.Path, "/list"), "/%d", &status)
		switch isOpening := bytes.Contains(body, []byte(`"initialize"`)); {
		case strings.HasPrefix(r.URL.Path, "/list") && isOpening:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(body)+
				`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`)
		case strings.HasPrefix(r.URL.Path, "/list") && bytes.Contains(body, []byte(`"server/discover"`)):
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(body)+`,"error":{"code":-32601,"message":"Method not found"}}`)
		case strings.HasPrefix(r.URL.Path, "/list") && !bytes.Contains(body, []byte(`"tools/`)):
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/list/quotes":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(body)+`,"result":{"isError":true,"content":[],"_meta":{"`+recourse.MetaKey+
				`":{"v":1,"kind":"not_found","message":"No.","origin":"server","hints":["The server says: Ask.","Look for it."]}}}}`)
		case status == http.StatusOK:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"error":"x"}`)
		case status != 0:
			http.Error(w, "", status)
		case strings.HasSuffix(r.URL.Path, "/page"):
			_, _ = io.WriteString(w, "<html>Welcome</html>")
		default: // no answer
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// idIn returns the id of a request.
func idIn(request []byte) string {
	_, after, _ := bytes.Cut(request, []byte(`"id":`))
	return string(after[:bytes.IndexAny(after, ",}")])
}

// Every command that calls a server fails with the exit code and words of recourse call.
func TestExitCodesOfCommandsThatCallServers(t *testing.T) {
	t.Parallel()
	faulty := faultyServer(t)
	dead := testkit.RefusedURL()
	_, gatewayLog := served(t, "servers:\n  farm: {url: '"+testkit.NewServer(t).URL()+"'}\n")
	gateway, _ := gatewayLog.await(t, 0, `"url":"`)
	gateway, _, _ = strings.Cut(gateway, "/farm/mcp")
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // failed handshakes are logged
	tls.StartTLS()
	t.Cleanup(tls.Close)
	secure := tls.URL + "/mcp"
	for _, command := range [][]string{{"call", "get_field"}, {"tools"}, {"contract", "show", "fieldmcp"}, {"contract", "lint", "fieldmcp"}} {
		for name, tt := range map[string]struct {
			url    string
			code   int
			stderr string
		}{
			"refused":           {dead, cli.ExitTransient, "hint: check that a server runs at "},
			"no such host":      {"http://nowhere.invalid/mcp", cli.ExitTransient, "hint: check that a server runs at nowhere.invalid"},
			"broken":            {faulty + "/", cli.ExitTransient, "closed the connection without answering"},
			"broken later":      {faulty + "/list", cli.ExitTransient, "closed the connection without answering"},
			"down":              {faulty + "/503", cli.ExitTransient, "The server is not available at the moment\n"},
			"down later":        {faulty + "/list/503", cli.ExitTransient, "The server is not available at the moment\n"},
			"unauthorized":      {faulty + "/401", cli.ExitAuth, "hint: give credentials with --header"},
			"forbidden":         {faulty + "/403", cli.ExitAuth, "error: "},
			"not found":         {faulty + "/404", cli.ExitNotFound, "hint: check the path of the URL"},
			"unauthorized then": {faulty + "/list/401", cli.ExitAuth, "hint: give credentials with --header"},
			"not MCP":           {faulty + "/200", cli.ExitFailure, "The server sent an invalid response\nhint: check the path of the URL"},
			"a web page":        {faulty + "/page", cli.ExitFailure, "The server sent an invalid response\nhint: check the path of the URL"},
			"no such path":      {gateway + "/frm/mcp", cli.ExitNotFound, "error: There is no MCP server at this path. Check the URL\nhint: check the path of the URL"},
			"no certificate":    {secure, cli.ExitTransient, "hint: its certificate is not trusted here ("},
			"TLS without TLS":   {"https" + strings.TrimPrefix(faulty, "http"), cli.ExitTransient, "hint: the server speaks HTTP without TLS: write http:// in the URL"},
			"no TLS":            {"http" + strings.TrimPrefix(secure, "https"), cli.ExitFailure, "hint: the server speaks TLS: write https:// in the URL"},
			"invalid URL":       {"ftp://example.com/mcp", cli.ExitUsage, "--server is not the URL of an MCP server"},
		} {
			t.Run(strings.Join(command, " ")+"/"+name, func(t *testing.T) {
				t.Parallel()
				var stdout, stderr bytes.Buffer
				args := slices.Concat(command, []string{"--server", tt.url})
				code := cli.Run(t.Context(), cli.Environment{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
				if code != tt.code || !strings.Contains(stderr.String(), tt.stderr) || strings.Contains(stderr.String(), "calling") {
					t.Errorf("exit code %d, want %d: %s", code, tt.code, &stderr)
				}
			})
		}
	}
}

// The advice of a server is marked as quoted, and the gateway's own advice is not.
func TestCallMarksQuotedAdvice(t *testing.T) {
	t.Parallel()
	got := callTool(t, faultyServer(t)+"/list/quotes", nil, "get_field")
	if got.code != cli.ExitNotFound || got.stderr != "recourse: error: No\nhint: The server says: Ask\nhint: Look for it\n" {
		t.Errorf("%+v", got)
	}
}

// A URL to fetch and the store can be unreachable, too.
func TestExitCodesOfOtherCommands(t *testing.T) {
	t.Parallel()
	faulty := faultyServer(t)
	for _, tt := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"import openapi http://127.0.0.1:1/api.json", cli.ExitTransient, "error: The server could not be reached\nhint: check that a server runs at 127.0.0.1:1\n"},
		{"import openapi http://nowhere.invalid/", cli.ExitTransient, "hint: check that a server runs at nowhere.invalid\n"},
		{"import openapi " + faulty + "/", cli.ExitTransient, "error: The server closed the connection without answering\n"},
		{"import openapi " + faulty + "/503", cli.ExitTransient, "error: The server is not available at the moment\n"},
		{"import openapi " + faulty + "/401", cli.ExitAuth, "hint: download the description, and give the file instead"},
		{"import openapi " + faulty + "/404", cli.ExitNotFound, "hint: check the URL"},
		{"import openapi " + faulty + "/200", cli.ExitUsage, "hint: give a document with OpenAPI 3.0 or 3.1"},
		{"failures --store mysql://h/d", cli.ExitUsage, "hint: write --store sqlite:FILE or --store postgres://USER@HOST/DATABASE"},
		{"failures --store postgres://u:hunter2@127.0.0.1:1/d", cli.ExitTransient, "error: open the store postgres://127.0.0.1:1/d: connection refused\nhint: "},
		{"failures --store postgres://u:hunter2@nowhere.invalid/d", cli.ExitTransient, "error: open the store postgres://nowhere.invalid/d: no such host\nhint: "},
		{"key ls --store sqlite:nowhere.db", cli.ExitFailure, "hint: a gateway makes it when it starts with this `store`"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), cli.Environment{
				Args: strings.Fields(tt.args), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			})
			if code != tt.code || !strings.Contains(stderr.String(), tt.stderr) || strings.Contains(stderr.String(), "hunter2") {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, &stderr)
			}
		})
	}
}
