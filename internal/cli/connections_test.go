package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A call without an account fails with a link. The account is connected with that link; the commands list, reseal and
// delete it.
func TestConnections(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	file, address := filepath.Join(t.TempDir(), "recourse.yaml"), freeAddress(t)
	write := func(keys string) {
		text := fmt.Sprintf("listen: %s\nstore: sqlite:recourse.db\nconnection_keys: [%s]\nproviders: {deere: {title: John Deere, flow: api_key}}\n"+
			"servers: {farm: {url: '%s', connection: deere}}\n", address, keys, srv.URL())
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("'the first key, of more than 32 characters'")
	recourse := func(want int, args ...string) string {
		t.Helper()
		var out output
		code := cli.Run(t.Context(), cli.Environment{Args: append(args, "-c", file), Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv})
		if code != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, &out)
		}
		return out.String()
	}
	run := func(want int, args ...string) string {
		t.Helper()
		return recourse(want, append([]string{"connections"}, args...)...)
	}
	if got := run(cli.ExitFailure, "ls"); !strings.Contains(got, "a gateway makes it") {
		t.Errorf("without a store: %s", got)
	}

	var out output
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, cli.Environment{Args: []string{"serve", "-c", file}, Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv, Poll: time.Hour})
	}()
	out.await(t, 0, `"serving"`)
	client := testkit.NewClient(t, "http://"+address+"/farm/mcp", testkit.Modern)
	call := func() string {
		t.Helper()
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"hello"}`)
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.ToolResult()
		if err != nil {
			t.Fatalf("HTTP %d %s: %v", a.Status, a.Body, err)
		}
		return result.Text()
	}
	text := call()
	_, link, found := strings.Cut(text, "Connect it at ")
	if !found {
		t.Fatalf("no link in %s", text)
	}
	if got := run(cli.ExitOK, "ls"); !strings.Contains(got, "no connections") {
		t.Errorf("before: %s", got)
	}
	resp, err := http.PostForm(strings.Fields(link)[0], url.Values{"api_key": {"deere-key-1"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := call(); got != "hello" || srv.Calls(testkit.Echo)[0].Header.Get("Authorization") != "Bearer deere-key-1" {
		t.Errorf("after deletion: %s, HTTP %d for the page", got, resp.StatusCode)
	}
	if got := run(cli.ExitOK, "ls"); !strings.Contains(got, "deere") || !strings.Contains(got, "connected") {
		t.Errorf("ls: %s", got)
	}
	if got := run(cli.ExitOK, "show", "deere", "anybody"); !strings.Contains(got, `"state":"connected"`) || strings.Contains(got, "deere-key-1") {
		t.Errorf("show: %s", got)
	}
	write("'another key, of more than 32 characters'")
	if got := run(cli.ExitFailure, "rekey"); !strings.Contains(got, "is not among connection_keys") {
		t.Errorf("rekey with a missing key: %s", got)
	}
	write("'another key, of more than 32 characters', 'the first key, of more than 32 characters'")
	for _, want := range []string{"1 of 1", "0 of 1"} {
		if got := run(cli.ExitOK, "rekey"); !strings.HasPrefix(got, want) {
			t.Errorf("rekey: %s, want %s", got, want)
		}
	}
	if got := run(cli.ExitOK, "disconnect", "deere", "anybody"); got != "disconnected\n" {
		t.Errorf("disconnect: %s", got)
	}
	if got := run(cli.ExitFailure, "disconnect", "deere", "anybody"); !strings.Contains(got, "connections ls") {
		t.Errorf("disconnect: %s", got)
	}
	if got := recourse(cli.ExitOK, "actions"); strings.Count(got, "sealed tokens again") != 1 || !strings.Contains(got, "disconnected an account") {
		t.Errorf("actions: %s", got)
	}
	stop()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("serve: exit code %d:\n%s", code, &out)
	}
}

// An account that has to be connected again soon is told before calls fail.
func TestDoctorTellsOfAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, now := filepath.Join(dir, "recourse.yaml"), time.Now()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "recourse.db"))
	if err != nil {
		t.Fatal(err)
	}
	for owner, ends := range map[string]time.Time{"ada": now.Add(20 * 24 * time.Hour), "bob": now.Add(90 * 24 * time.Hour), "cyd": {}} {
		err := s.Connections().Put(t.Context(), &store.Connection{
			Provider: "deere", Owner: owner, State: connection.Connected, Expires: now.Add(time.Hour), Ends: ends,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := "listen: 127.0.0.1:0\nstore: sqlite:recourse.db\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out output
	cli.Run(t.Context(), cli.Environment{Args: []string{"doctor", file}, Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv})
	if got := out.String(); !strings.Contains(got, "the access of ada to its account at deere ends on ") || strings.Count(got, "its account at") != 1 {
		t.Errorf("got %s", got)
	}
}
