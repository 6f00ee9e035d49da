package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A blind agent repeats whatever fails, at once. While answers are lost after their effect, and gateway and server are stopped and
// started again, no write happens twice, and every success that it is told of is one.
func TestOnceBlindAgents(t *testing.T) {
	t.Parallel()
	blindAgents(t, 2*time.Second, 1)
}

// RECOURSE_TEST_ONCE=8m makes it last that long, with 300 stops: for some 100,000 writes.
func TestLongOnceBlindAgents(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	lasts, kills := 20*time.Second, 20
	if full, err := time.ParseDuration(os.Getenv("RECOURSE_TEST_ONCE")); err == nil {
		lasts, kills = full, 300
	}
	blindAgents(t, lasts, kills)
}

func blindAgents(t *testing.T, lasts time.Duration, kills int) {
	t.Helper()
	_, address := onceStore(t)
	srv := testkit.NewServer(t)
	at := &frontDoor{t: t, srv: srv, address: address}
	at.open()
	defer at.shut()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wrote, calls, doubled, wrong atomic.Int64
	var all sync.WaitGroup
	for agent := range 16 {
		luck := rand.New(rand.NewPCG(uint64(agent), 7))
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				of := fmt.Sprintf("B-%d-%d", agent, n)
				if luck.IntN(10) == 0 {
					srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true))
				}
				for range 60 { // tries
					calls.Add(1)
					a, err := at.client().Call(context.Background(), testkit.OrderCreate, fmt.Sprintf(`{"reference":%q,"amount":1}`, of))
					if err != nil || a.Message == nil || !a.Succeeded() {
						time.Sleep(50 * time.Millisecond)
						continue
					}
					if wrote.Add(1); srv.Orders(of) != 1 {
						wrong.Add(1)
					}
					break
				}
				if srv.Orders(of) > 1 {
					doubled.Add(1)
				}
			}
		})
	}
	all.Go(func() {
		for i := 0; i < kills && ctx.Err() == nil; i++ {
			time.Sleep(lasts / time.Duration(kills+1) / 2)
			if i%2 == 0 {
				at.restart()
			} else if err := srv.Restart(); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	t.Logf("%d writes in %d calls, %d doubled, %d wrong successes, %d stops", wrote.Load(), calls.Load(), doubled.Load(), wrong.Load(), kills)
	if doubled.Load() > 0 || wrong.Load() > 0 || wrote.Load() == 0 {
		t.Errorf("%d doubled, %d successes that were none", doubled.Load(), wrong.Load())
	}
}

// A frontDoor is a gateway that is stopped, with its calls broken off, and started again at the same store.
type frontDoor struct {
	t       *testing.T
	srv     *testkit.Server
	address string

	now atomic.Pointer[testkit.Client]
	end func()
}

func (d *frontDoor) client() *testkit.Client { return d.now.Load() }

func (d *frontDoor) open() {
	s, err := store.Open(context.Background(), d.address)
	if err != nil {
		d.t.Error(err)
		return
	}
	cfg, set := gatewaytest.Parse(d.t, "store: sqlite:unused.db\nsession_keys: ["+strings.Repeat("k", 32)+"]\nservers:\n  farm:\n    url: "+
		d.srv.URL()+"\n    tools: {order_create: {once: {grace: 200ms, key: /reference}, "+orderVerify+"}}\n")
	times := once.Times{Lease: 3 * time.Second, Poll: 50 * time.Millisecond}
	g, err := gateway.NewReaching(gateway.Reach{Once: s.Once(), OnceTimes: times, Pause: time.Millisecond}, cfg, set, gatewaytest.Silent)
	if err != nil {
		d.t.Error(err)
		return
	}
	url, shut := gatewaytest.Serve(d.t, g)
	d.end = func() {
		shut()
		g.Close()
		if err := s.Close(); err != nil {
			d.t.Error(err)
		}
	}
	d.now.Store(testkit.NewClient(d.t, url+gatewaytest.Path, testkit.Modern))
}

func (d *frontDoor) shut() { d.end() }

func (d *frontDoor) restart() {
	d.shut()
	d.open()
}
