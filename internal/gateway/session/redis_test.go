package session_test

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// replicaWith starts another gateway with Redis in front of the same server, and returns its URL.
func replicaWith(t *testing.T, server, url string) string {
	t.Helper()
	g, _ := gatewaytest.NewReaching(t, gateway.Reach{Dial: testkit.Dial, Redis: 20 * time.Second},
		keyed(sessionKey)+"redis: "+url+"\nservers: {farm: {"+server+"}}\n")
	return testkit.Serve(t, g) + "/farm/mcp"
}

// longClient returns a client whose initialize request is too long for a session id, and the client's name.
func longClient(t *testing.T, url string, header http.Header) (client *testkit.Client, name string) {
	t.Helper()
	text := make([]byte, 3<<10) // does not compress
	_, _ = rand.Read(text)
	name = hex.EncodeToString(text)
	client = testkit.NewClient(t, url, testkit.Legacy)
	client.Header = header
	a, err := client.Request(t.Context(), "initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}`)
	if err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	if client.Session = a.Header.Get("Mcp-Session-Id"); client.Session == "" || len(client.Session) > 600 {
		t.Fatalf("got a session id of %d characters", len(client.Session))
	}
	return client, name
}

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// onlyKey returns the only key in Redis.
func onlyKey(t *testing.T, r *redis.Client) string {
	t.Helper()
	keys := r.Keys(t.Context(), "*").Val()
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "recourse:session:") {
		t.Fatalf("got keys %v in Redis", keys)
	}
	return keys[0]
}

func wantLost(t *testing.T, client *testkit.Client) {
	t.Helper()
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	wantUnknownSession(t, a)
}

// A session whose initialize request is too long for its id continues at another replica, which reads the request from
// Redis.
func TestLongSessionAtAnotherReplica(t *testing.T) {
	t.Parallel()
	srv, url := testkit.NewServer(t), service.Redis(t)
	server := "url: '" + srv.URL() + "'"
	first, name := longClient(t, replicaWith(t, server, url), nil)
	first.MustEcho(t)
	srv.ForgetSessions()
	other := replicaWith(t, server, url)
	for range 2 {
		at(t, other, first).MustEcho(t)
	}
	first.MustEcho(t)
	if srv.Executions(testkit.Echo) != 4 {
		t.Errorf("got %d calls", srv.Executions(testkit.Echo))
	}
	r := redisClient(t, url)
	if value := r.Get(t.Context(), onlyKey(t, r)).Val(); len(value) < len(name) || strings.Contains(value, name) {
		t.Errorf("got %d characters in plain text in Redis", len(value))
	}
}

// Redis keeps the request for a day after the last use of the session. The gateway renews that now and then, not with each call.
func TestLongSessionIsKeptWhileItIsUsed(t *testing.T) {
	t.Parallel()
	srv, url := testkit.NewServer(t), service.Redis(t)
	server := "url: '" + srv.URL() + "'"
	first, _ := longClient(t, replicaWith(t, server, url), nil)
	r := redisClient(t, url)
	key := onlyKey(t, r)
	left := func() time.Duration { return r.TTL(t.Context(), key).Val() }
	if left() < 23*time.Hour || left() > 24*time.Hour {
		t.Errorf("got a TTL of %s", left())
	}
	r.Expire(t.Context(), key, time.Hour)
	first.MustEcho(t)
	second := at(t, replicaWith(t, server, url), first)
	if left() > time.Hour {
		t.Errorf("after a call within the minute: got a TTL of %s", left())
	}
	second.MustEcho(t)
	testkit.Eventually(t, "Redis keeps it for a day again", func() bool { return left() > 23*time.Hour })
}

// If the entry in Redis is lost, unreadable or of another session, the session is lost at other replicas. A replica that
// knows the session continues it.
func TestLongSessionLostInRedis(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, r *redis.Client, key, another string){
		"lost": func(t *testing.T, r *redis.Client, _, _ string) { t.Helper(); r.FlushDB(t.Context()) },
		"changed": func(t *testing.T, r *redis.Client, key, _ string) {
			t.Helper()
			r.SetRange(t.Context(), key, 100, "AAAAAAAA")
		},
		"another's": func(t *testing.T, r *redis.Client, key, another string) {
			t.Helper()
			r.Rename(t.Context(), another, key)
		},
		"another type": func(t *testing.T, r *redis.Client, key, _ string) {
			t.Helper()
			r.Del(t.Context(), key)
			r.LPush(t.Context(), key, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, url := testkit.NewServer(t), service.Redis(t)
			server := "url: '" + srv.URL() + "'"
			own := replicaWith(t, server, url)
			r := redisClient(t, url)
			first, _ := longClient(t, own, nil)
			key := onlyKey(t, r)
			_, _ = longClient(t, own, nil)
			another := ""
			for _, each := range r.Keys(t.Context(), "*").Val() {
				if each != key {
					another = each
				}
			}
			lose(t, r, key, another)
			wantLost(t, at(t, replicaWith(t, server, url), first))
			first.MustEcho(t)
			if srv.Attempts(testkit.Echo) != 1 {
				t.Error("a call of a lost session reached the server")
			}
		})
	}
}

// An ended session is deleted from Redis. Other callers do not find a session there.
func TestEndedLongSession(t *testing.T) {
	t.Parallel()
	srv, url := testkit.NewServer(t), service.Redis(t)
	server := "url: '" + srv.URL() + "', forward: [authorization]"
	client, _ := longClient(t, replicaWith(t, server, url), http.Header{"Authorization": {"Bearer ada"}})
	other := at(t, replicaWith(t, server, url), client)
	other.Header = http.Header{"Authorization": {"Bearer eve"}}
	wantLost(t, other)
	other.Header = client.Header
	if a, err := client.Delete(t.Context()); err != nil || a.Status >= http.StatusMultipleChoices {
		t.Fatalf("got %+v, %v", a, err)
	}
	wantLost(t, other)
	if keys := redisClient(t, url).Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("got keys %v in Redis, want none", keys)
	}
}

// wantLater checks that a client is told to repeat its call, and not to give its session up.
func wantLater(t *testing.T, client *testkit.Client) {
	t.Helper()
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(a.Body), `"kind":"unavailable"`) || !strings.Contains(string(a.Body), `"effect":"none"`) ||
		!strings.Contains(string(a.Body), `"retry":"same_call"`) || a.Status == http.StatusNotFound {
		t.Errorf("got HTTP %d %s", a.Status, a.Body)
	}
}

// While Redis is down, a session works only in the process that opened it. Once Redis answers again, so it does elsewhere, whether or not
// it was used meanwhile.
func TestLongSessionWithoutRedis(t *testing.T) {
	t.Parallel()
	srv, db := testkit.NewServer(t), service.NewRedis(t)
	server := "url: '" + srv.URL() + "'"
	own, other := replicaWith(t, server, db.URL), replicaWith(t, server, db.URL)
	shared, _ := longClient(t, own, nil)
	db.Stop()
	shared.MustEcho(t)
	wantLater(t, at(t, other, shared))
	local, _ := longClient(t, own, nil)
	ended, _ := longClient(t, own, nil)
	local.MustEcho(t)
	wantLater(t, at(t, other, local))
	for _, client := range []*testkit.Client{shared, ended} {
		if a, err := client.Delete(t.Context()); err != nil || a.Status >= http.StatusMultipleChoices {
			t.Errorf("got %+v, %v", a, err)
		}
	}
	db.Start(t)
	testkit.Eventually(t, "the session elsewhere", func() bool {
		a, err := at(t, other, local).Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		return err == nil && a.Succeeded()
	})
	onlyKey(t, redisClient(t, db.URL))
}

// A hung Redis delays only a few clients that open a session or bring one of another replica, and is logged once. When it answers
// again, so do those sessions.
func TestLongSessionsLeaveRedisAlone(t *testing.T) {
	t.Parallel()
	srv, db := testkit.NewServer(t), service.NewRedis(t)
	server := "url: '" + srv.URL() + "'"
	shared, _ := longClient(t, replicaWith(t, server, db.URL), nil)
	const patience, clients = 100 * time.Millisecond, 20
	g, log := gatewaytest.NewReaching(t, gateway.Reach{Dial: testkit.Dial, Redis: patience},
		keyed(sessionKey)+"redis: "+db.URL+"\nservers: {farm: {"+server+"}}\n")
	url := testkit.Serve(t, g) + gatewaytest.Path
	db.Pause(t)
	defer db.Resume(t)
	began := time.Now()
	for range clients {
		wantLater(t, at(t, url, shared))
		own, _ := longClient(t, url, nil)
		own.MustEcho(t)
	}
	const tripsAfter, restsFor = 3, 250 * time.Millisecond
	if asked, most := g.Limits().RedisFailures, tripsAfter+int64(time.Since(began)/restsFor); asked > most {
		t.Errorf("got %d requests to Redis, want at most %d", asked, most)
	}
	if n := strings.Count(log.String(), "Redis fails"); n != 1 {
		t.Errorf("got %d warnings of Redis:\n%s", n, log)
	}
	db.Resume(t)
	testkit.Eventually(t, "the session", func() bool {
		a, err := at(t, url, shared).Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		return err == nil && a.Succeeded()
	})
}
