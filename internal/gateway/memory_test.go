package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// mostMemory is how much memory the whole program may use under attack.
const mostMemory = 512 << 20

// A process is a gateway that runs as a program of its own.
type process struct {
	cmd *exec.Cmd
	url string
}

func startProcess(tb testing.TB, serverURL string) *process {
	tb.Helper()
	folder := tb.TempDir()
	program, file := filepath.Join(folder, "recourse"), filepath.Join(folder, "recourse.yaml")
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", program, "../../cmd/recourse")
	if text, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("got %s, %v", text, err)
	}
	yaml := "listen: 127.0.0.1:0\nlog: json\nservers: {farm: {url: '" + serverURL + "', timeout: 20s, max_timeout: 20s}}\n"
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		tb.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(tb.Context(), program, "serve", "-c", file)}
	p.cmd.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for p.url == "" && lines.Scan() {
		if m := regexp.MustCompile(`"url":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
			p.url = m[1]
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() { // the rest of the log
		}
	})
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		reading.Wait()
		_ = p.cmd.Wait()
	})
	if p.url == "" {
		tb.Fatal("the gateway does not serve")
	}
	return p
}

// peak returns the largest amount of memory that the process has used, in bytes.
func (p *process) peak(tb testing.TB) int {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		tb.Fatalf("got %s", status)
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		tb.Fatal(err)
	}
	return kb << 10
}

// attacks are ways in which clients and servers may try to use up memory.
func attacks() map[string]func(t *testing.T, srv *testkit.Server, p *process) {
	return map[string]func(t *testing.T, srv *testkit.Server, p *process){
		"tools with patterns": func(t *testing.T, _ *testkit.Server, p *process) {
			t.Helper()
			c := (&gatewaytest.Front{URL: p.url}).Client(t, testkit.Legacy)
			values := make([]string, 800)
			for i := range values {
				values[i] = fmt.Sprintf(`"p%d":"a"`, i)
			}
			arguments := "{" + strings.Join(values, ",") + "}"
			for range 3 {
				for i := range 24 {
					if _, err := c.Call(t.Context(), fmt.Sprintf("costly_%d", i), arguments); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(1100 * time.Millisecond) // until the list's ttlMs is over
			}
		},
		"arguments of many members": func(t *testing.T, srv *testkit.Server, p *process) {
			t.Helper()
			srv.Always("x/slow", faults.Hang())
			c := (&gatewaytest.Front{URL: p.url}).Client(t, testkit.Legacy)
			var b bytes.Buffer
			for i := range 240_000 {
				fmt.Fprintf(&b, `"m%06d":1,`, i)
			}
			arguments := `{` + strings.TrimSuffix(b.String(), ",") + `}`
			for _, request := range []func(ctx context.Context) (*testkit.Answer, error){
				func(ctx context.Context) (*testkit.Answer, error) { return c.Request(ctx, "x/slow", arguments) },
				func(ctx context.Context) (*testkit.Answer, error) { return c.Call(ctx, testkit.Echo, arguments) },
				func(ctx context.Context) (*testkit.Answer, error) { return c.Call(ctx, "costly_1", arguments) },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				var calls sync.WaitGroup
				for range 60 {
					calls.Go(func() { _, _ = request(ctx) }) // some are refused, others time out
				}
				calls.Wait()
				cancel()
			}
		},
		"clients that never read": func(t *testing.T, srv *testkit.Server, p *process) {
			t.Helper()
			srv.Always("x/large", faults.Large(testkit.JSON, 8<<20, faults.Whole))
			c := (&gatewaytest.Front{URL: p.url}).Client(t, testkit.Legacy)
			s := &served{addr: strings.Split(p.url, "/")[2]}
			for range 400 {
				s.dial(t, raw(c.Session, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x/large"}`))
			}
			if err := srv.Await(t.Context(), func() bool { return srv.Messages("x/large") == 400 }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		},
		"sessions with baggage": func(t *testing.T, _ *testkit.Server, p *process) {
			t.Helper()
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					c := testkit.NewClient(t, p.url, testkit.Legacy)
					c.Header = http.Header{"Baggage": {strings.Repeat("k=v,", 15_000)}}
					for range 1000 {
						c.Session = ""
						if a, err := c.Initialize(t.Context()); err != nil || a.Status != http.StatusOK {
							t.Errorf("got %+v, %v", a, err)
							return
						}
					}
				})
			}
			clients.Wait()
		},
	}
}

// The program stays within mostMemory during each attack, and works afterwards.
func TestLongMemoryUnderAttack(t *testing.T) {
	testkit.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("the test reads the peak from /proc")
	}
	for name, attack := range attacks() {
		t.Run(name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.WithTools(costlyTools(24, 800)...))
			p := startProcess(t, srv.URL())
			before := p.peak(t)
			attack(t, srv, p)
			peak := p.peak(t)
			t.Logf("peak %d MiB, before %d MiB", peak>>20, before>>20)
			if peak > mostMemory {
				t.Errorf("got a peak of %d MiB", peak>>20)
			}
			c := (&gatewaytest.Front{URL: p.url}).Client(t, testkit.Legacy)
			if a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
				t.Errorf("afterwards: got %+v, %v", a, err)
			}
		})
	}
}
