package limit_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// watched returns a primary with a replica that has what it has, two Sentinels, and the URL for them.
func watched(t *testing.T) (primary, replica *service.Process, sentinels []*service.Process, url string) {
	t.Helper()
	primary = service.NewRedis(t, "--repl-diskless-sync-delay", "0")
	replica = service.NewReplica(t, primary)
	if !testkit.Until(func() bool { return strings.Contains(client(t, primary.URL).Info(t.Context()).Val(), "state=online") }) {
		t.Fatal("the replica does not follow")
	}
	sentinels = []*service.Process{service.NewSentinel(t, "counts", primary), service.NewSentinel(t, "counts", primary)}
	other := sentinels[1].RedisAddress()
	return primary, replica, sentinels, sentinels[0].URL + "?addr=" + other + "&master_name=counts"
}

// When the primary is gone, counting goes on from where it was at the replica that takes its place.
func TestLongSentinelReplacesPrimary(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	primary, replica, _, url := watched(t)
	shared := limit.NewShared(open(t, url, patient), limit.NewMemory(), false, slog.New(slog.DiscardHandler))
	w := testWindow(3, time.Hour)
	take := func() bool {
		t.Helper()
		ok, err := shared.Take(t.Context(), time.Now(), []limit.Charge{{Window: w}})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !take() {
		t.Fatal("the first call was refused")
	}
	held := client(t, replica.URL)
	testkit.Eventually(t, "the count at the replica", func() bool { return held.DBSize(t.Context()).Val() == 1 })
	primary.Stop()
	testkit.Eventually(t, "the replica in the primary's place", func() bool {
		return strings.Contains(held.Info(t.Context(), "replication").Val(), "role:master") && shared.Check(t.Context()) == nil
	})
	for left := 2; left >= 0; left-- {
		if take() != (left > 0) {
			t.Errorf("with %d calls left, got the opposite", left)
		}
	}
}

// A Sentinel that hangs is given up for one that answers.
func TestSentinelHangs(t *testing.T) {
	t.Parallel()
	primary, _, sentinels, url := watched(t)
	r, admin := open(t, url, 100*time.Millisecond), client(t, primary.URL)
	for _, sentinel := range sentinels { // one of them is what it asks
		testkit.Eventually(t, "a connection", func() bool { return r.Check(t.Context()) == nil })
		sentinel.Pause(t)
		if err := admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "another connection", func() bool { return r.Check(t.Context()) == nil })
		sentinel.Resume(t)
	}
}

func TestUnknownPrimary(t *testing.T) {
	t.Parallel()
	sentinel := service.NewSentinel(t, "counts", service.NewRedis(t))
	r := open(t, sentinel.URL+"?master_name=count", patient)
	const want = `no Sentinel knows a primary that is called "count"`
	if err := r.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	shared := limit.NewShared(r, limit.NewMemory(), false, slog.New(slog.DiscardHandler))
	if _, err := shared.Value(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v for a value", err)
	}
}
