package commerce_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/retry"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// A client that only knows the page repeats what is retryable, with growing waits and jitter, and nothing else.
func TestClientRepeats(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/retry-backoff", "commerce/retry-not")

	const random = 0.5
	backoff := []time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond, 4500 * time.Millisecond}
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{Timeout: patience}), testkit.Legacy)
	for _, test := range []struct {
		name            string
		tool, arguments string
		nature          retry.Nature
		waits           []time.Duration
		isDone          bool
	}{
		{"a success", "get-orders", `{}`, retry.Reads, nil, true},
		{"an outage that ends", "get-orders", `{"ids":["fault-once"]}`, retry.Reads, backoff[:1], true},
		{"an outage", "get-orders", `{"ids":["fault-down"]}`, retry.Reads, backoff, false},
		{"an adapter that allows a retry", "get-orders", `{"ids":["fault-locked"]}`, retry.Reads, backoff, false},
		{"an adapter that allows no retry", "get-orders", `{"ids":["fault-adapter"]}`, retry.Reads, nil, false},
		{"no such order", "cancel-order", `{"orderId":"SO-404"}`, retry.Writes, nil, false},
		{"a mistake in the arguments", "create-sales-order", newOrder("a", "ada", "1"), retry.Writes, nil, false},
		{"arguments that do not fit", "create-sales-order", `{}`, retry.Writes, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			last, waits := systemtest.Follow(t, rules(t), test.nature, random, func() systemtest.Reply {
				calls++
				return client.Call(t, test.tool, test.arguments)
			})
			if diff := cmp.Diff(test.waits, waits); diff != "" || calls != len(test.waits)+1 {
				t.Errorf("%d calls, waits (-want +got):\n%s", calls, diff)
			}
			if isDone := last.Error == nil && !last.Tool(t).IsError; isDone != test.isDone {
				t.Errorf("last result: %s %+v", last.Result, last.Error)
			}
		})
	}
}

// After a write with unknown effect, the client makes the verify call from its failure, and does not repeat the write.
func TestClientLooksForWrite(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/retry-not")
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{Timeout: patience}), testkit.Legacy)
	_, report, _ := systemtest.Recover(t, rules(t), client, "cancel-order", `{"orderId":"SO-1001","reason":"fault-timeout"}`)
	if report.Attempts() != 1 || report.Verifications() != 1 {
		t.Errorf("%+v", report.Steps)
	}
}

// The stated wait of a limit is the first wait; later ones grow.
func TestClientWaitsForLimit(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Modern)
	_, waits := systemtest.Follow(t, rules(t), retry.Reads, 0, func() systemtest.Reply {
		return client.Call(t, "get-orders", `{"ids":["fault-busy"]}`)
	})
	if !slices.Equal(waits, []time.Duration{12 * time.Second, 24 * time.Second, 48 * time.Second}) {
		t.Error(waits)
	}
}
