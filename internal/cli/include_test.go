package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// folder is a configuration in several files.
type folder struct {
	testing.TB

	dir string
}

func newFolder(tb testing.TB, files map[string]string) folder {
	tb.Helper()
	f := folder{tb, tb.TempDir()}
	for name, text := range files {
		f.write(name, text)
	}
	return f
}

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f folder) write(name, text string) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f folder) rename(from, to string) {
	f.Helper()
	if err := os.Rename(f.path(from), f.path(to)); err != nil {
		f.Fatal(err)
	}
}

// run runs a command on the configuration, and returns what it writes without the folder's name.
func (f folder) run(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Run(context.Background(), cli.Environment{
		Args: append(args, "-c", f.path("recourse.yaml")), Stdout: &out, Stderr: &err, LookupEnv: os.LookupEnv,
	})
	plain := strings.NewReplacer(f.dir+string(filepath.Separator), "", f.dir, "DIR", `\`, "/")
	return code, plain.Replace(out.String()), plain.Replace(err.String())
}

const aServer = "servers:\n  %s: {url: 'http://127.0.0.1:1/mcp', headers: {X-Key: hunter2}}\n"

// A configuration may be in several files, and what is wrong with them is told with file, line and caret.
func TestInclude(t *testing.T) {
	t.Parallel()
	farm, barn := fmt.Sprintf(aServer, "farm"), fmt.Sprintf(aServer, "barn")
	for name, test := range map[string]struct {
		files map[string]string
		want  string // "": there is no mistake
	}{
		"a pattern": {files: map[string]string{"recourse.yaml": "include: [servers/*.yaml]\n", "servers/a.yaml": farm, "servers/b.yaml": barn}},
		"a folder": {files: map[string]string{
			"recourse.yaml": "include: [servers]\n" + farm, "servers/b.yml": barn, "servers/.hidden.yaml": farm, "servers/notes.txt": "no YAML: [",
		}},
		"other sections": {files: map[string]string{
			"recourse.yaml": "include: [more.yaml]\naccess:\n", "servers.yaml": "",
			"more.yaml": farm + "endpoints: {all: {servers: [farm]}}\nproviders:\n",
		}},
		"files beside": {files: map[string]string{
			"recourse.yaml": "include: [a/farm.yaml]\n", "a/own.yaml": "{form: 1, family: own, fingerprints: [{id: x, when: [{path: /a, equals: b}], kind: timeout}]}\n",
			"a/farm.yaml": "servers: {farm: {url: 'http://127.0.0.1:1/mcp', reads: ./none.yaml}}\n",
		}, want: "a/farm.yaml:1:56: the family cannot be loaded: read the family: open a/none.yaml"},
		"a mistake": {
			files: map[string]string{"recourse.yaml": "include: [servers]\n", "servers/a.yaml": farm, "servers/b.yaml": "servers:\n  barn: {ulr: x}\n"},
			want:  "servers/b.yaml:2:10: unknown key `ulr`\n  2 |   barn: {ulr: x}\n    |          ^~~\n  hint: did you mean `url`?",
		},
		"bad YAML": {
			files: map[string]string{"recourse.yaml": "include: [servers]\n" + farm, "servers/a.yaml": "servers:\n\tbarn: 1\n"},
			want:  "servers/a.yaml:2:1: a tab cannot indent YAML",
		},
		"an empty file": {
			files: map[string]string{"recourse.yaml": "include: [a.yaml]\n" + farm, "a.yaml": ""}, want: "a.yaml: the file is empty",
		},
		"the same server": {
			files: map[string]string{"recourse.yaml": "include: [servers]\n", "servers/a.yaml": "\n" + farm, "servers/b.yaml": farm},
			want:  "servers/b.yaml:2:3: `farm` is already in `servers`, servers/a.yaml:3\n  2 |   farm: {url: ********, headers: {X-Key: ********}}\n    |   ^~~~",
		},
		"another key": {
			files: map[string]string{"recourse.yaml": "include: [a.yaml]\nlisten: 127.0.0.1:1\n", "a.yaml": farm + "listen: 127.0.0.1:2\n"},
			want: "a.yaml:3:1: `listen` cannot stand in an included file\n  3 | listen: ********\n    | ^~~~~~\n" +
				"  hint: move it to recourse.yaml; an included file may have `servers`, `endpoints`, `access`, `providers`",
		},
		"a cycle": {
			files: map[string]string{"recourse.yaml": "include: [a.yaml]\n", "a.yaml": "include: [recourse.yaml]\n" + farm},
			want:  "a.yaml:1:1: `include` cannot stand in an included file",
		},
		"itself": {
			files: map[string]string{"recourse.yaml": "include: ['*.yaml']\n" + farm, "a.yaml": barn},
			want:  "recourse.yaml:1:11: the file includes itself",
		},
		"outside": {
			files: map[string]string{"recourse.yaml": "include: [../a.yaml]\n" + farm},
			want:  "recourse.yaml:1:11: an included file must be in the folder of recourse.yaml, or below it",
		},
		"twice": {
			files: map[string]string{"recourse.yaml": "include: [servers, servers/a.yaml]\n", "servers/a.yaml": farm},
			want:  "recourse.yaml:1:20: servers/a.yaml is included twice",
		},
		"no file": {
			files: map[string]string{"recourse.yaml": "include: [servers/*.yaml]\n" + farm}, want: "recourse.yaml:1:11: there is no such file",
		},
		"no pattern": {
			files: map[string]string{"recourse.yaml": "include: ['[a-.yaml']\n" + farm}, want: "recourse.yaml:1:11: this is no pattern of files",
		},
		"no list": {
			files: map[string]string{"recourse.yaml": "include: {a: b}\n" + farm}, want: "recourse.yaml:1:10: `include` must be a list",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, test.files)
			code, stdout, stderr := f.run("serve", "--check")
			switch {
			case test.want == "" && (code != cli.ExitOK || !strings.Contains(stdout, "http://127.0.0.1:8787/farm/mcp")):
				t.Errorf("%d\n%s\n%s", code, stdout, stderr)
			case test.want != "" && (code != cli.ExitUsage || !strings.Contains(stderr, test.want)):
				t.Errorf("%d\n%s\nwant\n%s", code, stderr, test.want)
			case strings.Contains(stderr, "hunter2"):
				t.Errorf("a secret:\n%s", stderr)
			}
		})
	}
}

// A link out of the folder is refused; one within is followed, as Kubernetes makes them.
func TestIncludeLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on this system")
	}
	f := newFolder(t, map[string]string{"recourse.yaml": "include: [servers]\n", "servers/..data/a.yaml": fmt.Sprintf(aServer, "farm")})
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, f.path(at)); err != nil {
			t.Fatal(err)
		}
	}
	link("..data/a.yaml", "servers/a.yaml")
	if code, stdout, stderr := f.run("serve", "--check"); code != cli.ExitOK || !strings.Contains(stdout, "/farm/mcp") {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
	other := newFolder(t, map[string]string{"b.yaml": fmt.Sprintf(aServer, "barn")})
	link(other.path("b.yaml"), "servers/b.yaml")
	if code, _, stderr := f.run("serve", "--check"); code != cli.ExitUsage || !strings.Contains(stderr, "servers/b.yaml is a link that leads out of the folder") {
		t.Errorf("%d\n%s", code, stderr)
	}
}

// Too many files are refused before they are read.
func TestIncludeTooMany(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"recourse.yaml": "include: [servers]\n", "servers/a.yaml": fmt.Sprintf(aServer, "farm")})
	for i := range 10_000 {
		if err := os.Link(f.path("servers/a.yaml"), f.path(fmt.Sprintf("servers/%d.yaml", i))); err != nil {
			t.Skip(err)
		}
	}
	if code, _, stderr := f.run("serve", "--check"); code != cli.ExitUsage || !strings.Contains(stderr, "more than 10000 files are included") {
		t.Errorf("%d\n%s", code, stderr)
	}
}

// A file that is too large is not read.
func TestIncludeTooLarge(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"recourse.yaml": "include: [servers]\n", "servers/a.yaml": fmt.Sprintf(aServer, "farm")})
	if err := os.Truncate(f.path("servers/a.yaml"), 1<<40); err != nil { // it takes no room
		t.Skipf("the file system makes no file of 1 TiB that takes no room: %v", err)
	}
	if code, _, stderr := f.run("serve", "--check"); code != cli.ExitUsage || !strings.Contains(stderr, "the included files are larger than 16MiB in all") {
		t.Errorf("%d\n%s", code, stderr)
	}
}

// A reload follows included files: those that change, come and go. One that cannot be read keeps the old configuration.
func TestReloadFollowsIncludedFiles(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	server := func(name string) string { return "servers: {" + name + ": {url: '" + srv.URL() + "'}}\n" }
	f := newFolder(t, map[string]string{"recourse.yaml": "listen: 127.0.0.1:0\ninclude: [servers]\n", "servers/a.yaml": server("farm")})
	stderr := &output{}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		cli.Run(ctx, cli.Environment{
			Args: []string{"serve", "-c", f.path("recourse.yaml")}, Stdout: stderr, Stderr: stderr,
			LookupEnv: os.LookupEnv, Poll: 10 * time.Millisecond,
		})
	})
	defer running.Wait()
	defer end()
	url, at := stderr.await(t, 0, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	awaits := func(message, want string) {
		t.Helper()
		var rest string
		if rest, at = stderr.await(t, at, message); !strings.Contains(rest, want) {
			t.Errorf("got %s, want %s", rest, want)
		}
	}
	const reloaded, refused = `"msg":"reloaded"`, `"msg":"reload failed; keeping the old configuration"`
	f.write("servers/b.yaml", server("barn"))
	awaits(reloaded, `"added":["barn"],"kept":["farm"]`)
	f.write("servers/b.yaml", server("shed"))
	awaits(reloaded, `"added":["shed"],"removed":["barn"]`)
	if err := os.Remove(f.path("servers/b.yaml")); err != nil {
		t.Fatal(err)
	}
	awaits(reloaded, `"removed":["shed"],"kept":["farm"]`)
	f.write("servers/a.yaml", server("farm, x"))
	awaits(refused, "a.yaml:1:")
	f.write("servers/a.yaml", server("farm"))
	awaits(reloaded, `"kept":["farm"]`)
	f.write("servers/b.yaml", "include: [servers/a.yaml]\n")
	awaits(refused, "b.yaml:1:1: `include` cannot stand in an included file")
	f.write("servers/b.yaml", server("barn"))
	awaits(reloaded, `"added":["barn"]`)
	f.rename("servers", "away")
	awaits(refused, "recourse.yaml:2:11: there is no such file")
	f.rename("away", "servers")
	awaits(reloaded, `"kept":["farm","barn"]`)
	f.rename("recourse.yaml", "away")
	awaits(refused, "recourse.yaml")
	f.rename("away", "recourse.yaml")
	awaits(reloaded, `"kept":["farm","barn"]`)
	if runtime.GOOS != "windows" {
		link := func(to, want string) {
			t.Helper()
			if err := os.Symlink(to, f.path("servers/c.yaml")); err != nil {
				t.Fatal(err)
			}
			awaits(refused, want)
			f.rename("servers/c.yaml", "away")
			awaits(reloaded, `"kept":["farm","barn"]`)
		}
		link("gone", "c.yaml") // it is listed, and then it is not there
		link("../recourse.yaml", "recourse.yaml:2:11: the file includes itself")
		link("c.yaml", "c.yaml")
	}
	client := testkit.NewClient(t, url, testkit.Modern)
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || a.Message == nil || a.Message.Result == nil {
		t.Errorf("%v %+v", err, a)
	}
}

// `config show` prints what holds in all files as one, with origins and without secrets.
func TestConfigShow(t *testing.T) {
	t.Setenv("FARM_URL", "http://127.0.0.1:1/mcp")
	t.Setenv("FARM_TOKEN", "hunter2")
	t.Setenv("GOMEMLIMIT", "1GiB")
	f := newFolder(t, map[string]string{
		"recourse.yaml": "listen: 127.0.0.1:8787\ninclude: [servers]\nsession_keys: [\"hunter2, and more than 32 characters\"]\n" +
			"endpoints: {all: {servers: [farm, {name: shop, prefix: shop_}]}}\n",
		"servers/a.yaml": "servers:\n  farm:\n    url: ${FARM_URL}\n    headers: {Authorization: \"Bearer ${FARM_TOKEN}\"}\n    breaker: {}\n" +
			"    limits: {minute: {calls: 5/1m}}\n    tools: {\"list_*\": {read_only: true}}\n",
		"servers/b.yaml": "servers:\n  shop: {command: [npx, --token, hunter2, \"a b\"]}\n" +
			"  api: {url: \"https://api.example.com/mcp?api_key=hunter2\"}\n" +
			"  chat: {command: [npx, -y, \"airtable-mcp-server\"]}\n",
	})
	code, stdout, stderr := f.run("config", "show")
	if code != cli.ExitOK || strings.Contains(stdout, "hunter2") {
		t.Fatalf("%d\n%s\n%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"listen: \"127.0.0.1:8787\"  # recourse.yaml:1\n",
		"memory_limit: 1GiB  # environment GOMEMLIMIT\n",
		"max_request: 4MiB  # default\n",
		"session_keys: [********]  # recourse.yaml:3\n",
		"  farm:\n    url: \"http://127.0.0.1:1/mcp\"  # environment FARM_URL; servers/a.yaml:3\n",
		"      Authorization: ********  # environment FARM_TOKEN; servers/a.yaml:4\n",
		"    path: /farm/mcp  # default\n",
		"    timeout: 45s  # default\n",
		"        calls: 5/1m  # servers/a.yaml:6\n        by: [caller]  # default\n",
		"      \"list_*\":\n        read_only: true  # servers/a.yaml:7\n",
		"    breaker:\n      failure_rate: 0.5  # default\n",
		"  shop:\n    command: [npx, --token, ********, \"a b\"]  # servers/b.yaml:2\n",
		"  api:\n    url: ********  # servers/b.yaml:3\n",
		"    servers:\n    - farm  # recourse.yaml:4\n    -\n      name: shop  # recourse.yaml:4\n",
		"    trusted: false  # default\n",
		"    profile: airtable  # profile of what command starts\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(stdout)
	}
	f.write("recourse.yaml", "include: [none]\n")
	if code, _, stderr = f.run("config", "show"); code != cli.ExitUsage || !strings.Contains(stderr, "recourse.yaml:1:11: there is no such file") {
		t.Errorf("%d\n%s", code, stderr)
	}
}
