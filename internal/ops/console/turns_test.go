package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/ops/console"
)

// stuck lists accounts from a store that does not answer until released.
type stuck struct {
	console.Accounts

	released chan struct{}
}

func (s *stuck) List(context.Context) ([]connection.Account, error) {
	<-s.released
	return nil, nil
}

// streamed records an answer, and accepts a write deadline.
type streamed struct{ *httptest.ResponseRecorder }

func (streamed) SetWriteDeadline(time.Time) error { return nil }

// Two pages read the store at a time. A third waits, but not for long.
func TestReadsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	last, err := w.store.Journal().Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		slow := &stuck{w.accounts, make(chan struct{})}
		sources := w.sources
		sources.Accounts = slow
		handler := console.New(sources, slog.New(slog.DiscardHandler)).Handler()
		ask := func(path string) *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			return answer
		}
		var reading sync.WaitGroup
		for range 2 {
			reading.Go(func() { ask("/connections") })
		}
		synctest.Wait()
		for _, path := range []string{
			"/failures", "/calls/" + w.last, "/servers/farm", "/contracts", "/contracts/recourse", "/contracts/fieldmcp/codes/RATE_LIMIT_ORG",
			"/connections", "/actions", "/connections/disconnect?provider=deere&owner=bob", "/search?q=req-1",
		} {
			began := time.Now()
			answer := ask(path)
			if took := time.Since(began); answer.Code != http.StatusGatewayTimeout || took != 5*time.Second ||
				!strings.Contains(answer.Body.String(), "did not answer in time") {
				t.Errorf("%s: HTTP %d after %s", path, answer.Code, took)
			}
		}
		live := streamed{httptest.NewRecorder()}
		ctx, end := context.WithTimeout(t.Context(), 6500*time.Millisecond)
		defer end()
		handler.ServeHTTP(live, httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("/failures/live?seen=", last), http.NoBody))
		if !strings.Contains(live.Body.String(), "The store cannot be read") {
			t.Errorf("live updates do not wait for their turn: %s", live.Body)
		}
		close(slow.released)
		reading.Wait()
		if answer := ask("/connections"); answer.Code != http.StatusOK {
			t.Errorf("after the store's recovery: HTTP %d", answer.Code)
		}
	})
}
