package recovery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// An api answers requests by a function, and records when they came.
type api struct {
	began  time.Time
	answer func(after time.Duration) (status int, header http.Header, err error)

	mu    sync.Mutex
	times []time.Duration
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	after := time.Since(a.began)
	a.mu.Lock()
	a.times = append(a.times, after)
	a.mu.Unlock()
	status, header, err := a.answer(after)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("said")), Request: r}, nil
}

// get makes a request with its own client.
func (a *api) get(ctx context.Context, s *recovery.Shared, options ...recovery.Option) (status int, body string, err error) {
	options = append([]recovery.Option{recovery.WithShared(s)}, options...)
	client := http.Client{Transport: recovery.NewHTTPTransport(a, "The API", contract.MustBuiltin("recourse"), options...)}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example/things", http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(said), err
}

// After a 429 nobody sends a request too early; then they are sent one at a time.
func TestHTTPLimitIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &api{began: time.Now(), answer: func(after time.Duration) (int, http.Header, error) {
			if after == 0 {
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"10"}}, nil
			}
			return http.StatusOK, nil, nil
		}}
		shared := recovery.NewShared()
		var all sync.WaitGroup
		for i := range 20 {
			if i == 1 {
				time.Sleep(time.Second)
			}
			all.Go(func() {
				if status, _, err := a.get(t.Context(), shared); err != nil || status != http.StatusOK {
					t.Errorf("HTTP %d, %v", status, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		later := slices.Sorted(slices.Values(a.times[1:]))
		if len(later) != 20 || later[0] < 10*time.Second || later[19]-later[0] < time.Second {
			t.Errorf("repeated after %v", later)
		}
	})
}

// Requests wait for an API that is down, as calls do; those that run out of time get the last answer.
func TestHTTPOutage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() (int, http.Header, error){
		"refused":     func() (int, http.Header, error) { return 0, nil, errWay },
		"unavailable": func() (int, http.Header, error) { return http.StatusServiceUnavailable, nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const length = 3 * time.Minute
				a := &api{began: time.Now(), answer: func(after time.Duration) (int, http.Header, error) {
					if after < length {
						return answer()
					}
					return http.StatusOK, nil, nil
				}}
				shared := recovery.NewShared()
				var all sync.WaitGroup
				came := 0
				for ; time.Since(a.began) < length; came++ {
					ends := time.Since(a.began) + time.Minute
					all.Go(func() {
						status, body, err := a.get(t.Context(), shared, recovery.WithTimeout(time.Minute))
						switch well := err == nil && status == http.StatusOK; {
						case well && ends < length, !well && ends >= length+20*time.Second:
							t.Errorf("a request with deadline %s: HTTP %d, %v", ends, status, err)
						case !well && err == nil && body != "said":
							t.Errorf("got answer %q", body)
						}
					})
					time.Sleep(time.Second)
				}
				all.Wait()
				if n := len(a.times); n > came*12/10 {
					t.Errorf("%d requests were sent for %d", n, came)
				}
			})
		})
	}
}

// A request that fails, and then has no time to wait for its turn, gets the answer it had.
func TestHTTPKeepsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &api{began: time.Now(), answer: func(after time.Duration) (int, http.Header, error) {
			if after > 0 {
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"60"}}, nil
			}
			return http.StatusServiceUnavailable, nil, nil
		}}
		shared := recovery.NewShared()
		var all sync.WaitGroup
		all.Go(func() {
			status, body, err := a.get(t.Context(), shared, recovery.WithTimeout(10*time.Second))
			if err != nil || status != http.StatusServiceUnavailable || body != "said" {
				t.Errorf("HTTP %d %q, %v", status, body, err)
			}
		})
		time.Sleep(500 * time.Millisecond)
		_, _, _ = a.get(t.Context(), shared, recovery.WithTimeout(time.Second)) // learns the limit
		all.Wait()
		if len(a.times) != 2 {
			t.Errorf("requests after %v", a.times)
		}
	})
}

// Cancelling a request ends its wait.
func TestHTTPCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &api{began: time.Now(), answer: func(time.Duration) (int, http.Header, error) { return 0, nil, errWay }}
		shared := recovery.NewShared()
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(15*time.Second, cancel)
			began := time.Now()
			if _, _, err := a.get(ctx, shared); err == nil || !errors.Is(err, errWay) && !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
		}
	})
}
