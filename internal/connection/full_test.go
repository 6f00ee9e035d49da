package connection_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
)

// A fullStore can be read, but not written while it is full.
type fullStore struct {
	connection.Vault

	full atomic.Bool
}

var errFull = errors.New("database or disk is full")

func (f *fullStore) do(write func() error) error {
	if f.full.Load() {
		return errFull
	}
	return write()
}

func (f *fullStore) Put(ctx context.Context, c *store.Connection) error {
	return f.do(func() error { return f.Vault.Put(ctx, c) })
}

func (f *fullStore) Swap(ctx context.Context, c *store.Connection) error {
	return f.do(func() error { return f.Vault.Swap(ctx, c) })
}

func (f *fullStore) Lease(ctx context.Context, c *store.Connection, lease string, ends time.Time) error {
	return f.do(func() error { return f.Vault.Lease(ctx, c, lease, ends) })
}

// With a full disk, a token is not refreshed: the new one could not be stored.
func TestFullBeforeARefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		s := &fullStore{Vault: open(t, t.TempDir())}
		m := manager(t, s, i)
		connect(t, m, i, "ada")
		s.full.Store(true)
		time.Sleep(56 * time.Minute)
		if _, err := m.Credential(t.Context(), deere, "ada"); err != nil {
			t.Errorf("a token valid for minutes: %v", err)
		}
		time.Sleep(4 * time.Minute)
		for range 3 {
			_, err := m.Credential(t.Context(), deere, "ada")
			wantKind(t, err, recourse.KindUnavailable)
		}
		if n := i.asked(); n != 0 {
			t.Errorf("the provider got %d requests", n)
		}
		s.full.Store(false)
		if c, err := m.Credential(t.Context(), deere, "ada"); err != nil || i.asked() != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// If the disk fills up during a refresh, nothing is lost: calls use the new token, which is redeemed once, and stored
// as soon as possible, even if another process has taken this one for dead meanwhile.
func TestFullDuringARefresh(t *testing.T) {
	t.Parallel()
	for _, takenForDead := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(time.Hour)
			dir := t.TempDir()
			s := &fullStore{Vault: open(t, dir)}
			m := manager(t, s, i)
			connect(t, m, i, "ada")
			i.slow = func() time.Duration { s.full.Store(true); return 0 }
			time.Sleep(time.Hour)
			first, err := m.Credential(t.Context(), deere, "ada")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if again, err := m.Credential(t.Context(), deere, "ada"); err != nil || again != first || i.asked() != 1 {
				t.Errorf("%+v, %v, %d requests", again, err, i.asked())
			}
			if takenForDead {
				_, err := manager(t, open(t, dir), i).Credential(t.Context(), deere, "ada")
				wantKind(t, err, recourse.KindTokenExpired)
			}
			i.slow = func() time.Duration { return 0 }
			s.full.Store(false)
			time.Sleep(30 * time.Second)
			stored, err := manager(t, open(t, dir), i).Credential(t.Context(), deere, "ada")
			if err != nil || stored.Value != first.Value {
				t.Errorf("another process: %+v, %v", stored, err)
			}
			time.Sleep(time.Hour)
			if next, err := m.Credential(t.Context(), deere, "ada"); err != nil || next.Value == first.Value || len(i.revoked) > 0 {
				t.Errorf("the next refresh: %+v, %v, revoked %q", next, err, i.revoked)
			}
		})
	}
}

// A token in memory that expires before it can be stored is not replaced with the one in the store; at its end, the
// process tries to store it once more.
func TestFullForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		s := &fullStore{Vault: open(t, t.TempDir())}
		m := manager(t, s, i)
		connect(t, m, i, "ada")
		i.slow = func() time.Duration { s.full.Store(true); return 0 }
		time.Sleep(time.Hour)
		if _, err := m.Credential(t.Context(), deere, "ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		_, err := m.Credential(t.Context(), deere, "ada")
		wantKind(t, err, recourse.KindUnavailable)
		if n := i.asked(); n != 1 {
			t.Errorf("the provider got %d requests", n)
		}
		i.slow = func() time.Duration { return 0 }
		s.full.Store(false)
		began := time.Now()
		m.Close()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("closing took %s", took)
		}
		if c, err := manager(t, s, i).Credential(t.Context(), deere, "ada"); err != nil || len(i.revoked) > 0 {
			t.Errorf("%+v, %v, revoked %q", c, err, i.revoked)
		}
	})
}

// Storing a newly connected account is retried for a while; then the person is told that nothing has changed.
func TestFullWhenAnAccountIsConnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		full := &fullStore{Vault: open(t, s.dir)}
		s.pages.Manager = manager(t, full, s.hosts)
		b := s.browser()
		link := s.invite(s.key, nobody)
		full.full.Store(true)
		time.AfterFunc(10*time.Second, func() { full.full.Store(false) })
		b.submit(link, "api_key", "leaf-1").wants(t, http.StatusOK, "Leaf is connected")

		link = s.invite(s.key, nobody)
		full.full.Store(true)
		b.submit(link, "api_key", "leaf-2").wants(t, http.StatusBadGateway, "Nothing has changed")
		full.full.Store(false)
		time.Sleep(10 * time.Second)
		if c, err := s.Credential(t.Context(), s.key, "ada"); err != nil || c.Value != "leaf-1" {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// Client credentials need no store: the gateway can get a token at any time, and does not request one with every call.
func TestFullWithClientCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own := *deere
		own.Flow = connection.ClientCredentials
		i := newIssuer(time.Hour)
		s := &fullStore{Vault: open(t, t.TempDir())}
		s.full.Store(true)
		m := manager(t, s, i)
		for range 3 {
			if _, err := m.Credential(t.Context(), &own, connection.GatewayOwner); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
		}
		if n := i.asked(); n != 1 {
			t.Errorf("the provider got %d requests", n)
		}
		time.Sleep(time.Hour)
		s.full.Store(false)
		if _, err := m.Credential(t.Context(), &own, connection.GatewayOwner); err != nil || i.asked() != 2 {
			t.Errorf("%v, %d requests", err, i.asked())
		}
	})
}

// If a provider has replaced a refresh token in secret, it refuses the gateway's one: the account has to be connected
// again, and the provider gets no more requests for it.
func TestProviderRotatesWithoutTelling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(10 * time.Minute)
		i.fails(func(n int) (int, string) {
			if n == 1 {
				return http.StatusOK, `{"access_token":"access-kept","token_type":"Bearer","expires_in":600}`
			}
			return http.StatusBadRequest, `{"error":"invalid_grant"}`
		})
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		time.Sleep(10 * time.Minute)
		if c, err := m.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-kept" {
			t.Fatalf("%+v, %v", c, err)
		}
		time.Sleep(10 * time.Minute)
		for range 5 {
			_, err := m.Credential(t.Context(), deere, "ada")
			wantKind(t, err, recourse.KindTokenRevoked)
			time.Sleep(time.Minute)
		}
		if n := i.asked(); n != 2 {
			t.Errorf("the provider got %d requests", n)
		}
	})
}

// A hanging provider does not delay calls with a token valid for minutes; others fail within a time limit, and the
// provider gets no requests for a while.
func TestSlowProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		i.slow = func() time.Duration { return time.Hour }
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		time.Sleep(57 * time.Minute)
		began := time.Now()
		if _, err := m.Credential(t.Context(), deere, "ada"); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.Sleep(3 * time.Minute)
		began = time.Now()
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if _, err := m.Credential(t.Context(), deere, "ada"); err == nil || time.Since(began) > 21*time.Second {
					t.Errorf("%v after %s", err, time.Since(began))
				}
			})
		}
		calls.Wait()
		asked := i.asked()
		if _, err := m.Credential(t.Context(), deere, "ada"); err == nil || i.asked() != asked {
			t.Errorf("%v, and the provider immediately gets another request", err)
		}
	})
}

// Several concurrent first calls, in different processes, get one code and one link.
func TestOneInvitation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &devices{interval: 5, answers: []string{"authorization_pending"}}
		dir := t.TempDir()
		processes := []*connection.Manager{manager(t, open(t, dir), d), manager(t, open(t, dir), d)}
		for _, p := range []*connection.Provider{tractor, deere} {
			var mu sync.Mutex
			seen := map[connection.Invitation]int{}
			var calls sync.WaitGroup
			for n := range 16 {
				calls.Go(func() {
					ask := connection.LinkRequest{Provider: p, Owner: "ada", By: ada, Server: "farm"}
					if p == tractor {
						ask.Server = []string{"farm", "barn"}[n%2]
					}
					how, err := processes[n%2].Invite(t.Context(), ask)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					seen[how]++
				})
			}
			calls.Wait()
			if most := map[*connection.Provider]int{tractor: 1, deere: 2}[p]; len(seen) > most {
				t.Errorf("%s: %v", p.Name, seen)
			}
		}
		if all, err := processes[0].List(t.Context()); err != nil || len(all) != 1 || d.codes != 1 {
			t.Errorf("%+v, %v, %d codes", all, err, d.codes)
		}
	})
}
