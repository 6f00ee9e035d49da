package door_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/call/door"
)

func TestClient(t *testing.T) {
	t.Parallel()
	proxies := door.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	h := func(name string, values ...string) http.Header { return http.Header{name: values} }
	for name, test := range map[string]struct {
		peer   string
		header http.Header
		want   string
	}{
		"no proxy":                             {"192.0.2.7:99", nil, "192.0.2.7"},
		"a client that claims an address":      {"192.0.2.7:99", h("X-Forwarded-For", "198.51.100.1"), "192.0.2.7"},
		"through a proxy":                      {"10.0.0.1:99", h("X-Forwarded-For", "198.51.100.1"), "198.51.100.1"},
		"through two proxies":                  {"10.0.0.1:99", h("X-Forwarded-For", "198.51.100.1, 10.9.9.9"), "198.51.100.1"},
		"in two headers":                       {"10.0.0.1:99", h("X-Forwarded-For", "203.0.113.5", "198.51.100.1, 10.9.9.9"), "198.51.100.1"},
		"an address that the client has added": {"10.0.0.1:99", h("X-Forwarded-For", "127.0.0.1, 198.51.100.1"), "198.51.100.1"},
		"with a port":                          {"10.0.0.1:99", h("X-Forwarded-For", "198.51.100.1:4711"), "198.51.100.1"},
		"of IPv6":                              {"10.0.0.1:99", h("X-Forwarded-For", "[2001:db8::1]:4711"), "2001:db8::1"},
		"of IPv4 in IPv6":                      {"[::ffff:10.0.0.1]:99", h("X-Forwarded-For", "::ffff:198.51.100.1"), "198.51.100.1"},
		"only proxies":                         {"10.0.0.1:99", h("X-Forwarded-For", "10.0.0.2"), "10.0.0.2"},
		"a proxy without the header":           {"10.0.0.1:99", nil, "10.0.0.1"},
		"nonsense":                             {"10.0.0.1:99", h("X-Forwarded-For", "nonsense"), "10.0.0.1"},
		"nonsense behind a proxy":              {"10.0.0.1:99", h("X-Forwarded-For", "198.51.100.1, unknown, 10.0.0.2"), "10.0.0.2"},
		"nothing in the header":                {"10.0.0.1:99", h("X-Forwarded-For", ""), "10.0.0.1"},
		"Forwarded":                            {"10.0.0.1:99", h("Forwarded", `for=203.0.113.5;proto=https, For="[2001:db8::1]:80";by=10.0.0.1`), "2001:db8::1"},
		"Forwarded, obfuscated":                {"10.0.0.1:99", h("Forwarded", "for=_hidden"), "10.0.0.1"},
		"both: X-Forwarded-For counts":         {"10.0.0.1:99", http.Header{"Forwarded": {"for=203.0.113.5"}, "X-Forwarded-For": {"198.51.100.1"}}, "198.51.100.1"},
		"a socket without an address":          {"@", nil, ""},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: test.header}
		want, _ := netip.ParseAddr(test.want)
		if got := proxies.Client(r); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// However many addresses fail, the memory is limited, and one that keeps failing is still refused.
func TestLockoutIsBounded(t *testing.T) {
	t.Parallel()
	lockout, now := door.NewLockout(2, time.Minute), time.Now()
	address := netip.MustParseAddr("10.0.0.0")
	for range 30_000 {
		address = address.Next()
		lockout.Failed(address, now)
	}
	if lockout.Failed(address, now) != true || lockout.Wait(address, now.Add(10*time.Second)) != 50*time.Second {
		t.Errorf("got wait %v", lockout.Wait(address, now))
	}
	if door.LockoutAddresses(lockout) > 10_000 {
		t.Errorf("got %d addresses", door.LockoutAddresses(lockout))
	}
	ours, theirs := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:0:0:ffff::1")
	lockout.Failed(ours, now)
	lockout.Failed(theirs, now)
	if lockout.Wait(ours, now) == 0 || lockout.Wait(netip.MustParseAddr("2001:db8:0:1::1"), now) != 0 {
		t.Error("IPv6 addresses are not counted by network")
	}
}

// The latest failures count: the window slides with each of them.
func TestLockoutSlides(t *testing.T) {
	t.Parallel()
	lockout, now := door.NewLockout(3, time.Minute), time.Now()
	address := netip.MustParseAddr("192.0.2.1")
	lockout.Failed(address, now)
	for range 3 { // each time the oldest failure leaves the window
		now = now.Add(40 * time.Second)
		if lockout.Failed(address, now) || lockout.Wait(address, now) != 0 {
			t.Fatal("locked out after two failures within a minute")
		}
	}
	now = now.Add(10 * time.Second)
	if !lockout.Failed(address, now) || lockout.Wait(address, now) != 10*time.Second {
		t.Errorf("after three failures within a minute: got wait %s", lockout.Wait(address, now))
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.9.9.9:80": true, "::1": true, "[::1]": true, "[::1]:80": true,
		"::ffff:127.0.0.1": true,
		"":                 false, ":80": false, "0.0.0.0:80": false, "localhost.example.com": false, "192.0.2.1:80": false, "[::]:80": false,
	} {
		if got := door.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
