package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// weather is a server with random faults, which reports clients that break the rules.
type weather struct {
	t     *testing.T
	shop  *contract.Contract
	began time.Time

	mu      sync.Mutex
	random  *rand.Rand
	limited time.Time            // no calls before
	told    time.Time            // when the limit was reported; a call at that moment cannot know it
	after   map[string]time.Time // earliest time for a repeated call
	sent    map[string]int       // by tool and order
	created map[string]int
}

func (w *weather) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	id, err := orderOf(params.Arguments)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	call := params.Name + " " + id
	if now := time.Now(); now.Before(w.limited) && now.After(w.told) {
		w.t.Errorf("%s was sent %s before the end of the limit", call, w.limited.Sub(now))
	} else if now.Before(w.after[call]) {
		w.t.Errorf("%s was repeated %s too early", call, w.after[call].Sub(now))
	}
	w.sent[call]++
	fault, wait := w.random.IntN(100), time.Duration(1+w.random.IntN(15))*time.Second
	if into := time.Since(w.began) % (3 * time.Minute); into < time.Minute {
		fault /= 4 // a storm
	}
	w.mu.Unlock()
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case fault < 4:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case fault < 6:
		if until := time.Now().Add(wait); until.After(w.limited) {
			w.told, w.limited = time.Now(), until
		}
		return w.fail(recourse.RateLimited(wait).WithEffect(recourse.EffectNone), params)
	case fault < 12:
		w.after[call] = time.Now().Add(wait)
		return w.fail(recourse.Unavailable("The shop").WithEffect(recourse.EffectNone).WithRetryAfter(wait), params)
	case fault < 16:
		return w.fail(recourse.Unavailable("The shop").WithEffect(recourse.EffectNone), params)
	case fault < 18: // hang
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		return nil, ctx.Err()
	}
	result := w.answer(params.Name, id)
	if fault < 24 { // the answer is lost
		return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	return resultOf(result)
}

// orderOf returns the order in a call's arguments.
func orderOf(arguments any) (string, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return "", err
	}
	var in struct {
		Order struct {
			ExternalID string `json:"externalId"`
		} `json:"order"`
		ExternalIDs []string `json:"externalIds"`
	}
	err = json.Unmarshal(raw, &in)
	return strings.Join(append(in.ExternalIDs, in.Order.ExternalID), ""), err
}

func (w *weather) fail(e *recourse.Error, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return resultOf(string(w.shop.Write(e, &contract.Call{Method: "tools/call", Tool: params.Name}).Result))
}

func (w *weather) answer(tool, id string) string {
	if tool == "create-sales-order" {
		w.created[id]++
		return `{"content":[],"structuredContent":{"success":true}}`
	}
	if w.created[id] == 0 {
		return `{"content":[],"structuredContent":{"items":[]}}`
	}
	return fmt.Sprintf(`{"content":[],"structuredContent":{"items":[{"externalId":%q}]}}`, id)
}

// Whatever happens to however many callers: no wait is cut short, no deadline exceeded, no attempt too many made, and
// no write made twice.
func TestDuties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &weather{
					t: t, shop: contract.MustBuiltin("commerce"), began: time.Now(), random: rand.New(rand.NewPCG(seed, 0)),
					after: map[string]time.Time{}, sent: map[string]int{}, created: map[string]int{},
				}
				shared := recovery.NewShared()
				var all sync.WaitGroup
				for caller := range 30 {
					luck := rand.New(rand.NewPCG(seed, uint64(caller+1)))
					all.Go(func() {
						for i := range 30 {
							time.Sleep(time.Duration(luck.IntN(20)) * time.Second)
							w.task(shared, fmt.Sprintf("%d-%d", caller, i), time.Duration(1+luck.IntN(120))*time.Second, luck.IntN(10) == 0, luck.IntN(2) == 0)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// task makes a call with that much time; a cancelled one ends after half of it.
func (w *weather) task(s *recovery.Shared, id string, timeout time.Duration, cancelled, reads bool) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	most := timeout
	if cancelled {
		most = timeout / 2
		defer time.AfterFunc(most, cancel).Stop()
	}
	tool, arguments := "create-sales-order", map[string]any{"order": map[string]any{"externalId": id}}
	if reads {
		tool, arguments = "get-products", map[string]any{"externalIds": []string{id}}
	}
	began := time.Now()
	_, err := recovery.New(w, w.shop, recovery.WithShared(s), recovery.WithTimeout(timeout), recovery.WithNature("get-products", retry.Reads)).
		CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if took := time.Since(began); took > most {
		w.t.Errorf("%s took %s, want at most %s", id, took, most)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.sent[tool+" "+id]; n > 4 {
		w.t.Errorf("%s was sent %d times", id, n)
	}
	created := w.created[id]
	e, failed := errors.AsType[*recourse.Error](err)
	switch {
	case failed == (err == nil):
		w.t.Errorf("%s: %v", id, err)
	case created > 1:
		w.t.Errorf("%s was created %d times", id, created)
	case !reads && err == nil && created == 0:
		w.t.Errorf("%s was not created, but reported as created", id)
	case failed && e.Effect == recourse.EffectNone && created > 0:
		w.t.Errorf("%s was created, but reported as not created: %v", id, err)
	}
}
