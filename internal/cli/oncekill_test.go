package cli_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// While the program is killed again and again, agents that repeat whatever fails cause no write to happen twice, and are told of no
// success that is none.
func TestLongOnceUnderKills(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	srv := testkit.NewServer(t)
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "recourse.yaml"), filepath.Join(dir, "recourse")
	yaml := fmt.Sprintf("listen: %s\nstore: sqlite:once.db\nsession_keys: [kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk]\nservers:\n  farm:\n    url: %s\n"+
		"    tools: {order_create: {once: {key: /reference, grace: 1s}, verify: {tool: order_get, from: {reference: /reference}, "+
		"landed: {path: /reference, exists: true}}}}\n", address, srv.URL())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		c := exec.Command(program, "serve", "-c", file)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	client := testkit.NewClient(t, "http://"+address+"/farm/mcp", testkit.Modern)
	running := start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wrote, doubled, wrong atomic.Int64
	var all sync.WaitGroup
	for agent := range 8 {
		luck := rand.New(rand.NewPCG(uint64(agent), 3))
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				of := fmt.Sprintf("K-%d-%d", agent, n)
				if luck.IntN(10) == 0 {
					srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true))
				}
				for range 1000 {
					a, err := client.Call(context.Background(), testkit.OrderCreate, fmt.Sprintf(`{"reference":%q,"amount":1}`, of))
					if err == nil && a.Message != nil && a.Succeeded() {
						if wrote.Add(1); srv.Orders(of) != 1 {
							wrong.Add(1)
						}
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				if srv.Orders(of) > 1 {
					doubled.Add(1)
				}
			}
		})
	}
	kills := 0
	for luck := rand.New(rand.NewPCG(1, 1)); ctx.Err() == nil && kills < 25; kills++ {
		time.Sleep(time.Duration(200+luck.IntN(3000)) * time.Millisecond)
		_ = running.Process.Kill()
		_ = running.Wait() // it was killed
		running = start()
	}
	all.Wait()
	_ = running.Process.Kill()
	_ = running.Wait()
	t.Logf("%d writes, %d kills, %d doubled, %d wrong successes", wrote.Load(), kills, doubled.Load(), wrong.Load())
	if doubled.Load() > 0 || wrong.Load() > 0 || wrote.Load() == 0 {
		t.Error("a write happened twice, or not at all")
	}
}
