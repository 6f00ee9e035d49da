package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// While a server or a program is killed again and again, no write runs twice, no success is lost, and no write that ran
// is reported as having no effect.
func TestWritesUnderKills(t *testing.T) {
	t.Parallel()
	writesUnderKills(t, 2)
}

func TestLongWritesUnderKills(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	writesUnderKills(t, 40)
}

func writesUnderKills(t *testing.T, kills int) {
	t.Helper()
	for _, e := range testkit.EraPairs {
		t.Run("server/"+e.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(e.Server))
			keepWriting(t, gatewaytest.Start(t, srv.URL()).Client(t, e.Client), srv.Orders, kills, func() {
				if err := srv.Restart(); err != nil {
					t.Error(err)
				}
			})
		})
		t.Run("program/"+e.String(), func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			client := gatewaytest.Start(t, "", gatewaytest.CommandFor(t, program, e.Server)...).Client(t, e.Client)
			keepWriting(t, client, program.Orders, min(kills, 4), func() { // each child starts later than the previous one
				program.Next(testkit.OrderGet, "exit")
				_, _ = client.Call(t.Context(), testkit.OrderGet, `{"reference":"any"}`) // kills the program
			})
		})
	}
}

// keepWriting makes callers write until kill was called kills times, and checks the result of each write.
func keepWriting(t *testing.T, client *testkit.Client, orders func(reference string) int, kills int, kill func()) {
	t.Helper()
	const callers, between = 8, 24
	var done atomic.Bool
	var writers sync.WaitGroup
	wrote := make(chan struct{}, 1)
	for i := range callers {
		writers.Go(func() {
			for n := 0; !done.Load(); n++ {
				writeOnce(t, client, orders, fmt.Sprintf("K-%d-%d", i, n))
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	for range kills {
		for range between {
			<-wrote
		}
		kill()
	}
	done.Store(true)
	writers.Wait()
}

func writeOnce(t *testing.T, client *testkit.Client, orders func(reference string) int, reference string) {
	t.Helper()
	a, err := client.Call(context.Background(), testkit.OrderCreate, fmt.Sprintf(`{"reference":%q,"amount":1}`, reference))
	if err != nil || a.Message == nil {
		t.Errorf("%s: got %+v, %v", reference, a, err)
		return
	}
	times := orders(reference)
	if a.Message.Error == nil && a.Succeeded() {
		if times != 1 {
			t.Errorf("%s succeeded: created %d times", reference, times)
		}
		return
	}
	var e recourse.Error
	if raw := gatewaytest.RecordIn(a); raw == nil || json.Unmarshal(raw, &e) != nil {
		t.Errorf("%s: got %s, want a record", reference, a.Body)
		return
	}
	if times > 1 || e.Effect == recourse.EffectNone && times != 0 {
		t.Errorf("%s: got effect %s, created %d times: %s", reference, e.Effect, times, a.Body)
	}
}
