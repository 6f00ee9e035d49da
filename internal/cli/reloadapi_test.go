package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The gateway follows an HTTP API's description like the configuration: tools come and go with it, and an invalid
// description changes nothing.
func TestServeFollowsADescription(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"path":"`+r.URL.Path+`"}`)
	}))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	write := func(name, text string) { // atomic: the gateway may read at any time
		t.Helper()
		fresh := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(fresh, []byte(text), 0o600), os.Rename(fresh, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(paths string) string {
		return "openapi: 3.1.0\ninfo: {title: Orders, version: '1'}\nservers: [{url: '" + api.URL + "'}]\npaths:\n" + paths
	}
	const list, get = "  /orders: {get: {operationId: list}}\n", "  /orders/7: {get: {operationId: get}}\n"
	write("api.yaml", describe(list))
	write("recourse.yaml", "listen: 127.0.0.1:0\nservers:\n  orders: {openapi: api.yaml, operations: [{methods: [GET]}]}\n")
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		cli.Run(ctx, cli.Environment{
			Args: []string{"serve", "-c", filepath.Join(dir, "recourse.yaml")}, Stdout: stderr, Stderr: stderr,
			LookupEnv: os.LookupEnv, Poll: 10 * time.Millisecond,
		})
	})
	defer running.Wait()
	defer end()
	url, at := stderr.await(t, 0, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	client := testkit.NewClient(t, url, testkit.Legacy)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools := func() string {
		t.Helper()
		var names []string
		a, err := client.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"list", "get"} {
			if strings.Contains(string(a.Body), fmt.Sprintf(`"name":%q`, name)) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := tools(); got != "list" {
		t.Fatalf("tools: %s", got)
	}

	write("api.yaml", describe(list+get))
	rest, at := stderr.await(t, at, `"msg":"reloaded"`)
	if want := `,"changed":["orders"]}`; rest != want {
		t.Errorf("after changing the description: got %s, want %s", rest, want)
	}
	if got := tools(); got != "list get" {
		t.Errorf("tools: %s", got)
	}
	if a, err := client.Call(t.Context(), "get", `{}`); err != nil || !strings.Contains(string(a.Body), "/orders/7") {
		t.Errorf("%v %+v", err, a)
	}

	for _, bad := range []struct{ text, want string }{
		{"openapi: 3.1.0\npaths: [", "neither JSON nor YAML"},
		{describe("  /orders: {post: {operationId: create}}\n"), "no operation of the description matches"},
		{describe("  /orders: {get: {operationId: list, parameters: [{$ref: 'http://evil.example/p.yaml'}]}}\n"), "leads out of the description"},
		{strings.Repeat(" ", 33<<20), "32 MiB"},
	} {
		write("api.yaml", bad.text)
		rest, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
		if !strings.Contains(rest, bad.want) {
			t.Errorf("%.40s: %s", bad.text, rest)
		}
		_, at = stderr.await(t, at, "recourse: error: ")
		if got := tools(); got != "list get" {
			t.Errorf("%.40s: tools: %s", bad.text, got)
		}
	}
	write("api.yaml", describe(get))
	_, _ = stderr.await(t, at, `"msg":"reloaded"`)
	if got := tools(); got != "get" {
		t.Errorf("tools: %s", got)
	}
	if a, err := client.Call(t.Context(), "list", `{}`); err != nil || !strings.Contains(string(a.Body), "unknown_tool") {
		t.Errorf("removed tool: %v %s", err, a.Body)
	}
}
