package access_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A door is a gateway with access control in front of one server, called farm.
type door struct {
	*gatewaytest.Front

	server *testkit.Server
}

// openDoor starts a gateway. access has keys of the configuration's top level, entry has keys of the server's entry.
func openDoor(tb testing.TB, access string, entry ...string) *door {
	tb.Helper()
	srv := testkit.NewServer(tb, testkit.InMemory())
	lines := append(slices.Clone(entry), "url: "+srv.URL())
	return &door{gatewaytest.StartAt(tb, gatewaytest.Path, access+"\nservers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n"), srv}
}

// echoed calls a tool that reads, in a session of its own in the legacy era. It returns the answer to the call or, if
// initialize is refused, to that.
func echoed(tb testing.TB, c *testkit.Client) *testkit.Answer {
	tb.Helper()
	if c.Era == testkit.Legacy && c.Session == "" {
		a, err := c.Initialize(tb.Context())
		if a != nil && a.Status != http.StatusOK {
			return a
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	a, err := c.Call(tb.Context(), testkit.Echo, `{"message":"x"}`)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// wasCalled reports whether a call was carried out.
func wasCalled(a *testkit.Answer) bool {
	return a.Status == http.StatusOK && a.Message != nil && a.Message.Error == nil && !strings.Contains(string(a.Body), `"isError":true`)
}

// keyEntry returns an access entry with a key of this text.
func keyEntry(key string, more ...string) string {
	return fmt.Sprintf("{name: ann, hash: %q%s}", auth.HashOf(key), strings.Join(append([]string{""}, more...), ", "))
}

const canary = "rk_canaryhunter_hunter2hunter2hunter2hunter2hunter2hunter2hunter2hun"

// A valid key lets the caller in; any other credential is refused in the form of the contract, in both eras.
func TestKeys(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	access := "access: {team: {keys: [" + keyEntry("good key") + ", " + keyEntry("old key", "expires: "+past) + ", " +
		keyEntry("next key", "expires: 2999-01-01") + "]}}"
	d := openDoor(t, access, "access: [team]")
	tests := []struct {
		name    string
		header  []string
		kind    recourse.Kind // "": let in
		message string
	}{
		{"a key", []string{"Authorization", "Bearer good key"}, "", ""},
		{"a scheme in lower case", []string{"Authorization", "bearer  good key"}, "", ""},
		{"a key that will expire", []string{"Authorization", "Bearer next key"}, "", ""},
		{"no credentials", nil, recourse.KindUnauthenticated, "The header Authorization is missing."},
		{"an empty header", []string{"Authorization", ""}, recourse.KindUnauthenticated, "The header Authorization is missing."},
		{"a wrong key", []string{"Authorization", "Bearer bad key"}, recourse.KindUnauthenticated, "The API key is not valid."},
		{"the hash of a key", []string{"Authorization", "Bearer " + auth.HashOf("good key").String()}, recourse.KindUnauthenticated, "The API key is not valid."},
		{"a wrong key in the gateway's form", []string{"Authorization", "Bearer " + canary}, recourse.KindUnauthenticated, "The API key is not valid."},
		{"an expired key", []string{"Authorization", "Bearer old key"}, recourse.KindTokenExpired, "The API key expired at " + past + "."},
		{"another scheme", []string{"Authorization", "Basic good key"}, recourse.KindUnauthenticated, "The header Authorization must have the form: Bearer TOKEN."},
		{"no scheme", []string{"Authorization", "good key"}, recourse.KindUnauthenticated, "The header Authorization must have the form: Bearer TOKEN."},
		{"two keys", []string{"Authorization", "Bearer good key", "Authorization", "Bearer bad key"}, recourse.KindUnauthenticated, "The header Authorization occurs more than once."},
		{"a key in another header", []string{"X-Api-Key", "good key"}, recourse.KindUnauthenticated, "The header Authorization is missing."},
	}
	for _, era := range testkit.Eras {
		for _, test := range tests {
			t.Run(era.String()+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				a := echoed(t, d.As(t, era, test.header...))
				if test.kind == "" {
					if !wasCalled(a) {
						t.Errorf("got HTTP %d %s", a.Status, a.Body)
					}
					return
				}
				e := gatewaytest.Record(t, a)
				if a.Status != http.StatusUnauthorized || e.Kind != test.kind || e.Message != test.message || e.Origin != recourse.OriginCaller ||
					e.Effect != recourse.EffectNone || len(a.Message.ID) == 0 || string(a.Message.ID) == "null" {
					t.Errorf("got HTTP %d, %s %q: %s", a.Status, e.Kind, e.Message, a.Body)
				}
				challenge := a.Header.Get("WWW-Authenticate")
				if !strings.HasPrefix(challenge, "Bearer") || strings.Contains(challenge, "resource_metadata") {
					t.Errorf("got challenge %s", challenge)
				}
				if named := len(test.header) > 1 && test.header[0] == "Authorization" && test.header[1] != ""; strings.Contains(challenge, "invalid_token") != named {
					t.Errorf("got challenge %s", challenge)
				}
			})
		}
	}
	t.Cleanup(func() {
		for _, secret := range []string{"good key", "bad key", "old key", "next key", canary, "hunter2"} {
			if strings.Contains(d.Log.String(), secret) {
				t.Errorf("%q is in the log: %s", secret, d.Log)
			}
		}
		for _, r := range d.server.Requests() {
			if len(r.Header["Authorization"]) > 0 {
				t.Errorf("the server got the header %s", r.Header)
			}
		}
	})
}

// With terra's pair of headers, a missing header is reported first, then a wrong key, then a wrong user in the path.
// The server gets the user, but not the headers.
func TestHeaderPair(t *testing.T) {
	t.Parallel()
	access := "access: {devs: {headers: {id: dev-id, key: x-api-key}, keys: [" + keyEntry("good key") + "]}}"
	d := openDoor(t, access, "access: [devs]", "contract: terra", "path: '/api/v2/mcp/{user_id}'")
	base := strings.TrimSuffix(d.URL, "/farm/mcp") + "/api/v2/mcp/"
	for _, test := range []struct {
		name, user string
		header     []string
		status     int
		detail     string
	}{
		{"both", "u-1", []string{"Dev-Id", "ann", "X-Api-Key", "good key"}, 200, ""},
		{"neither", "u-1", nil, 401, "dev-id or x-api-key headers are missing"},
		{"no key", "u-1", []string{"Dev-Id", "ann"}, 401, "dev-id or x-api-key headers are missing"},
		{"no id", "u-1", []string{"X-Api-Key", "good key"}, 401, "dev-id or x-api-key headers are missing"},
		{"another caller's key", "u-1", []string{"Dev-Id", "bob", "X-Api-Key", "good key"}, 401, "unauthorized"},
		{"a wrong key", "u-1", []string{"Dev-Id", "ann", "X-Api-Key", "bad key"}, 401, "unauthorized"},
		{"a wrong key and no user", "", []string{"Dev-Id", "ann", "X-Api-Key", "bad key"}, 401, "unauthorized"},
		{"no user", "", []string{"Dev-Id", "ann", "X-Api-Key", "good key"}, 404, "missing user_id parameter"},
		{"an invalid user", "a%20b", []string{"Dev-Id", "ann", "X-Api-Key", "good key"}, 404, "invalid user id"},
	} {
		for _, era := range testkit.Eras {
			t.Run(era.String()+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				c := d.As(t, era, test.header...)
				c.URL = base + test.user
				a := echoed(t, c)
				var problem struct {
					Detail string `json:"detail"`
				}
				_ = json.Unmarshal(a.Body, &problem) // a success is not a problem document
				if a.Status != test.status || test.status != http.StatusOK && problem.Detail != test.detail {
					t.Errorf("got HTTP %d %s, want %d %s", a.Status, a.Body, test.status, test.detail)
				}
				if challenge := a.Header.Get("WWW-Authenticate"); (a.Status == http.StatusUnauthorized) != (challenge == `ApiKey headers="x-api-key dev-id"`) {
					t.Errorf("got challenge %q", challenge)
				}
			})
		}
	}
	t.Cleanup(func() {
		for _, r := range d.server.Requests() {
			if r.Header.Get("Provider-User-Id") != "u-1" || r.Header.Get("X-Api-Key") != "" || r.Header.Get("Dev-Id") != "" {
				t.Errorf("the server got the header %s", r.Header)
			}
		}
	})
}

// Every contract has a form for callers who are refused. Without access control, all are let in.
func TestRefusedCallersInEveryContract(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, "access: {team: {keys: ["+keyEntry("good key")+"]}}", "access: [team]", "contract: "+c.Name)
			for _, era := range testkit.Eras {
				if a := echoed(t, d.As(t, era, "Authorization", "Bearer good key")); !wasCalled(a) {
					t.Errorf("got HTTP %d %s", a.Status, a.Body)
				}
				for _, header := range [][]string{nil, {"Authorization", "Bearer bad"}} {
					a := echoed(t, d.As(t, era, header...))
					if a.Status != http.StatusUnauthorized {
						t.Errorf("got HTTP %d %s", a.Status, a.Body)
					}
					if c.Name == "terra" {
						continue
					}
					if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnauthenticated || a.Message.Error.Code != -32603 {
						t.Errorf("got HTTP %d %s", a.Status, a.Body)
					}
				}
			}
		})
	}
}

// If an entry lists several ways in, the first one that knows the credentials decides.
func TestSeveralWaysIn(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	d := openDoor(t, "access:\n  team: {keys: ["+keyEntry("good key")+"]}\n  others: {keys: ["+keyEntry("other key")+"]}\n"+
		"  devs: {headers: {key: x-api-key}, keys: ["+keyEntry("dev key")+"]}\n"+
		"  staff: {jwt: {issuer: '"+issuer.URL+"', audience: [farm]}}\n", "access: [devs, team, others, staff]")
	for name, test := range map[string]struct {
		header []string
		kind   recourse.Kind
	}{
		"a key":                   {[]string{"Authorization", "Bearer good key"}, ""},
		"a key of another entry":  {[]string{"Authorization", "Bearer other key"}, ""},
		"a key in its own header": {[]string{"X-Api-Key", "dev key"}, ""},
		"a token":                 {[]string{"Authorization", "Bearer " + issuer.Token(t, nil)}, ""},
		"a key in a wrong header": {[]string{"X-Api-Key", "good key"}, recourse.KindUnauthenticated},
		"an unknown key":          {[]string{"Authorization", "Bearer bad key"}, recourse.KindUnauthenticated},
		"an unknown token":        {[]string{"Authorization", "Bearer a.b.c"}, recourse.KindUnauthenticated},
		"an expired token":        {[]string{"Authorization", "Bearer " + issuer.Token(t, map[string]any{"exp": 1})}, recourse.KindTokenExpired},
		"a wrong key in one header, a right one in another": {[]string{"X-Api-Key", "bad", "Authorization", "Bearer good key"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := echoed(t, d.As(t, testkit.Modern, test.header...))
			if test.kind == "" && !wasCalled(a) || test.kind != "" && gatewaytest.Record(t, a).Kind != test.kind {
				t.Errorf("got HTTP %d %s", a.Status, a.Body)
			}
		})
	}
}

// loopback lets in callers on this machine, but not those that come through a proxy on it.
func TestLoopback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		access string
		header []string
		in     bool
	}{
		"from this machine":                                                 {"", nil, true},
		"through a local proxy":                                             {"", []string{"X-Forwarded-For", "192.0.2.1"}, false},
		"through a local proxy, with a forged address":                      {"", []string{"X-Forwarded-For", "127.0.0.1"}, false},
		"through a local proxy that sends Forwarded":                        {"", []string{"Forwarded", "for=192.0.2.1"}, false},
		"from elsewhere through a trusted proxy":                            {"trusted_proxies: [127.0.0.1]", []string{"X-Forwarded-For", "192.0.2.1"}, false},
		"from this machine through a trusted proxy":                         {"trusted_proxies: [127.0.0.1]", []string{"X-Forwarded-For", "::1"}, true},
		"without headers of the trusted proxy":                              {"trusted_proxies: [127.0.0.1]", nil, true},
		"through a proxy other than the trusted one":                        {"trusted_proxies: [10.0.0.0/8]", []string{"X-Forwarded-For", "192.0.2.1"}, false},
		"through a proxy other than the trusted one, with a forged address": {"trusted_proxies: [10.0.0.0/8]", []string{"X-Forwarded-For", "127.0.0.1"}, false},
		"from an unknown address through a trusted proxy":                   {"trusted_proxies: [127.0.0.1]", []string{"Forwarded", "for=unknown"}, false},
		"through a trusted proxy that sends no address":                     {"trusted_proxies: [127.0.0.1]", []string{"Via", "1.1 proxy"}, false},
		"from another machine's loopback address": {
			"trusted_proxies: [127.0.0.1, 10.0.0.0/8]", []string{"X-Forwarded-For", "127.0.0.1, 10.0.0.7"}, false,
		},
		"from this machine, with an invented address before": {"trusted_proxies: [127.0.0.1]", []string{"X-Forwarded-For", "192.0.2.1, ::1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, test.access, "access: [loopback]")
			for _, era := range testkit.Eras {
				a := echoed(t, d.As(t, era, test.header...))
				if test.in != wasCalled(a) {
					t.Fatalf("got HTTP %d %s", a.Status, a.Body)
				}
				if e := recordOfRefusal(t, a); !test.in && (a.Status != http.StatusForbidden || e.Kind != recourse.KindPermissionDenied) {
					t.Errorf("got HTTP %d %s", a.Status, a.Body)
				}
			}
		})
	}
}

// recordOfRefusal returns the record of a refusal, and an empty record for any other answer.
func recordOfRefusal(tb testing.TB, a *testkit.Answer) *recourse.Error {
	tb.Helper()
	if wasCalled(a) {
		return &recourse.Error{}
	}
	return gatewaytest.Record(tb, a)
}
