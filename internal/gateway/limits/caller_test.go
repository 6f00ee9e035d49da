package limits_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Behind a trusted proxy, each client has its own address. Addresses that the client invents are ignored.
func TestLimitBehindAProxy(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, fmt.Sprintf(
		"trusted_proxies: [127.0.0.0/8]\nservers: {farm: {url: '%s', limits: {minute: {calls: 2/1m, by: [address]}}}}\n", srv.URL()))
	c := testkit.NewClient(t, testkit.Serve(t, g)+gatewaytest.Path, testkit.Modern)
	from := func(addresses string) { c.Header = http.Header{"X-Forwarded-For": {addresses}} }
	from("192.0.2.1")
	pass(t, c, 2)
	_ = overLimit(t, c)
	from("198.51.100.7, 192.0.2.1")
	_ = overLimit(t, c)
	from("192.0.2.2")
	pass(t, c, 2)
	from("2001:db8::1")
	pass(t, c, 2)
	from("2001:db8::2") // in the same network
	_ = overLimit(t, c)
}

// Observers are told which limit refused a call.
func TestOutcomeNamesTheLimit(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, _ := gatewaytest.New(t, fmt.Sprintf("servers: {farm: {url: '%s', limits: {minute: {calls: 1/1m}}}}\n", srv.URL()))
		var names []string
		g.Observe(observed(func(o *observe.Outcome) { names = append(names, o.Limit) }))
		c := testkit.NewClient(t, testkit.ServeInMemory(t, g)+gatewaytest.Path, testkit.Modern)
		pass(t, c, 1)
		_ = overLimit(t, c)
		if fmt.Sprint(names) != "[ minute]" {
			t.Errorf("got limits %q", names)
		}
		if stats := g.Limits(); stats != (gateway.LimitStats{}) {
			t.Errorf("got %+v", stats)
		}
	})
}

type observed func(o *observe.Outcome)

func (f observed) Ended(o *observe.Outcome) { f(o) }

// A verified caller has its own limits wherever it calls from and whatever else it sends; an organisation shares one.
func TestLimitOfVerifiedCallers(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	var keys strings.Builder
	for _, who := range []string{"ann acme", "bob acme", "cy other", "dee ''", "eve ''"} {
		name, org, _ := strings.Cut(who, " ")
		fmt.Fprintf(&keys, "{name: %s, org: %s, hash: %q}, ", name, org, auth.HashOf(name+" key"))
	}
	g, _ := gatewaytest.New(t, fmt.Sprintf("access: {team: {keys: [%s]}}\nservers: {farm: {url: '%s', access: [team], "+
		"limits: {own: {calls: 2/1m}, minute: {calls: 3/1m, by: [org]}}}}\n", &keys, srv.URL()))
	c := testkit.NewClient(t, testkit.Serve(t, g)+gatewaytest.Path, testkit.Modern)
	as := func(name string) { c.Header = http.Header{"Authorization": {"Bearer " + name + " key"}} }
	as("ann")
	pass(t, c, 2)
	if e := overLimit(t, c); e.Quotas[0].Policy != "own" || e.Quotas[0].Partition != "ann" {
		t.Errorf("got %s", jsonOf(t, e))
	}
	as("bob")
	pass(t, c, 1)
	if e := overLimit(t, c); e.Quotas[0].Policy != "minute" || e.Quotas[0].Partition != "acme" || e.Quotas[1].Remaining != 1 {
		t.Errorf("got %s", jsonOf(t, e))
	}
	as("cy")
	pass(t, c, 2)
	for _, alone := range []string{"dee", "eve"} { // without an organisation, they share no limit
		as(alone)
		pass(t, c, 2)
	}
}

// Two callers with the same name, from two entries of access, have separate limits.
func TestLimitOfNamesakes(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, fmt.Sprintf("access: {one: {keys: [{name: ann, hash: '%s'}]}, two: {keys: [{name: ann, hash: '%s'}]}}\n"+
		"servers: {farm: {url: '%s', access: [one, two], limits: {minute: {calls: 1/1m}}}}\n", auth.HashOf("one"), auth.HashOf("two"), srv.URL()))
	c := testkit.NewClient(t, testkit.Serve(t, g)+gatewaytest.Path, testkit.Modern)
	for _, key := range []string{"one", "two"} {
		c.Header = http.Header{"Authorization": {"Bearer " + key}}
		pass(t, c, 1)
		_ = overLimit(t, c)
	}
}

// If two limits are reached, the refusal reports the one with the longer wait.
func TestLimitsReachedTogether(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		f := gatewaytest.Start(t, testkit.NewServer(t, testkit.InMemory()).URL(), gatewaytest.UntilDeadline, "limits: {minute: {calls: 2/1m}, hour: {calls: 2/1h}, second: {calls: 2/1s}}")
		c := f.Client(t, testkit.Modern)
		pass(t, c, 2)
		if e := overLimit(t, c); e.RetryAfter != time.Hour || e.Quotas[0].Policy != "hour" {
			t.Errorf("got %s", jsonOf(t, e))
		}
	})
}
