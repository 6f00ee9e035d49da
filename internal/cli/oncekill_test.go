package cli_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// While the program is killed again and again, agents that repeat whatever fails cause no write to happen twice, and are told of no
// success that is none. RECOURSE_TEST_ONCE=15m makes it last that long, with 300 kills in turn: of two programs that share a
// PostgreSQL, of that, and of the server.
func TestLongOnceUnderKills(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	lasts, kills, address, replicas := 25*time.Second, 10, "sqlite:"+filepath.Join(t.TempDir(), "once.db"), 1
	var database *service.Process
	if full, err := time.ParseDuration(os.Getenv("RECOURSE_TEST_ONCE")); err == nil {
		database = service.NewPostgres(t)
		lasts, kills, address, replicas = full, 300, database.URL, 2
	}
	b := &blind{srv: testkit.NewServer(t)}
	var programs []*supervised
	for range replicas {
		p := supervise(t, b.srv.URL(), address)
		programs, b.clients = append(programs, p), append(b.clients, testkit.NewClient(t, p.url, testkit.Modern))
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	for agent := range 16 {
		b.all.Go(func() { b.work(ctx, agent) })
	}
	killed := 0
	for luck := rand.New(rand.NewPCG(1, 1)); ctx.Err() == nil && killed < kills; killed++ {
		time.Sleep(time.Duration(float64(lasts) / float64(kills) * (0.4 + luck.Float64())))
		switch {
		case database != nil && killed%3 == 1:
			database.Kill(t)
		case database != nil && killed%3 == 2:
			if err := b.srv.Restart(); err != nil {
				t.Fatal(err)
			}
		default:
			programs[killed/3%replicas].kill()
		}
	}
	b.all.Wait()
	t.Logf("%d writes in %d calls, %d kills, %d doubled, %d wrong successes, %d never told",
		b.wrote.Load(), b.calls.Load(), killed, b.doubled.Load(), b.wrong.Load(), b.untold.Load())
	if b.doubled.Load() > 0 || b.wrong.Load() > 0 || b.untold.Load() > 0 || b.wrote.Load() == 0 {
		t.Error("a write happened twice, or not at all")
	}
}

// A supervised is the program in front of a server, which is started again whenever it has ended.
type supervised struct {
	url string

	mu      sync.Mutex
	running *exec.Cmd
}

func supervise(t *testing.T, server, store string) *supervised {
	t.Helper()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "recourse.yaml"), filepath.Join(dir, "recourse")
	yaml := fmt.Sprintf("listen: %s\nstore: %q\nsession_keys: [kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk]\nservers:\n  farm:\n    url: %s\n"+
		"    tools: {order_create: {once: {key: /reference, grace: 1s}, verify: {tool: order_get, from: {reference: /reference}, "+
		"landed: {path: /reference, exists: true}}}}\n", address, store, server)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file, []byte(yaml), 0o600), os.Symlink(self, program)); err != nil {
		t.Fatal(err)
	}
	s := &supervised{url: "http://" + address + "/farm/mcp"}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	t.Cleanup(func() { stop(); s.kill(); ended.Wait() })
	ended.Go(func() {
		for ctx.Err() == nil {
			c := exec.CommandContext(ctx, program, "serve", "-c", file)
			s.mu.Lock()
			err := c.Start()
			s.running = c
			s.mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.Wait() // it was killed, or has not found its store
		}
	})
	return s
}

func (s *supervised) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		_ = s.running.Process.Kill() // it may have ended
	}
}

// A blind holds agents that repeat whatever fails, until they are told of a success.
type blind struct {
	srv     *testkit.Server
	clients []*testkit.Client

	wrote, calls, doubled, wrong, untold atomic.Int64
	all                                  sync.WaitGroup
}

// work makes one order after the other. One that fails again and again is left to somebody else.
func (b *blind) work(ctx context.Context, agent int) {
	luck := rand.New(rand.NewPCG(uint64(agent), 3))
	for n := 0; ctx.Err() == nil; n++ {
		of := fmt.Sprintf("K-%d-%d.", agent, n)
		if luck.IntN(10) == 0 {
			b.srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true))
		}
		if b.order(of, 3) {
			continue
		}
		b.all.Go(func() {
			if !b.order(of, 1000) {
				b.untold.Add(1)
			}
		})
	}
}

// order repeats a call until it succeeds.
func (b *blind) order(of string, tries int) (told bool) {
	for range tries {
		to := int(b.calls.Add(1)) % len(b.clients)
		a, err := b.clients[to].Call(context.Background(), testkit.OrderCreate, fmt.Sprintf(`{"reference":%q,"amount":1}`, of))
		if err != nil || a.Message == nil || !a.Succeeded() {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		b.wrote.Add(1)
		switch n := b.srv.Orders(of); {
		case n > 1:
			b.doubled.Add(1)
		case n == 0, !strings.Contains(string(a.Body), of):
			b.wrong.Add(1)
		}
		return true
	}
	return false
}
