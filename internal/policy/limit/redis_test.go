package limit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/late"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// patient is the timeout for a working Redis on a busy machine.
const patient = 20 * time.Second

func testWindow(calls int64, length time.Duration) *limit.Window {
	return &limit.Window{ID: "{test}:window", Name: "window", Calls: calls, Length: length}
}

// hammer makes concurrent calls of many callers through counters, each of which is a replica's, for at least that long,
// and returns the times of the calls that passed.
func hammer(tb testing.TB, counters []*limit.Redis, w *limit.Window, calls int, least time.Duration) (passed []int64) {
	tb.Helper()
	const callers = 16
	var (
		mu    sync.Mutex
		made  atomic.Int64
		group sync.WaitGroup
		began = time.Now()
	)
	for i := range callers {
		group.Go(func() {
			for made.Add(1) <= int64(calls) || time.Since(began) < least {
				charges := []limit.Charge{{Window: w}}
				ok, err := counters[i%len(counters)].Take(context.Background(), time.Now(), charges)
				if err != nil {
					tb.Error(err)
					return
				}
				if ok {
					mu.Lock()
					passed = append(passed, charges[0].At())
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	slices.Sort(passed)
	return passed
}

// Two replicas together never let more calls pass than the limit, in any period of the window's length.
func TestReplicasShareRedis(t *testing.T) {
	t.Parallel()
	checkReplicas(t, 5_000)
}

func TestLongReplicasShareRedis(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	checkReplicas(t, 100_000)
}

func checkReplicas(t *testing.T, calls int) {
	t.Helper()
	url := service.Redis(t)
	replicas := []*limit.Redis{open(t, url, patient), open(t, url, patient)}
	hour := testWindow(777, time.Hour)
	if passed := hammer(t, replicas, hour, calls, 0); len(passed) != 777 {
		t.Errorf("%d of %d calls passed, want 777", len(passed), calls)
	}
	moment := testWindow(100, 120*time.Millisecond)
	passed := hammer(t, replicas, moment, calls, 3*moment.Length)
	for i := range passed {
		if next := i + int(moment.Calls); next < len(passed) && passed[next]-passed[i] < moment.Length.Microseconds() {
			t.Fatalf("%d calls passed within %d us", moment.Calls+1, passed[next]-passed[i])
		}
	}
	if len(passed) < 200 {
		t.Errorf("%d calls passed: the window does not slide", len(passed))
	}
}

// The keys of a call are in one slot of a cluster, expire, and contain no names.
func TestRedisKeys(t *testing.T) {
	t.Parallel()
	url := service.Redis(t)
	r, admin := open(t, url, patient), client(t, url)
	key := limit.Key{Access: "team", Name: "ann@example.com", Org: "acme", Tool: "get_field"}
	charges := []limit.Charge{
		{Window: &limit.Window{ID: "{farm}:minute", Calls: 1, Length: time.Minute}, Key: key},
		{Window: &limit.Window{ID: "{farm}:month", Calls: 9, Length: 30 * 24 * time.Hour}, Key: key},
	}
	if ok, err := r.Take(t.Context(), time.Now(), charges); err != nil || !ok {
		t.Fatal(ok, err)
	}
	keys := admin.Keys(t.Context(), "*").Val()
	if len(keys) != 2 {
		t.Fatalf("got keys %q", keys)
	}
	for _, k := range keys {
		if ttl := admin.PTTL(t.Context(), k).Val(); ttl <= 0 || ttl > 31*24*time.Hour {
			t.Errorf("%s expires in %s", k, ttl)
		}
		if !strings.HasPrefix(k, "recourse:limit:{farm}:") || strings.Contains(k, "ann") || strings.Contains(k, "acme") {
			t.Errorf("got key %s", k)
		}
	}
	r.Give(t.Context(), charges)
	if keys := admin.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("giving back left %q", keys)
	}
}

// A Redis that has lost the script gets it again; one that has lost the counts starts again. Neither is a failure.
func TestRedisLosesItsMemory(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t)
	r, admin := open(t, server.URL, patient), client(t, server.URL)
	w := testWindow(1, time.Hour)
	take := func() bool {
		t.Helper()
		ok, err := r.Take(t.Context(), time.Now(), []limit.Charge{{Window: w}})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !take() || take() {
		t.Fatal("the limit was exceeded")
	}
	if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if take() {
		t.Error("the counts were lost with the script")
	}
	if err := admin.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if !take() || take() {
		t.Error("the limit was exceeded afterwards")
	}
}

func client(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// While Redis is down, hanging or full, calls are counted in memory or not at all, as configured; few calls wait for
// Redis, and it is tried until it answers.
func TestRedisFails(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		fail, mend func(t *testing.T, s *service.Process)
	}{
		"dead": {func(_ *testing.T, s *service.Process) { s.Stop() }, startAgain},
		"hung": {pause, resume},
		"full": {setMemory("1"), setMemory("0")},
	} {
		for _, opens := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", open", false: ", closed"}[opens], func(t *testing.T) {
				t.Parallel()
				const patience = 300 * time.Millisecond
				server := service.NewRedis(t)
				var log bytes.Buffer
				shared := limit.NewShared(open(t, server.URL, patience), limit.NewMemory(), !opens, slog.New(slog.NewTextHandler(&log, nil)))
				w := testWindow(5, time.Hour)
				take := func() (bool, error) { return shared.Take(t.Context(), time.Now(), []limit.Charge{{Window: w}}) }
				if ok, err := take(); err != nil || !ok {
					t.Fatal(ok, err)
				}
				way.fail(t, server)
				began, passed := time.Now(), 0
				for range 200 {
					ok, err := take()
					if opens == errors.Is(err, limit.ErrUncounted) {
						t.Fatalf("got error %v", err)
					}
					if ok {
						passed++
					}
				}
				if want := map[bool]int{true: 4, false: 0}[opens]; passed != want {
					t.Errorf("%d calls passed, want %d", passed, want)
				}
				between := shared.RestsFor() // two tries, after the first three
				if name == "hung" {
					between += patience
				}
				if n, took := shared.Failures(), time.Since(began); n < 3 || n > 4+int64(took/between) {
					t.Errorf("got %d failures of Redis in %s", n, took)
				}
				way.mend(t, server)
				testkit.Eventually(t, "another try of Redis", func() bool {
					_, _ = take() // it may fail as yet
					return strings.Contains(log.String(), "Redis works again")
				})
				if n := strings.Count(log.String(), "level=WARN"); n != 1 {
					t.Errorf("got log\n%s", &log)
				}
			})
		}
	}
}

func startAgain(t *testing.T, s *service.Process) { t.Helper(); s.Start(t) }
func pause(t *testing.T, s *service.Process)      { t.Helper(); s.Pause(t) }
func resume(t *testing.T, s *service.Process)     { t.Helper(); s.Resume(t) }

func setMemory(most string) func(t *testing.T, s *service.Process) {
	return func(t *testing.T, s *service.Process) {
		t.Helper()
		if err := client(t, s.URL).ConfigSet(t.Context(), "maxmemory", most).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A call that is cancelled while waiting for Redis does not count as a failure of Redis.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	shared := limit.NewShared(open(t, "redis://"+hanging.Addr().String(), 200*time.Millisecond), limit.NewMemory(), true, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		conn, err := hanging.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 1))
		cancel()
		_, _ = io.Copy(io.Discard, conn) // until the client closes it
	}()
	if _, err := shared.Take(ctx, time.Now(), []limit.Charge{{Window: testWindow(1, time.Hour)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := shared.Failures(); n != 0 {
		t.Errorf("%d failures", n)
	}
}

func TestOpenRedisRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://127.0.0.1", "redis://:s3cret@127.0.0.1:1/x", "redis://:s3cret%zz@127.0.0.1", "redis://a?addr=b&nope=1",
		"redis://:s3cret@a?master_name=", "redis://:s3cret@a?master_name=b&nope=1", "unix://:s3cret@a/b?master_name=c",
	} {
		if _, err := limit.OpenRedis(address, time.Second); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func BenchmarkRedis(b *testing.B) {
	r := open(b, service.Redis(b), patient)
	key := limit.Key{Access: "team", Name: "ann"}
	charges := []limit.Charge{
		{Window: &limit.Window{ID: "{farm}:minute", Calls: 1 << 40, Length: time.Minute}, Key: key},
		{Window: &limit.Window{ID: "{farm}:month", Calls: 1 << 40, Length: 30 * 24 * time.Hour}, Key: key},
	}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := r.Take(b.Context(), time.Now(), charges); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

// Calls leave their window late rather than early, even by a clock with a resolution of milliseconds.
func TestLastMoment(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, start func() *clocked) {
		t.Helper()
		c, w := start(), testWindow(1, time.Second)
		c.pass(900 * time.Microsecond)
		if !c.take(t, []limit.Charge{{Window: w}}) {
			t.Fatal("the first call was refused")
		}
		c.pass(time.Second - 500*time.Microsecond)
		if c.take(t, []limit.Charge{{Window: w}}) {
			t.Error("two calls passed within a second")
		}
	})
}

// The user and the database of the URL are used, and a password that is refused is not told.
func TestRedisURL(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t)
	admin := client(t, server.URL)
	user := []any{"ACL", "SETUSER", "ann", "on", ">s3cret", "~recourse:*", "+evalsha", "+eval", "+time", "+get", "+set", "+del", "+select"}
	if err := admin.Do(t.Context(), user...).Err(); err != nil {
		t.Fatal(err)
	}
	charges := []limit.Charge{{Window: testWindow(9, time.Hour)}}
	if ok, err := open(t, "redis://ann:s3cret@"+server.RedisAddress()+"/3", patient).Take(t.Context(), time.Now(), charges); err != nil || !ok {
		t.Error(ok, err)
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys in another database", n)
	}
	err := open(t, "redis://ann:s3cre@"+server.RedisAddress(), patient).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "s3cre") {
		t.Errorf("got %v", err)
	}
}

// A connection that takes longer to make than a call may take, here three round trips of 60 ms, is there for a later call.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t)
	if err := client(t, server.URL).ConfigSet(t.Context(), "requirepass", "s3cret").Err(); err != nil {
		t.Fatal(err)
	}
	proxy, err := late.New(server.RedisAddress(), 1, 60*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	r := open(t, "redis://:s3cret@"+proxy.Address+"/3", 100*time.Millisecond)
	charges := []limit.Charge{{Window: testWindow(9, time.Hour)}}
	testkit.Eventually(t, "a call that is counted", func() bool {
		ok, err := r.Take(t.Context(), time.Now(), charges)
		return ok && err == nil
	})
}
