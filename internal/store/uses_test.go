package store_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// lastUsed returns the time of the only key's last use.
func lastUsed(t *testing.T, keys *store.Keys) time.Time {
	t.Helper()
	key, err := keys.Lookup(t.Context(), "k1")
	if err != nil {
		t.Fatal(err)
	}
	return key.LastUsed
}

// The last use of a key is written once a minute, and at the end. If writing fails, it is written later.
func TestUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "keys.db"))
		keys := s.Keys()
		if err := keys.New(t.Context(), &store.Key{ID: "k1", Name: "ci", Hash: "h1"}); err != nil {
			t.Fatal(err)
		}
		uses := keys.Uses(slog.New(slog.DiscardHandler))
		began := time.Now()
		for range 50 {
			uses.Note("k1")
			time.Sleep(time.Second)
		}
		if at := lastUsed(t, keys); !at.IsZero() {
			t.Errorf("written within the minute: %s", at)
		}
		time.Sleep(11 * time.Second)
		if at := lastUsed(t, keys).Sub(began); at != 49*time.Second {
			t.Errorf("the last use is %s after the first", at)
		}

		time.Sleep(time.Second)
		uses.Note("k1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		uses.Write(ctx) // fails
		last := time.Now()
		uses.Close(t.Context())
		if at := lastUsed(t, keys); !at.Equal(last) {
			t.Errorf("at the end: got last use %s, want %s", at, last)
		}
	})
}
