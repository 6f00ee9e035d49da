package once_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
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
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A blind agent repeats whatever fails, at once. While answers are lost after their effect, and gateway and server are stopped and
// started again, no write happens twice, and every success that it is told of is one.
func TestOnceBlindAgents(t *testing.T) {
	t.Parallel()
	blindAgents(t, serverShop(t, testkit.Modern, testkit.Modern), 2*time.Second, 1)
}

// On every way to a server. RECOURSE_TEST_ONCE=8m makes it last that long, with 300 stops on each: for some 100,000 writes.
func TestLongOnceBlindAgents(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	lasts, kills := 5*time.Second, 6
	if full, err := time.ParseDuration(os.Getenv("RECOURSE_TEST_ONCE")); err == nil {
		lasts, kills = full, 300
	}
	for _, e := range testkit.EraPairs {
		t.Run("server "+e.String(), func(t *testing.T) {
			t.Parallel()
			blindAgents(t, serverShop(t, e.Client, e.Server), lasts, kills)
		})
	}
	for name, shop := range map[string]func(t *testing.T) *shop{"program": programShop, "many": manyShop, "api": apiShop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blindAgents(t, shop(t), lasts, kills)
		})
	}
}

// A shop is a server that takes orders, behind a gateway.
type shop struct {
	entry  string // its lines in the configuration, without tools
	more   string // of the configuration
	path   string // of the endpoint
	tool   string // that orders
	client testkit.Era

	lose   func()                     // the answer of the next order, after its effect
	orders func(reference string) int // how often it was made
	stop   func() error               // and start again
}

func serverShop(t *testing.T, client, server testkit.Era) *shop {
	srv := testkit.NewServer(t, testkit.WithEra(server))
	return &shop{
		entry: "url: " + srv.URL(), path: gatewaytest.Path, tool: testkit.OrderCreate, client: client,
		lose:   func() { srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true)) },
		orders: srv.Orders, stop: srv.Restart,
	}
}

func manyShop(t *testing.T) *shop {
	s := serverShop(t, testkit.Modern, testkit.Legacy)
	s.entry += "\n    path: none"
	s.more = "endpoints:\n  all: {servers: [{name: farm, prefix: f_}]}\n"
	s.path, s.tool = "/all/mcp", "f_"+s.tool
	return s
}

// programShop orders from a program, which ends with each answer that is lost.
func programShop(t *testing.T) *shop {
	program := child.NewProgram(t)
	var mu sync.Mutex // of the file of the next fault
	return &shop{
		entry: strings.Join(gatewaytest.CommandFor(t, program, testkit.Legacy), "\n    "),
		path:  gatewaytest.Path, tool: testkit.OrderCreate, client: testkit.Modern,
		lose:   func() { mu.Lock(); defer mu.Unlock(); program.Next(testkit.OrderCreate, "exit") },
		orders: program.Orders, stop: func() error { return nil },
	}
}

const shopAPI = `
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /orders:
    post:
      operationId: order_create
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {reference: {type: string}, amount: {type: integer}}}
      responses: {"201": {description: made}}
  /orders/{reference}:
    parameters:
    - {name: reference, in: path, required: true, schema: {type: string}}
    get: {operationId: order_get, responses: {"200": {description: fine}}}
`

// apiShop orders from an HTTP API that knows no keys.
func apiShop(t *testing.T) *shop {
	var mu sync.Mutex
	made := map[string]int{}
	lose := false
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reference := path.Base(r.URL.Path)
		mu.Lock()
		n, lost := made[reference], false
		if r.Method == http.MethodPost {
			var order struct {
				Reference string `json:"reference"`
			}
			_ = json.NewDecoder(r.Body).Decode(&order)
			reference = order.Reference
			made[reference]++
			n, lost, lose = 1, lose, false
		}
		mu.Unlock()
		switch {
		case lost:
			panic(http.ErrAbortHandler)
		case n == 0:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"code":"not_found","message":"There is no such order."}}`))
		default:
			_, _ = fmt.Fprintf(w, `{"reference":%q}`, reference)
		}
	}))
	t.Cleanup(p.Close)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(shopAPI), 0o600); err != nil {
		t.Fatal(err)
	}
	locked := func(do func()) { mu.Lock(); defer mu.Unlock(); do() }
	return &shop{
		entry: fmt.Sprintf("openapi: %q\n    base_url: %q\n    operations: [{}]", file, p.URL),
		path:  gatewaytest.Path, tool: testkit.OrderCreate, client: testkit.Modern,
		lose:   func() { locked(func() { lose = true }) },
		orders: func(reference string) (n int) { locked(func() { n = made[reference] }); return n },
		stop:   func() error { return nil },
	}
}

func blindAgents(t *testing.T, s *shop, lasts time.Duration, kills int) {
	t.Helper()
	_, address := onceStore(t)
	at := &frontDoor{t: t, shop: s, address: address}
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
					s.lose()
				}
				for range 60 { // tries
					calls.Add(1)
					a, err := at.client().Call(context.Background(), s.tool, fmt.Sprintf(`{"reference":%q,"amount":1}`, of))
					if err != nil || a.Message == nil || !a.Succeeded() {
						time.Sleep(50 * time.Millisecond)
						continue
					}
					if wrote.Add(1); s.orders(of) != 1 {
						wrong.Add(1)
					}
					break
				}
				if s.orders(of) > 1 {
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
			} else if err := s.stop(); err != nil {
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
	shop    *shop
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
	cfg, set := gatewaytest.Parse(d.t, "store: sqlite:unused.db\nsession_keys: ["+strings.Repeat("k", 32)+"]\nservers:\n  farm:\n    "+
		d.shop.entry+"\n    tools: {order_create: {once: {grace: 200ms, key: /reference}, "+orderVerify+"}}\n"+d.shop.more)
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
	client := testkit.NewClient(d.t, url+d.shop.path, d.shop.client)
	if d.shop.client == testkit.Legacy {
		client.MustInitialize(d.t)
	}
	d.now.Store(client)
}

func (d *frontDoor) shut() { d.end() }

func (d *frontDoor) restart() {
	d.shut()
	d.open()
}
