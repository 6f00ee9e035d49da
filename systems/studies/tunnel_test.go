package studies_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// tunnelProgram is the name of the program that opens tunnels.
const tunnelProgram = "cloudflared"

// The port decides what the test's tunnel program does.
const (
	portGood        = 3000
	portOther       = 3001
	portFails       = 3002 // it exits with a message
	portSaysNothing = 3005 // it exits without a word
	portMute        = 3003 // it never prints an address
	portShort       = 3004 // it exits soon after the start
	portLow         = 80   // the service refuses it
)

// cloudflared acts as the tunnel program, without a tunnel.
func cloudflared(args []string) int {
	set := flag.NewFlagSet(tunnelProgram, flag.ExitOnError)
	target := set.String("url", "", "")
	if len(args) == 0 || args[0] != "tunnel" || set.Parse(args[1:]) != nil {
		return 2
	}
	if strings.HasSuffix(*target, strconv.Itoa(portSaysNothing)) {
		return 3
	}
	fmt.Fprintln(os.Stderr, "INF Requesting new quick Tunnel on trycloudflare.com...")
	fmt.Fprintln(os.Stderr, "INF "+strings.Repeat("settings ", 1000))
	switch {
	case strings.HasSuffix(*target, strconv.Itoa(portFails)):
		fmt.Fprintln(os.Stderr, "ERR failed to request quick Tunnel: status 500")
		return 1
	case !strings.HasSuffix(*target, strconv.Itoa(portMute)):
		fmt.Fprintln(os.Stderr, "INF |  https://quiet-river.trycloudflare.com  |")
	}
	if strings.HasSuffix(*target, strconv.Itoa(portShort)) {
		return 1
	}
	_, _ = io.Copy(io.Discard, neverEnds{})
	return 0
}

// neverEnds blocks until the process is killed.
type neverEnds struct{}

func (neverEnds) Read([]byte) (int, error) {
	time.Sleep(time.Hour)
	return 0, io.EOF
}

// fakeTunnel returns the path of a copy of the test binary that acts as the tunnel program.
func fakeTunnel(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := tunnelProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Link(self, path); err == nil {
		return path
	}
	program, err := os.ReadFile(self) // the folder may be on another file system, where links are impossible
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func connect(t *testing.T, client systemtest.Client, port int) systemtest.Reply {
	t.Helper()
	return client.Call(t, "connect_start", fmt.Sprintf(`{"port":%d}`, port))
}

// A tunnel is opened, is kept, and is closed.
func TestTunnel(t *testing.T) {
	promises.Covers(t, "studies/connect-verbs", "studies/code-port-conflict", "studies/connect-kinds", "studies/connect-not-retryable")

	t.Setenv("PATH", filepath.Dir(fakeTunnel(t))) // the system looks for the program here
	s := newSystem(t, studies.Options{})
	client := systemtest.Stdio(t, s.MCPServer())
	status := func(want string) {
		t.Helper()
		if text := client.Call(t, "connect_status", `{}`).Tool(t).Text(); text != want {
			t.Errorf("connect_status: %s, want %s", text, want)
		}
	}
	const up = `{"endpoint_id":"ep-1","port":3000,"up":true,"url":"https://quiet-river.trycloudflare.com"}`
	status(`{"up":false}`)
	for range 2 { // the same tunnel is asked for twice
		if text := connect(t, client, portGood).Tool(t).Text(); text != up {
			t.Errorf("connect_start: %s, want %s", text, up)
		}
	}
	status(up)
	r := connect(t, client, portOther)
	const conflict = "[port_conflict] A tunnel to port 3000 is up. Suggestions: Stop the tunnel that is up or use its port"
	if code, repeat := retryable(t, r); r.Tool(t).Text() != conflict || code != "port_conflict" || repeat || r.Record(t).Kind != recourse.KindConflict {
		t.Errorf("another port: %s, read as %s, retryable %t", r.Tool(t).Text(), code, repeat)
	}
	if e := r.Read(t, rules(t)); e == nil || e.Kind != recourse.KindConflict {
		t.Errorf("another port is read as %v", e)
	}
	for range 2 {
		if text := client.Call(t, "connect_stop", `{}`).Tool(t).Text(); text != `{"up":false}` {
			t.Errorf("connect_stop: %s", text)
		}
	}
	status(`{"up":false}`)
	if text := connect(t, client, portOther).Tool(t).Text(); !strings.Contains(text, `"port":3001`) {
		t.Errorf("the other port afterwards: %s", text)
	}
}

// When a tunnel's program exits, the tunnel is down, and can be opened again.
func TestTunnelEnds(t *testing.T) {
	t.Parallel()
	client := systemtest.Stdio(t, newSystem(t, studies.Options{Tunnel: fakeTunnel(t)}).MCPServer())
	text := connect(t, client, portShort).Tool(t).Text()
	for strings.Contains(text, `"up":true`) { // until the end of the program is noticed
		text = client.Call(t, "connect_status", `{}`).Tool(t).Text()
	}
	if text := connect(t, client, portGood).Tool(t).Text(); !strings.Contains(text, `"port":3000`) {
		t.Errorf("anew: %s", text)
	}
}

func TestTunnelFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		port     int
		missing  bool
		code     string
		kind     recourse.Kind
		want     string
		promises []string
	}{
		{
			name: "no program", port: portGood, missing: true, code: "cloudflared_missing", kind: recourse.KindInvalidState,
			want:     "cloudflared-nowhere is not on PATH. Suggestions: Install cloudflared so that it is on PATH and run connect_start again",
			promises: []string{"studies/code-cloudflared-missing", "studies/connect-kinds", "studies/connect-not-retryable"},
		},
		{
			name: "exits", port: portFails, code: "tunnel_startup_failed", kind: recourse.KindJobFailed,
			want: "The tunnel did not come up: the program has ended: ERR failed to request quick Tunnel: status 500. " +
				"Suggestions: Read the message and start the tunnel anew when its cause is gone",
			promises: []string{"studies/code-tunnel-startup-failed", "studies/connect-kinds", "studies/connect-not-retryable"},
		},
		{
			name: "exits without a word", port: portSaysNothing, code: "tunnel_startup_failed", kind: recourse.KindJobFailed,
			want: "The tunnel did not come up: the program has ended: exit status 3. " +
				"Suggestions: Read the message and start the tunnel anew when its cause is gone",
		},
		{
			name: "no address", port: portMute, code: "tunnel_startup_failed", kind: recourse.KindJobFailed,
			want: "The tunnel did not come up: no address came within 100ms. Suggestions: Read the message and start the tunnel anew when its cause is gone",
		},
		{
			name: "a port that the service refuses", port: portLow, code: "registration_failed", kind: recourse.KindJobFailed,
			want: "The tunnel was not registered: Ports below 1024 are not registered. Suggestions: " +
				"Read the message and start the tunnel anew when its cause is gone",
			promises: []string{"studies/code-registration-failed", "studies/connect-kinds", "studies/connect-not-retryable"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			o := studies.Options{Tunnel: fakeTunnel(t)}
			if tt.missing {
				o.Tunnel = "cloudflared-nowhere"
			}
			if tt.port == portMute {
				o.TunnelTimeout = 100 * time.Millisecond
			}
			client := systemtest.HTTP(t, newSystem(t, o), testkit.Modern)
			r := connect(t, client, tt.port)
			if text := r.Tool(t).Text(); text != "["+tt.code+"] "+tt.want {
				t.Errorf("%s, want [%s] %s", text, tt.code, tt.want)
			}
			code, repeat := retryable(t, r)
			if e := r.Record(t); e.Kind != tt.kind || code != tt.code || repeat || e.Effect == recourse.EffectUnknown {
				t.Errorf("%v of kind %s, read as %s, retryable %t, effect %s", e, e.Kind, code, repeat, e.Effect)
			}
			if text := client.Call(t, "connect_status", `{}`).Tool(t).Text(); text != `{"up":false}` {
				t.Errorf("connect_status: %s", text)
			}
		})
	}
}

// A hosted server opens no tunnels, since it does not run on its user's machine.
func TestTunnelHosted(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/connect-hosted", "studies/connect-verbs")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{Hosted: true, Tunnel: fakeTunnel(t)}), testkit.Legacy)
	for tool, arguments := range map[string]string{"connect_start": `{"port":3000}`, "connect_status": `{}`, "connect_stop": `{}`} {
		want := "[validation_error] " + tool + " works on the user's own machine only: run the MCP server there."
		if text := client.Call(t, tool, arguments).Tool(t).Text(); !strings.HasPrefix(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}
