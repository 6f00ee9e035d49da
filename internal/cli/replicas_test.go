package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A replica is one process of the gateway.
type replica struct {
	t               *testing.T
	program, config string
	address, admin  string
	process         *exec.Cmd
	out             output
	ready           atomic.Bool
}

// start starts the process, and returns when it accepts requests.
func (r *replica) start() {
	r.t.Helper()
	r.process = exec.CommandContext(context.Background(), r.program, "serve", "-c", r.config)
	r.process.Stdout, r.process.Stderr = &r.out, &r.out
	if err := r.process.Start(); err != nil {
		r.t.Fatal(err)
	}
	if !testkit.Until(r.isReady) {
		r.t.Fatalf("the replica does not start:\n%s", &r.out)
	}
}

// stop ends the process like an orchestrator, and checks that it ended cleanly.
func (r *replica) stop() {
	r.t.Helper()
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if err := r.process.Wait(); err != nil {
		r.t.Errorf("the replica ended with %v:\n%s", err, &r.out)
	}
}

func (r *replica) isReady() bool {
	resp, err := http.Get("http://" + r.admin + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// A balancer spreads requests over the ready replicas, like a load balancer with health checks. It retries at another
// replica only if it could not connect.
type balancer struct {
	replicas []*replica
	next     atomic.Int64
	to       http.Transport
}

// check polls the replicas' readiness until ctx ends.
func (b *balancer) check(ctx context.Context) {
	for ctx.Err() == nil {
		for _, r := range b.replicas {
			r.ready.Store(r.isReady())
		}
		time.Sleep(10 * time.Millisecond) // the interval of the health checks
	}
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	first := int(b.next.Add(1))
	for range 3 { // the checks may lag behind
		for i := range b.replicas {
			to := b.replicas[(first+i)%len(b.replicas)]
			if !to.ready.Load() {
				continue
			}
			sent := r.Clone(r.Context())
			sent.URL, sent.Body = &url.URL{Scheme: "http", Host: to.address, Path: r.URL.Path}, io.NopCloser(bytes.NewReader(body))
			resp, err := b.to.RoundTrip(sent)
			if refused := (*net.OpError)(nil); errors.As(err, &refused) && refused.Op == "dial" {
				continue
			}
			return resp, err
		}
		time.Sleep(20 * time.Millisecond) // until the next checks
	}
	return nil, errors.New("no replica is ready")
}

// Two replicas are restarted one after the other, and reloaded, while clients of both eras call a tool that writes.
// Every call succeeds, and takes effect once.
func TestLongRollingRestart(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "recourse") // TestMain runs the command of this name
	if err := os.Symlink(exe, program); err != nil {
		t.Skip(err)
	}
	srv := testkit.NewServer(t)
	b := &balancer{}
	defer b.to.CloseIdleConnections()
	for i := range 2 {
		r := &replica{t: t, program: program, config: filepath.Join(dir, fmt.Sprintf("replica-%d.yaml", i)), address: freeAddress(t), admin: freeAddress(t)}
		writeReplica(t, r, srv.URL(), "Farm")
		r.start()
		b.replicas = append(b.replicas, r)
	}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { b.check(ctx) })
	ts := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: b, FlushInterval: -1})
	defer ts.Close()
	testkit.Eventually(t, "both replicas are ready", func() bool { return b.replicas[0].ready.Load() && b.replicas[1].ready.Load() })

	var calls atomic.Int64
	for i := range 8 {
		era := testkit.Legacy
		if i%2 == 1 {
			era = testkit.Modern
		}
		client := testkit.NewClient(t, ts.URL+"/farm/mcp", era)
		if era == testkit.Legacy {
			if _, err := client.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		work.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				reference := fmt.Sprintf("A-%d-%d", i, n)
				a, err := client.Call(context.WithoutCancel(ctx), testkit.OrderCreate, `{"reference":"`+reference+`","amount":1}`)
				calls.Add(1)
				if err != nil {
					t.Errorf("%s: %v", reference, err)
					continue
				}
				if result, err := a.ToolResult(); err != nil || result.IsError {
					t.Errorf("%s: HTTP %d %s", reference, a.Status, a.Body)
				}
				if orders := srv.Orders(reference); orders != 1 {
					t.Errorf("%s: %d orders", reference, orders)
				}
			}
		})
	}
	for range 2 {
		for i, r := range b.replicas {
			r.stop()
			r.start()
			other := b.replicas[1-i]
			writeReplica(t, other, srv.URL(), fmt.Sprintf("Farm %d", calls.Load()))
			if err := other.process.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, "the replica is ready again", r.ready.Load)
		}
	}
	stop()
	work.Wait()
	for _, r := range b.replicas {
		r.stop()
	}
	if srv.Messages("initialize") > 8 {
		t.Errorf("4 clients opened %d sessions at the server", srv.Messages("initialize"))
	}
	t.Logf("%d calls", calls.Load())
}

// writeReplica writes a replica's configuration.
func writeReplica(t *testing.T, r *replica, server, title string) {
	t.Helper()
	text := fmt.Sprintf("listen: %s\nadmin: %s\nsession_keys: [a secret that both of the replicas know]\nshutdown_delay: 200ms\n"+
		"servers:\n  farm: {url: '%s', title: '%s'}\n", r.address, r.admin, server, title)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// freeAddress returns a loopback address with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
