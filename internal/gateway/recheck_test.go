package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/internal/testkit/faults"
)

// lapseWithin is how long after the end of its credentials a call or stream may continue: the time between two checks,
// for which a store's answer about a key is also used.
const lapseWithin = 13 * time.Second

// A credential lets a caller in until end, which waits for its end and returns when that was.
type credential struct {
	door *door
	text string
	end  func() time.Time
	kind recourse.Kind
}

// credentials are ways to be let in, and no longer.
var credentials = map[string]func(t *testing.T) credential{
	"a key that is revoked": func(t *testing.T) credential {
		t.Helper()
		d, store, key := storedDoor(t, lasting...)
		revoke := func() time.Time {
			store.update(func() { store.key.Revoked = time.Now() })
			return time.Now()
		}
		return credential{door: d, text: key, end: revoke, kind: recourse.KindTokenRevoked}
	},
	"a token that expires": func(t *testing.T) credential {
		t.Helper()
		issuer := testkit.NewIssuer(t)
		d := openDoor(t, staff(issuer, "leeway: 5s"), append([]string{"access: [staff]"}, lasting...)...)
		expires := time.Now().Add(time.Minute).Truncate(time.Second)
		expire := func() time.Time {
			time.Sleep(time.Until(expires.Add(5 * time.Second)))
			return time.Now()
		}
		return credential{door: d, text: issuer.Token(t, map[string]any{"exp": expires.Unix()}), end: expire, kind: recourse.KindTokenExpired}
	},
}

// lasting are the keys of a server whose calls outlast credentials.
var lasting = []string{"timeout: 10m", "max_timeout: 1h", "tools: {get_field: {read_only: true}}"}

// inTime fails unless as much time has passed as there may since a credential ended.
func inTime(t *testing.T, ended time.Time) {
	t.Helper()
	if took := time.Since(ended); took < 0 || took > lapseWithin {
		t.Errorf("it went on for %s", took)
	}
}

// comesBack fails unless a client that comes back with the same credential is told to authenticate.
func (c *credential) comesBack(t *testing.T, client *testkit.Client) {
	t.Helper()
	a := echoed(t, client)
	if a.Status != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`) {
		t.Errorf("the next request: got HTTP %d %s %s", a.Status, a.Header, a.Body)
	}
}

// Streams end when the credentials do that they were opened with.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	t.Parallel()
	for name, begin := range credentials {
		for _, era := range eras {
			for _, path := range []string{"/farm/mcp", "/all/mcp"} {
				if name != "a key that is revoked" && path == "/all/mcp" {
					continue
				}
				runVirtual(t, name+" "+era.String()+path, func(t *testing.T) {
					given := begin(t)
					given.door.url = strings.Replace(given.door.url, "/farm/mcp", path, 1)
					client := given.door.as(t, era, "Authorization", "Bearer "+given.text)
					if era == testkit.Legacy {
						initialize(t, client)
					}
					s := listenTo(t.Context(), t, client)
					defer s.Close()
					time.Sleep(25 * time.Second) // which others would not outlast
					if era == testkit.Modern {
						if got := nextMethod(t, s); got != acknowledged {
							t.Fatalf("the stream begins with %s", got)
						}
					}
					ended := given.end()
					for {
						m, err := s.NextMessage()
						if errors.Is(err, io.EOF) {
							break
						}
						if err != nil || era == testkit.Legacy || m.Error == nil || !strings.Contains(string(m.Error.Data), `"kind":"`+string(given.kind)) {
							t.Fatalf("got %+v, %v", m, err)
						}
					}
					inTime(t, ended)
					given.comesBack(t, client)
				})
			}
		}
	}
}

// A call that only reads is refused like the first one with such credentials, so that its client authenticates and calls again. One
// that may have written is not: its failure says that nobody knows.
func TestCallsEndWithTheirCredentials(t *testing.T) {
	t.Parallel()
	for name, begin := range credentials {
		for _, era := range eras {
			runVirtual(t, name+" "+era.String(), func(t *testing.T) {
				for _, test := range []struct {
					tool, arguments string
					status          int
					effect          recourse.Effect
				}{
					{testkit.GetField, `{"field_id":"F-1"}`, http.StatusUnauthorized, recourse.EffectNone},
					{testkit.OrderCreate, `{"reference":"A","amount":1}`, http.StatusOK, recourse.EffectUnknown},
				} {
					given := begin(t)
					client := given.door.as(t, era, "Authorization", "Bearer "+given.text)
					if era == testkit.Legacy {
						initialize(t, client)
					}
					given.door.server.Always(test.tool, faults.Hang())
					ended := make(chan time.Time, 1)
					go func() {
						time.Sleep(time.Second)
						ended <- given.end()
					}()
					a, err := client.Call(t.Context(), test.tool, test.arguments)
					if err != nil {
						t.Fatal(err)
					}
					e := recordOf(t, a)
					if a.Status != test.status || e.Kind != given.kind || e.Effect != test.effect || given.door.server.Attempts(test.tool) != 1 {
						t.Errorf("%s: got HTTP %d, %d attempts: %s", test.tool, a.Status, given.door.server.Attempts(test.tool), a.Body)
					}
					if challenge := a.Header.Get("WWW-Authenticate"); strings.HasPrefix(challenge, `Bearer error="invalid_token"`) != (test.status != http.StatusOK) {
						t.Errorf("%s: the challenge is %q", test.tool, challenge)
					}
					inTime(t, <-ended)
					given.comesBack(t, client)
				}
			})
		}
	}
}

// A call whose answer has begun as a stream ends with its failure there.
func TestStreamedCallEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/farm/mcp", "/all/mcp"} {
		runVirtual(t, path, func(t *testing.T) {
			given := credentials["a key that is revoked"](t)
			given.door.url = strings.Replace(given.door.url, "/farm/mcp", path, 1)
			client := given.door.as(t, testkit.Modern, "Authorization", "Bearer "+given.text)
			s, err := client.Open(t.Context(), "tools/call",
				`{"name":"progress","arguments":{"count":100,"gapMs":4000},"_meta":{"progressToken":"p",`+
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := nextMethod(t, s); got != "notifications/progress" {
				t.Fatal(got)
			}
			ended := given.end()
			for {
				m, err := s.NextMessage()
				if err != nil {
					t.Fatal(err)
				}
				if m.Method == "" {
					if !strings.Contains(string(m.Result), `"kind":"token_revoked"`) || !strings.Contains(string(m.Result), `"effect":"unknown"`) {
						t.Errorf("got %s", m.Result)
					}
					break
				}
			}
			inTime(t, ended)
			given.comesBack(t, client)
		})
	}
}

// A key that a reload takes out of the configuration ends the streams that it has opened; those of other keys go on.
func TestStreamsEndWithAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		entry := func(keys string) string {
			return "access: {team: {keys: [" + keys + "]}}\nservers: {farm: {url: '" + srv.URL() + "', access: [team]}}\n"
		}
		first, _ := auth.NewKey()
		second, _ := auth.NewKey()
		firstEntry := "{name: ann, hash: '" + auth.HashOf(first).String() + "'}"
		secondEntry := "{name: bob, hash: '" + auth.HashOf(second).String() + "'}"
		g, log := newGateway(t, entry(firstEntry+", "+secondEntry))
		d := &door{&front{log: log, url: open(t, g, true) + "/farm/mcp"}, srv}
		ends := make(chan string, 2)
		for name, key := range map[string]string{"ann": first, "bob": second} {
			s := listenTo(t.Context(), t, d.as(t, testkit.Modern, "Authorization", "Bearer "+key))
			t.Cleanup(s.Close)
			go func() {
				for {
					if _, err := s.NextMessage(); err != nil {
						ends <- name
						return
					}
				}
			}()
		}
		time.Sleep(time.Minute)
		set := contract.Builtin()
		cfg, err := config.Parse("recourse.yaml", []byte(entry(secondEntry)), config.Options{KnownContracts: set.Names()})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Reload(cfg, set); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lapseWithin)
		synctest.Wait()
		if len(ends) != 1 || <-ends != "ann" {
			t.Errorf("another stream has ended than ann's, or none")
		}
	})
}

// While keys cannot be checked, streams go on.
func TestStreamsOutlastTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, store, key := storedDoor(t, lasting...)
		s := listenTo(t.Context(), t, d.as(t, testkit.Modern, "Authorization", "Bearer "+key))
		defer s.Close()
		if got := nextMethod(t, s); got != acknowledged {
			t.Fatal(got)
		}
		store.update(func() { store.err = errors.New("the disk is full") })
		time.Sleep(5 * time.Minute)
		store.update(func() { store.err = nil })
		d.server.SetTools(testkit.Tool{Name: "new"})
		if got := nextMethod(t, s); got != toolsChanged {
			t.Error(got)
		}
	})
}

// So does a stream that is held open while its server is away.
func TestHeldStreamEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := credentials["a key that is revoked"](t)
		client := given.door.as(t, testkit.Legacy, "Authorization", "Bearer "+given.text)
		initialize(t, client)
		if err := given.door.server.Stop(); err != nil {
			t.Fatal(err)
		}
		s := listenTo(t.Context(), t, client)
		defer s.Close()
		time.Sleep(time.Minute)
		ended := given.end()
		if m, err := s.NextMessage(); !errors.Is(err, io.EOF) {
			t.Errorf("got %+v, %v", m, err)
		}
		inTime(t, ended)
	})
}

// A call continues when a reload lets everybody in, and ends when it only lets this machine in.
func TestCallsWithOtherAccess(t *testing.T) {
	t.Parallel()
	for access, want := range map[string]recourse.Kind{"": recourse.KindTimeout, "access: [loopback],": recourse.KindPermissionDenied} {
		runVirtual(t, "now "+access, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			key, _ := auth.NewKey()
			entry := func(access string) string {
				return "access: {team: {keys: [{name: ann, hash: '" + auth.HashOf(key).String() + "'}]}}\n" +
					"servers: {farm: {url: '" + srv.URL() + "', " + access + " timeout: 1m}}\n"
			}
			g, log := newGateway(t, entry("access: [team],"))
			d := &door{&front{log: log, url: open(t, g, true) + "/farm/mcp"}, srv}
			client := d.as(t, testkit.Modern, "Authorization", "Bearer "+key)
			client.Header.Set("X-Forwarded-For", "192.0.2.1")
			srv.Always(testkit.GetField, faults.Hang())
			time.AfterFunc(time.Second, func() { reload(t, g, entry(access)) })
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
			if err != nil {
				t.Fatal(err)
			}
			if e := recordOf(t, a); e.Kind != want {
				t.Errorf("after %s: got %s", a.Took, a.Body)
			}
		})
	}
}
