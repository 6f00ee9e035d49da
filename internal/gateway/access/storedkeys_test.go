package access_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// keyStore is a store with one key.
type keyStore struct {
	mu      sync.Mutex
	key     auth.Key
	err     error
	lookups int
	noted   []string
}

func (s *keyStore) Note(id string) { s.update(func() { s.noted = append(s.noted, id) }) }

func (s *keyStore) Key(_ context.Context, id string) (*auth.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	if s.err != nil || id != s.key.ID {
		return nil, s.err
	}
	key := s.key
	return &key, nil
}

func (s *keyStore) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// storedDoor starts a gateway with a keyStore.
func storedDoor(tb testing.TB, entry ...string) (d *door, store *keyStore, key string) {
	tb.Helper()
	key, id := auth.NewKey()
	store = &keyStore{key: auth.Key{ID: id, Name: "ci", Hash: auth.HashOf(key)}}
	srv := testkit.NewServer(tb, testkit.InMemory())
	entry = append(entry, "url: '"+srv.URL()+"'", "access: [team]")
	g, log := gatewaytest.NewReaching(tb, gateway.Reach{Keys: store}, "store: 'sqlite:keys.db'\naccess: {team: {stored_keys: true}}\n"+
		"servers: {farm: {"+strings.Join(entry, ", ")+"}}\n"+
		"endpoints: {all: {access: [team], servers: [{name: farm}]}}\n")
	return &door{&gatewaytest.Front{URL: gatewaytest.Open(tb, g, true) + gatewaytest.Path, Gateway: g, Log: log}, srv}, store, key
}

// A stored key is looked up from time to time. A revocation is noticed within seconds. If the store is down, the caller is
// not blamed.
func TestStoredKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, store, key := storedDoor(t)
		with := func(text string) *testkit.Answer {
			return echoed(t, d.As(t, testkit.Modern, "Authorization", "Bearer "+text))
		}
		for range 20 {
			if a := with(key); !wasCalled(a) {
				t.Fatalf("got HTTP %d %s", a.Status, a.Body)
			}
		}
		if len(store.noted) != 20 || store.noted[0] != store.key.ID {
			t.Errorf("20 calls: got uses of the keys %s", store.noted)
		}
		if store.lookups != 1 {
			t.Errorf("20 calls: got %d lookups", store.lookups)
		}
		other, _ := auth.NewKey()
		for _, wrong := range []string{other, key[:len(key)-1] + "x", key + "x"} {
			if a := with(wrong); a.Status != http.StatusUnauthorized {
				t.Errorf("a wrong key: got HTTP %d %s", a.Status, a.Body)
			}
		}
		if len(store.noted) != 20 {
			t.Errorf("a wrong key: got uses of the keys %s", store.noted[20:])
		}
		store.update(func() { store.key.Revoked = time.Now() })
		time.Sleep(3 * time.Second)
		if a := with(key); a.Status != http.StatusUnauthorized {
			t.Errorf("a key that was just revoked: got HTTP %d %s", a.Status, a.Body)
		}
		store.update(func() { store.key.Revoked = time.Time{} })
		time.Sleep(3 * time.Second)
		with(key)
		store.update(func() { store.err = errors.New("the disk is full") })
		time.Sleep(30 * time.Second)
		if a := with(key); !wasCalled(a) {
			t.Errorf("while the store is down for a short time: got HTTP %d %s", a.Status, a.Body)
		}
		time.Sleep(time.Minute)
		if a := with(key); a.Status != http.StatusServiceUnavailable || gatewaytest.Record(t, a).Kind != recourse.KindUnavailable {
			t.Errorf("while the store is down: got HTTP %d %s", a.Status, a.Body)
		}
		store.update(func() { store.err, store.key.Revoked = nil, time.Now() })
		time.Sleep(3 * time.Second)
		if a := with(key); a.Status != http.StatusUnauthorized || gatewaytest.Record(t, a).Kind != recourse.KindTokenRevoked {
			t.Errorf("a key that was revoked: got HTTP %d %s", a.Status, a.Body)
		}
	})
}
