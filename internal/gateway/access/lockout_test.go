package access_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// fail sends a wrong key several times, and returns the last answer.
func fail(tb testing.TB, d *door, times int, header ...string) *testkit.Answer {
	tb.Helper()
	var a *testkit.Answer
	for range times {
		a = echoed(tb, d.As(tb, testkit.Modern, append(header, "Authorization", "Bearer bad")...))
	}
	return a
}

// After 25 failures within 15 minutes an address is refused, even with a valid key, until the first failure is 15 minutes ago.
// Others are let in.
func TestLockout(t *testing.T) {
	t.Parallel()
	for _, name := range contract.Builtin().Names() {
		testkit.Virtual(t, name, func(t *testing.T) {
			d := openDoor(t, "trusted_proxies: [127.0.0.1]\naccess: {team: {keys: ["+keyEntry("good")+"]}}", "access: [team]", "contract: "+name)
			from := func(address, key string) *testkit.Answer {
				return echoed(t, d.As(t, testkit.Modern, "X-Forwarded-For", address, "Authorization", "Bearer "+key))
			}
			for range 30 { // requests without credentials do not count: clients begin with one
				echoed(t, d.As(t, testkit.Modern, "X-Forwarded-For", "192.0.2.1"))
			}
			began := time.Now()
			for i := range 25 {
				if a := from("192.0.2.1", "bad"); a.Status != http.StatusUnauthorized {
					t.Fatalf("failure %d: got HTTP %d %s", i, a.Status, a.Body)
				}
				time.Sleep(time.Second)
			}
			for _, key := range []string{"bad", "good"} {
				a := from("192.0.2.1", key)
				wait := 15*time.Minute - time.Since(began)
				if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != strconv.Itoa(int(wait.Seconds())) ||
					!strings.Contains(string(a.Body), map[bool]string{true: "Try again in 875 seconds.", false: "Try again in 14 min 35 s."}[name == "fieldmcp"]) {
					t.Errorf("%s: got HTTP %d %s: %s", key, a.Status, a.Header, a.Body)
				}
				if name == "fieldmcp" { // the contract has its own form for this
					continue
				}
				if e := gatewaytest.Record(t, a); e.Kind != recourse.KindRateLimited || e.RetryAfter != wait || e.Origin != recourse.OriginGateway {
					t.Errorf("%s: got %s, %s", key, e.Kind, e.RetryAfter)
				}
			}
			if a := from("192.0.2.2", "good"); !wasCalled(a) {
				t.Errorf("another address: got HTTP %d %s", a.Status, a.Body)
			}
			if n := strings.Count(d.Log.String(), "an address is refused"); n != 1 {
				t.Errorf("got %d lockouts in the log: %s", n, d.Log)
			}
			time.Sleep(15*time.Minute - time.Since(began))
			if a := from("192.0.2.1", "good"); !wasCalled(a) {
				t.Errorf("afterwards: got HTTP %d %s", a.Status, a.Body)
			}
		})
	}
}

// Behind a trusted proxy, the client's address counts; of IPv6, the /64 network. Without one, headers are ignored.
func TestLockoutAddresses(t *testing.T) {
	t.Parallel()
	const two = "lockout: {failures: 2, within: 1m}\n"
	for name, test := range map[string]struct {
		access, failed, then string
		out                  bool
	}{
		"another client of the proxy":              {"trusted_proxies: [127.0.0.0/8]\n", "192.0.2.1", "192.0.2.2", false},
		"an invented address before":               {"trusted_proxies: [127.0.0.0/8]\n", "192.0.2.1", "192.0.2.9, 192.0.2.1", true},
		"another address in the same IPv6 network": {"trusted_proxies: [127.0.0.0/8]\n", "2001:db8::1", "2001:db8::ffff:1", true},
		"another IPv6 network":                     {"trusted_proxies: [127.0.0.0/8]\n", "2001:db8::1", "2001:db8:0:1::1", false},
		"no trusted proxy":                         {"", "192.0.2.1", "192.0.2.2", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, two+test.access+"access: {team: {keys: ["+keyEntry("good")+"]}}", "access: [team]")
			fail(t, d, 2, "X-Forwarded-For", test.failed)
			a := echoed(t, d.As(t, testkit.Modern, "X-Forwarded-For", test.then, "Authorization", "Bearer good"))
			if test.out != (a.Status == http.StatusTooManyRequests) || test.out == wasCalled(a) {
				t.Errorf("got HTTP %d %s", a.Status, a.Body)
			}
		})
	}
	t.Run("switched off", func(t *testing.T) {
		t.Parallel()
		d := openDoor(t, "lockout: {failures: 0}\naccess: {team: {keys: ["+keyEntry("good")+"]}}", "access: [team]")
		if a := fail(t, d, 40); a.Status != http.StatusUnauthorized {
			t.Errorf("got HTTP %d %s", a.Status, a.Body)
		}
	})
}

// A reload changes who may call, and keeps the counted failures.
func TestReloadOfAccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		config := func(access, entry string) string {
			return "lockout: {failures: 3, within: 1m}\n" + access + "\nservers: {farm: {url: '" + srv.URL() + "'" + entry + "}}\n"
		}
		one := config("access: {team: {keys: ["+keyEntry("good")+"]}}", ", access: [team]")
		other := config("access: {team: {keys: ["+keyEntry("better")+"]}}", ", access: [team]")
		d := &door{gatewaytest.StartAt(t, gatewaytest.Path, one), srv}
		with := func(key string) *testkit.Answer {
			return echoed(t, d.As(t, testkit.Modern, "Authorization", "Bearer "+key))
		}
		session := d.As(t, testkit.Legacy, "Authorization", "Bearer good")
		if !wasCalled(with("good")) || !wasCalled(echoed(t, session)) {
			t.Fatal("the key is refused")
		}
		fail(t, d, 1)
		gatewaytest.Reload(t, d.Gateway, other)
		if a := with("good"); a.Status != http.StatusUnauthorized { // the second failure
			t.Errorf("a key that is gone: got HTTP %d %s", a.Status, a.Body)
		}
		if a := with("better"); !wasCalled(a) {
			t.Errorf("a new key: got HTTP %d %s", a.Status, a.Body)
		}
		session.Header.Set("Authorization", "Bearer better") // of the same caller
		if a := echoed(t, session); !wasCalled(a) {
			t.Errorf("the session of before: got HTTP %d %s", a.Status, a.Body)
		}
		gatewaytest.Reload(t, d.Gateway, one)
		if a := with("better"); a.Status != http.StatusUnauthorized { // the third
			t.Errorf("a key that is gone: got HTTP %d %s", a.Status, a.Body)
		}
		if a := with("good"); a.Status != http.StatusTooManyRequests {
			t.Errorf("after three failures: got HTTP %d %s", a.Status, a.Body)
		}
		gatewaytest.Reload(t, d.Gateway, config("", ""))
		if a := echoed(t, d.As(t, testkit.Modern)); !wasCalled(a) {
			t.Errorf("without access: got HTTP %d %s", a.Status, a.Body)
		}
	})
}
