package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// A storm is a shop with random faults: calls are refused, limited, or lost on their way there or back.
type storm struct {
	mu     sync.Mutex
	random *rand.Rand
	orders map[string]int // how often each was created
	calls  int
}

func (s *storm) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	fault := s.random.IntN(100)
	switch {
	case fault < 2:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case fault < 4:
		return s.fail(recourse.RateLimited(time.Second).WithEffect(recourse.EffectNone), raw)
	case fault < 7: // the call is lost
		return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	result := s.answer(params.Name, raw)
	switch {
	case fault < 10: // the answer is lost
		return nil, io.ErrUnexpectedEOF
	case fault < 12:
		return s.fail(lost, raw)
	}
	return resultOf(result)
}

func (s *storm) fail(e *recourse.Error, arguments []byte) (*mcp.CallToolResult, error) {
	answer := contract.MustBuiltin("commerce").Write(e, &contract.Call{Method: "tools/call", Tool: "create-sales-order", Arguments: arguments})
	return resultOf(string(answer.Result))
}

func (s *storm) answer(tool string, arguments []byte) string {
	var in struct {
		Order struct {
			ExternalID string `json:"externalId"`
		} `json:"order"`
		ExternalIDs []string `json:"externalIds"`
	}
	if json.Unmarshal(arguments, &in) != nil {
		return `{"content":[],"isError":true}`
	}
	if tool == "create-sales-order" {
		s.orders[in.Order.ExternalID]++
		return fmt.Sprintf(`{"content":[],"structuredContent":{"success":true,"id":%q}}`, in.Order.ExternalID)
	}
	if s.orders[in.ExternalIDs[0]] == 0 {
		return `{"content":[],"structuredContent":{"items":[]}}`
	}
	return fmt.Sprintf(`{"content":[],"structuredContent":{"items":[{"externalId":%q}]}}`, in.ExternalIDs[0])
}

// Whatever fails for however many callers, no order is created twice, and every order reported as created exists.
func TestStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 20, 50
		shop := &storm{random: rand.New(rand.NewPCG(1, 2)), orders: map[string]int{}}
		shared := recovery.NewShared()
		var all sync.WaitGroup
		var mu sync.Mutex
		succeeded := 0
		for caller := range callers {
			client := recovery.New(shop, contract.MustBuiltin("commerce"), recovery.WithShared(shared), recovery.WithTimeout(time.Minute))
			all.Go(func() {
				for i := range each {
					id := fmt.Sprintf("%d-%d", caller, i)
					_, err := client.CallTool(t.Context(), &mcp.CallToolParams{
						Name: "create-sales-order", Arguments: map[string]any{"order": map[string]any{"externalId": id}},
					})
					shop.mu.Lock()
					n := shop.orders[id]
					shop.mu.Unlock()
					e, _ := errors.AsType[*recourse.Error](err)
					switch {
					case n > 1:
						t.Errorf("%s was created %d times", id, n)
					case err == nil && n != 1:
						t.Errorf("%s was not created, but reported as created", id)
					case err != nil && e.Effect == recourse.EffectNone && n != 0:
						t.Errorf("%s was created, but reported as not created: %v", id, err)
					case err == nil:
						mu.Lock()
						succeeded++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		if succeeded < callers*each*95/100 {
			t.Errorf("%d of %d have succeeded", succeeded, callers*each)
		}
		t.Logf("%d of %d have succeeded, with %d calls", succeeded, callers*each, shop.calls)
	})
}
