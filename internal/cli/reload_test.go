package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// output collects what a command writes while it runs.
type output struct{ testkit.Buffer }

// await waits until text is written after offset, and returns the rest of its line and the offset after it.
func (o *output) await(tb testing.TB, offset int, text string) (rest string, end int) {
	tb.Helper()
	if !o.Until(func(all string) bool {
		_, after, found := strings.Cut(all[offset:], text)
		line, more, whole := strings.Cut(after, "\n")
		rest, end = line, len(all)-len(more)
		return found && whole
	}) {
		tb.Fatalf("no %q after %d bytes of:\n%s", text, offset, o)
	}
	return rest, end
}

// The gateway follows its files: it applies a valid change, refuses an invalid one and reports all its mistakes, and
// answers calls throughout.
func TestServeFollowsItsFiles(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	dir := t.TempDir()
	write := func(name, format string, args ...any) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const own = "{form: 1, name: own, extends: recourse, title: %s, codes: [{code: SOLD_OUT, kind: conflict, hint: Look again.}]}\n"
	const head = "listen: %s\ncontracts: [own.yaml]\nservers:\n  farm: {url: '%s', contract: own}\n"
	write("own.yaml", own, "A")
	write("recourse.yaml", head, "127.0.0.1:0", srv.URL())
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	code := -1
	running.Go(func() {
		code = cli.Run(ctx, cli.Environment{
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
	works := func() {
		t.Helper()
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil || a.Message == nil || a.Message.Result == nil {
			t.Fatalf("%v %+v", err, a)
		}
	}
	works()

	write("recourse.yaml", head+"  barn: {url: '%[2]s'}\n", "127.0.0.1:0", srv.URL())
	rest, at := stderr.await(t, at, `"msg":"reloaded"`)
	if want := `,"added":["barn"],"kept":["farm"]}`; rest != want {
		t.Errorf("after adding a server: got %s, want %s", rest, want)
	}
	works()
	barn := testkit.NewClient(t, strings.Replace(url, "/farm/", "/barn/", 1), testkit.Modern)
	if a, err := barn.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || a.Message == nil || a.Message.Result == nil {
		t.Errorf("call of the new server: %v %+v", err, a)
	}

	write("own.yaml", own, "B")
	rest, at = stderr.await(t, at, `"msg":"reloaded"`)
	if want := `,"changed":["farm","barn"]}`; rest != want { // barn can be answered in any known contract
		t.Errorf("after changing a contract: got %s, want %s", rest, want)
	}
	works()

	write("own.yaml", own+"x: 1", "C")
	rest, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	var refused struct {
		Mistakes []string `json:"mistakes"`
	}
	if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(rest, ",")), &refused); err != nil ||
		len(refused.Mistakes) == 0 || !strings.Contains(refused.Mistakes[0], "own.yaml:") {
		t.Errorf("invalid contract: %v %s", err, rest)
	}
	_, at = stderr.await(t, at, "recourse: error: ")
	write("own.yaml", own, "B")
	_, at = stderr.await(t, at, `"msg":"reloaded"`)

	write("recourse.yaml", head+"  ban: {ulr: '%[2]s'}\n", "127.0.0.1:0", srv.URL())
	_, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	_, at = stderr.await(t, at, filepath.Join(dir, "recourse.yaml")+":5:9: unknown key `ulr`")
	_, at = stderr.await(t, at, "recourse: error: ")
	works()

	write("recourse.yaml", head+"    headers: {Authorization: \"Bearer n0rth-t0ken}\n", "127.0.0.1:0", srv.URL())
	_, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	_, at = stderr.await(t, at, "recourse: error: ")
	if strings.Contains(stderr.String(), "n0rth-t0ken") {
		t.Errorf("a syntax error shows its line: %s", stderr)
	}

	if err := os.Remove(filepath.Join(dir, "recourse.yaml")); err != nil {
		t.Fatal(err)
	}
	_, at = stderr.await(t, at, `"msg":"reload failed; keeping the old configuration"`)
	_, at = stderr.await(t, at, "recourse: error: read the configuration: ")
	works()

	write("recourse.yaml", head, "127.0.0.1:1", srv.URL())
	rest, at = stderr.await(t, at, `"msg":"reloaded"`)
	if want := `,"removed":["barn"],"kept":["farm"]}`; rest != want {
		t.Errorf("after removing a server: got %s, want %s", rest, want)
	}
	if rest, _ = stderr.await(t, at, `"msg":"a restart is needed for some changes"`); rest != `,"keys":["listen"]}` {
		t.Errorf("changed address: %s", rest)
	}
	works()
	if n := srv.Messages("initialize"); n != 1 {
		t.Errorf("the session was opened %d times, want 1", n)
	}
	end()
	running.Wait()
	if code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

// SIGHUP applies the files immediately, even unchanged. All gateways of the process get it, so that no other may run
// meanwhile.
func TestServeReloadsAfterSIGHUP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGHUP on this system")
	}
	const farm = "servers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"
	f := newFolder(t, map[string]string{"recourse.yaml": "listen: 127.0.0.1:0\ninclude: [servers]\n", "servers/a.yaml": farm})
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		cli.Run(ctx, cli.Environment{
			Args: []string{"serve", "-c", f.path("recourse.yaml")}, Stdout: stderr, Stderr: stderr, LookupEnv: os.LookupEnv, Poll: time.Hour,
		})
	})
	defer running.Wait()
	defer end()
	_, at := stderr.await(t, 0, `"msg":"serving"`)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const reloaded, refused = `"msg":"reloaded"`, `"msg":"reload failed; keeping the old configuration"`
	for _, step := range []struct{ file, text, message, want string }{
		{"", "", reloaded, `,"kept":["farm"]}`},
		{"servers/b.yaml", "servers: {barn: {ulr: x}}\n", refused, "b.yaml:1:18: unknown key `ulr`"},
		{"", "", refused, "b.yaml:1:18: unknown key `ulr`"},
		{"servers/b.yaml", "servers: {barn: {url: 'http://127.0.0.1:1/mcp'}}\n", reloaded, `,"added":["barn"],"kept":["farm"]}`},
		{"", "", reloaded, `,"kept":["farm","barn"]}`},
	} {
		if step.file != "" {
			f.write(step.file, step.text)
		}
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		var rest string
		if rest, at = stderr.await(t, at, step.message); !strings.Contains(rest, step.want) {
			t.Errorf("got %s, want %s", rest, step.want)
		}
	}
}

// A SIGHUP that comes while the gateway ends neither ends it at once nor costs a call under way its answer.
func TestSIGHUPWhileEnding(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGHUP on this system")
	}
	asked, release := make(chan struct{}, 10), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"testkit"`)) { // the client's own, and none of the gateway
			asked <- struct{}{}
		}
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "recourse.yaml")
	config := "listen: " + address + "\nservers: {farm: {url: '" + srv.URL + "/mcp'}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	code := -1
	running.Go(func() {
		code = cli.Run(ctx, cli.Environment{
			Args: []string{"serve", "-c", file}, Stdout: stderr, Stderr: stderr, LookupEnv: os.LookupEnv, Poll: time.Hour,
		})
	})
	stderr.await(t, 0, `"msg":"serving"`)
	answered := make(chan error, 1)
	go func() {
		text := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"testkit","version":"1"}}}`
		resp, err := http.Post("http://"+address+"/farm/mcp", "application/json", strings.NewReader(text))
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- err
	}()
	<-asked
	end()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testkit.Pause(t.Context(), 10*time.Millisecond)
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	running.Wait()
	if code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

// setFreeAddress sets $ADDR to the address of a free port, and $PORT to the port.
func setFreeAddress(env *testscript.Env) error {
	address, err := testkit.FreeAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	env.Setenv("ADDR", address)
	env.Setenv("PORT", port)
	return err
}

// setRoot tells the scripts where the repository is.
func setRoot(env *testscript.Env) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	env.Setenv("ROOT", root)
	return err
}

// answers waits until a PUT, which the gateway answers itself, gets an HTTP status:
//
//	answers STATUS URL
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answers STATUS URL")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got := "nothing"
	if !testkit.Until(func() bool {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPut, args[1], http.NoBody)
		ts.Check(err)
		resp, err := client.Do(r)
		if err != nil {
			got = err.Error()
			return false
		}
		ts.Check(resp.Body.Close())
		got = strconv.Itoa(resp.StatusCode)
		return got == args[0]
	}) {
		ts.Fatalf("%s: got %s, want %s", args[1], got, args[0])
	}
}
