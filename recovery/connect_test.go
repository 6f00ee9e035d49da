package recovery_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// Connecting is tried again like a call that reads: as often and as late as the contract says, and only where that may help.
func TestConnect(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, test := range map[string]struct {
		failures []error
		attempts int
		took     time.Duration
		kind     recourse.Kind // "": connected
	}{
		"at once":                   {nil, 1, 0, ""},
		"after 502":                 {[]error{recourse.FromStatus("", 502), recourse.FromStatus("", 502)}, 3, 4 * time.Second, ""},
		"after a refusal":           {[]error{refused}, 2, 1500 * time.Millisecond, ""},
		"after a reset":             {[]error{&net.OpError{Op: "read", Err: syscall.ECONNRESET}}, 2, 1500 * time.Millisecond, ""},
		"never":                     {[]error{refused, refused, refused, refused, refused}, 4, 8500 * time.Millisecond, recourse.KindUnreachable},
		"with invalid credentials":  {[]error{recourse.Unauthenticated(), nil}, 1, 0, recourse.KindUnauthenticated},
		"where there is no server":  {[]error{recourse.NotFound("", ""), nil}, 1, 0, recourse.KindNotFound},
		"when told to wait":         {[]error{recourse.RateLimited(20 * time.Second)}, 2, 20500 * time.Millisecond, ""},
		"when told to wait forever": {[]error{recourse.RateLimited(time.Hour)}, 1, 0, recourse.KindRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				attempts, began := 0, time.Now()
				var given context.Context
				connect := func(ctx context.Context) (string, error) {
					given = ctx //nolint:fatcontext // that of the last attempt
					attempts++
					if attempts <= len(test.failures) {
						return "", test.failures[attempts-1]
					}
					return "session", nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				session, err := recovery.Connect(ctx, contract.MustBuiltin("terra"), connect, recovery.WithRandom(func() float64 { return 0.5 }))
				if attempts != test.attempts || time.Since(began) != test.took {
					t.Errorf("%d attempts in %s", attempts, time.Since(began))
				}
				if test.kind == "" && (err != nil || session != "session") || test.kind != "" && !errors.Is(err, test.kind) {
					t.Errorf("got %q, %v", session, err)
				}
				if ended := given.Err() != nil; ended != (test.kind != "") {
					t.Errorf("the context of the last attempt has ended: %t", ended)
				}
				cancel()
				if synctest.Wait(); given.Err() == nil {
					t.Error("the session outlives the caller's context")
				}
			})
		})
	}
}

// An attempt that hangs is given up in time for another.
func TestConnectHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		session, err := recovery.Connect(t.Context(), contract.MustBuiltin("terra"), func(ctx context.Context) (int, error) {
			if attempts++; attempts == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return attempts, nil
		}, recovery.WithTimeout(time.Minute))
		if session != 2 || err != nil {
			t.Errorf("got %d, %v", session, err)
		}
	})
}
