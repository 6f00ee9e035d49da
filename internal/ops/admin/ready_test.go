package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/ops/admin"
)

// A part that fails is named, and the gateway is still ready. Parts are not checked at every request, and with a
// timeout.
func TestReadinessNamesTroubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := admin.New("v1.2.3", admin.Sources{})
		asked := 0
		a.Watch("store", func(context.Context) error {
			asked++
			return errors.New("dial postgres://recourse:hunter2-s3cr3t@db.example.com/recourse: connection refused")
		})
		a.Watch("redis", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		a.Watch("fine", func(context.Context) error { return nil })
		began := time.Now()
		for range 10 {
			status, text := get(t, a, "/readyz")
			if status != http.StatusOK || !strings.HasPrefix(text, "ready\nstore: dial ") || !strings.Contains(text, "\nredis: context deadline exceeded\n") ||
				strings.Contains(text, "fine") || strings.Contains(text, "hunter2") {
				t.Fatalf("%d %s", status, text)
			}
		}
		if took := time.Since(began); asked != 1 || took > time.Second {
			t.Errorf("checked %d times in %s", asked, took)
		}
		time.Sleep(2 * time.Second)
		get(t, a, "/readyz")
		if asked != 2 {
			t.Errorf("checked %d times", asked)
		}
		a.Drain()
		if status, text := get(t, a, "/readyz"); status != http.StatusServiceUnavailable || text != "draining\n" {
			t.Errorf("%d %s", status, text)
		}
	})
}

// While a part fails without which requests are refused, the gateway is not ready.
func TestReadinessNeedsWhatRequestsNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := admin.New("v1.2.3", admin.Sources{})
		var down error
		a.Watch("redis", func(context.Context) error { return down })
		a.Watch("store", func(context.Context) error { // the gateway works without it
			if down != nil {
				return errors.New("gone")
			}
			return nil
		})
		for range 2 {
			down = nil
			if status, text := get(t, a, "/readyz"); status != http.StatusOK || text != "ready\n" {
				t.Errorf("%d %s", status, text)
			}
			time.Sleep(2 * time.Second)
			down = fmt.Errorf("%w: refused", admin.ErrNotReady)
			status, text := get(t, a, "/readyz")
			if status != http.StatusServiceUnavailable || !strings.Contains(text, "\nredis: requests are refused meanwhile: refused\n") {
				t.Errorf("%d %s", status, text)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// Profiles are served only if they are configured, and the command line never.
func TestProfiles(t *testing.T) {
	t.Parallel()
	a := admin.New("v1.2.3", admin.Sources{})
	if status, _ := get(t, a, "/debug/pprof/heap"); status != http.StatusNotFound {
		t.Errorf("without the setting: status %d", status)
	}
	a.Profile()
	for path, want := range map[string]int{"heap": http.StatusOK, "goroutine?debug=1": http.StatusOK, "": http.StatusOK, "cmdline": http.StatusNotFound} {
		if status, _ := get(t, a, "/debug/pprof/"+path); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// A program that accepts JSON gets JSON.
func TestReadinessInJSON(t *testing.T) {
	t.Parallel()
	a := admin.New("v1.2.3", admin.Sources{})
	ask := func() (int, string, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
		r.Header.Set("Accept", "application/json")
		a.Handler().ServeHTTP(w, r)
		return w.Code, w.Header().Get("Content-Type"), w.Body.String()
	}
	if status, kind, text := ask(); status != http.StatusOK || kind != "application/json" || text != `{"ready":true}`+"\n" {
		t.Errorf("%d %s %s", status, kind, text)
	}
	a = admin.New("v1.2.3", admin.Sources{})
	a.Watch("store", func(context.Context) error { return errors.New("gone") })
	if status, _, text := ask(); status != http.StatusOK || text != `{"ready":true,"troubles":[{"part":"store","cause":"gone"}]}`+"\n" {
		t.Errorf("%d %s", status, text)
	}
	a.Drain()
	if status, _, text := ask(); status != http.StatusServiceUnavailable || text != `{"ready":false,"reason":"draining"}`+"\n" {
		t.Errorf("%d %s", status, text)
	}
}
