package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/store"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		all, ctx := open(t, address).Connections(), t.Context()
		if c, err := all.Get(ctx, "deere", "ada"); c != nil || err != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		want := &store.Connection{
			Provider: "deere", Owner: "ada", State: "connected", Scopes: []string{"read", "write"}, Sealed: "s1", KeyID: "k1",
			Expires: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), By: "ada",
		}
		if err := all.Put(ctx, want); err != nil {
			t.Fatal(err)
		}
		read := func() *store.Connection {
			c, err := all.Get(ctx, "deere", "ada")
			if err != nil || c == nil {
				t.Fatalf("%+v, %v", c, err)
			}
			return c
		}
		got := read()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Connection{}, "Version", "Created", "Updated")); diff != "" || got.Version != 1 {
			t.Errorf("version %d, %s", got.Version, diff)
		}

		// Of many that want the lease, one gets it.
		var given atomic.Int64
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				switch err := all.Lease(ctx, got, "L", time.Now().Add(time.Minute)); {
				case err == nil:
					given.Add(1)
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if given.Load() != 1 || read().Lease != "L" || read().LeaseEnds.IsZero() {
			t.Errorf("%d leases, %+v", given.Load(), read())
		}
		for _, lease := range []string{"another", "L", "L"} { // only its holder can release it
			if err := all.Release(ctx, "deere", "ada", lease); err != nil {
				t.Error(err)
			}
			if held := read().Lease != ""; held != (lease == "another") {
				t.Errorf("after the release of %s: held %v", lease, held)
			}
		}

		got.Sealed = "s2"
		if err := all.Swap(ctx, got); err != nil {
			t.Fatal(err)
		}
		if err := all.Swap(ctx, got); !errors.Is(err, store.ErrConflict) { // the previous version
			t.Errorf("%v", err)
		}
		if err := all.Lease(ctx, got, "L", time.Now()); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%v", err)
		}
		if c := read(); c.Version != 2 || c.Sealed != "s2" {
			t.Errorf("%+v", c)
		}
		if err := all.Put(ctx, want); err != nil { // whatever is there
			t.Fatal(err)
		}
		if c := read(); c.Version != 3 || c.Sealed != "s1" || c.Created.After(c.Updated) {
			t.Errorf("%+v", c)
		}
		if list, err := all.List(ctx); err != nil || len(list) != 1 {
			t.Errorf("%d connections, %v", len(list), err)
		}
		if err := all.Delete(ctx, "deere", "ada"); err != nil {
			t.Error(err)
		}
		if err := all.Delete(ctx, "deere", "ada"); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%v", err)
		}
	})
}

// A link is used by the first sign-in that completes, and by none after its expiry.
func TestLinks(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		all, ctx := open(t, address).Connections(), t.Context()
		put := func(hash string, expires time.Time) {
			link := &store.Link{Hash: hash, Provider: "deere", Owner: "ada", Access: "team", Name: "k1", Server: "farm", Scopes: []string{"read"}, Expires: expires}
			if err := all.PutLink(ctx, link); err != nil {
				t.Fatal(err)
			}
		}
		put("h1", time.Now().Add(time.Minute))
		if err := all.BeginLink(ctx, "h1", "state-1", "sealed-1"); err != nil {
			t.Fatal(err)
		}
		if err := all.BeginLink(ctx, "h1", "state-2", "sealed-2"); err != nil { // starts again
			t.Fatal(err)
		}
		for _, state := range []string{"", "state-1", "made up"} {
			if l, err := all.EndLink(ctx, state); l != nil || err != nil {
				t.Errorf("%q: %+v, %v", state, l, err)
			}
		}
		var ended atomic.Int64
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				l, err := all.EndLink(ctx, "state-2")
				if err != nil {
					t.Error(err)
				}
				if l != nil {
					ended.Add(1)
					if l.Sealed != "sealed-2" || l.Owner != "ada" || len(l.Scopes) != 1 {
						t.Errorf("%+v", l)
					}
				}
			})
		}
		callers.Wait()
		if ended.Load() != 1 {
			t.Errorf("the link was used %d times", ended.Load())
		}
		if err := all.BeginLink(ctx, "h1", "state-3", ""); !errors.Is(err, store.ErrConflict) {
			t.Errorf("started with a used link: %v", err)
		}
		put("h2", time.Now().Add(-time.Second))
		if err := all.BeginLink(ctx, "h2", "state-4", ""); !errors.Is(err, store.ErrConflict) {
			t.Errorf("started with an expired link: %v", err)
		}
		put("h3", time.Now().Add(time.Minute)) // this removes the expired link
		if l, err := all.Link(ctx, "h2"); l != nil || err != nil {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// A state is used by the first request that brings it, and by none after its expiry. The number of states per link is
// limited.
func TestLogins(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		all, ctx := open(t, address).Connections(), t.Context()
		put := func(state, link string, expires time.Duration) {
			t.Helper()
			l := &store.Login{StateHash: state, Link: link, Sealed: "sealed " + state, Expires: time.Now().Add(expires)}
			if err := all.PutLogin(ctx, l); err != nil {
				t.Fatal(err)
			}
		}
		taken := func(state string) string {
			l, err := all.TakeLogin(ctx, state)
			if err != nil {
				t.Error(err)
			}
			if l == nil {
				return ""
			}
			return l.Link + " " + l.Sealed
		}
		put("late", "h1", time.Nanosecond)
		time.Sleep(time.Millisecond) // the store counts in microseconds
		if got := taken("late"); got != "" {
			t.Errorf("after its time: %s", got)
		}
		put("once", "h1", time.Minute)
		if err := all.PutLogin(ctx, &store.Login{StateHash: "once", Link: "h2", Expires: time.Now().Add(time.Minute)}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("used a state twice: %v", err)
		}
		var taking sync.WaitGroup
		var times atomic.Int64
		for range 8 {
			taking.Go(func() {
				if taken("once") == "h1 sealed once" {
					times.Add(1)
				}
			})
		}
		taking.Wait()
		if n := times.Load(); n != 1 {
			t.Errorf("the state was used %d times", n)
		}
		put("other", "h2", time.Minute)
		for i := range 25 {
			put(fmt.Sprint("many-", i), "h1", time.Minute+time.Duration(i)*time.Second)
		}
		if taken("many-4") != "" || taken("many-5") == "" || taken("many-24") == "" || taken("other") == "" {
			t.Error("want only the oldest sign-ins of the link to end")
		}
	})
}
