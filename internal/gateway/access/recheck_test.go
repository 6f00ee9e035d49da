package access_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// recheckEvery is how often the caller of a long call is verified again.
const recheckEvery = 10 * time.Second

// lapsing refuses every caller, after the time in took.
type lapsing struct {
	took  time.Duration
	asked []time.Time
}

func (l *lapsing) Again(*http.Request) *auth.Refusal {
	l.asked = append(l.asked, time.Now())
	time.Sleep(l.took)
	return &auth.Refusal{Record: recourse.Unauthenticated()}
}

func request(tb testing.TB) *http.Request {
	tb.Helper()
	return httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/", http.NoBody)
}

// A reused Recheck verifies the caller of each call at the call's own times, and not after its end.
func TestRecheckIsReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k access.Recheck
		by, began := &lapsing{}, time.Now()
		first, second := context.WithCancelCause(t.Context())
		defer second(nil)
		k.Start(request(t), began, by)
		k.Ends(second)
		time.Sleep(recheckEvery / 2)
		k.Stop()
		k.Start(request(t), time.Now(), by)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		k.Ends(cancel)
		<-ctx.Done()
		if took := time.Since(began); took != recheckEvery*3/2 || len(by.asked) != 1 || access.Lapsed(ctx) == nil || first.Err() != nil {
			t.Errorf("got the end after %s, asked %d times, cause %v", took, len(by.asked), context.Cause(ctx))
		}
		k.Stop()
		time.Sleep(time.Hour)
		if len(by.asked) != 1 {
			t.Errorf("got %d checks, want 1: none after the end", len(by.asked))
		}
	})
}

// A check that finishes after its call has ended does not end the next call.
func TestRecheckAnswersTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k access.Recheck
		by := &lapsing{took: 5 * time.Second}
		k.Start(request(t), time.Now(), by)
		k.Ends(func(error) { t.Error("a call that has ended was ended again") })
		time.Sleep(recheckEvery + time.Second)
		k.Stop()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		k.Start(request(t), time.Now(), by)
		k.Ends(cancel)
		time.Sleep(by.took)
		if access.Lapsed(ctx) != nil {
			t.Error("the next call was ended")
		}
		k.Stop()
		time.Sleep(time.Hour)
	})
}

// BenchmarkRecheck measures a Recheck of a call that ends before the first check.
func BenchmarkRecheck(b *testing.B) {
	var k access.Recheck
	r, by := request(b), &lapsing{}
	_, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	since := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		k.Start(r, since, by)
		k.Ends(cancel)
		k.Stop()
	}
}
