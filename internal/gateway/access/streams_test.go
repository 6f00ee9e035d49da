package access_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// lapseWithin is how long a call or stream may continue after the end of its credentials: the time between two checks, and
// the time for which a store's answer about a key is used.
const lapseWithin = 13 * time.Second

// A credential is valid until end. end revokes it or waits for its expiry, and returns the time of that.
type credential struct {
	door *door
	text string
	end  func() time.Time
	kind recourse.Kind
}

// credentials are the kinds of credentials that end.
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

// lasting has keys of a server's entry that let calls last longer than credentials.
var lasting = []string{"timeout: 10m", "max_timeout: 1h", "tools: {get_field: {read_only: true}}"}

// inTime checks that no more than lapseWithin has passed since a credential ended.
func inTime(t *testing.T, ended time.Time) {
	t.Helper()
	if took := time.Since(ended); took < 0 || took > lapseWithin {
		t.Errorf("got the end after %s", took)
	}
}

// comesBack checks that the next request with the same credential is answered with 401.
func (c *credential) comesBack(t *testing.T, client *testkit.Client) {
	t.Helper()
	a := echoed(t, client)
	if a.Status != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`) {
		t.Errorf("the next request: got HTTP %d %s %s", a.Status, a.Header, a.Body)
	}
}

// Streams end with the credentials with which they were opened.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	t.Parallel()
	for name, begin := range credentials {
		for _, era := range testkit.Eras {
			for _, path := range []string{"/farm/mcp", "/all/mcp"} {
				if name != "a key that is revoked" && path == "/all/mcp" {
					continue
				}
				testkit.Virtual(t, name+" "+era.String()+path, func(t *testing.T) {
					given := begin(t)
					given.door.URL = strings.Replace(given.door.URL, "/farm/mcp", path, 1)
					client := given.door.As(t, era, "Authorization", "Bearer "+given.text)
					if era == testkit.Legacy {
						client.MustInitialize(t)
					}
					s := client.MustListen(t.Context(), t)
					defer s.Close()
					time.Sleep(25 * time.Second) // longer than a stream without valid credentials would last
					if era == testkit.Modern {
						if got := s.MustNext(t).Method; got != protocol.NotifyListening {
							t.Fatalf("first message: got %s", got)
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

// When its credentials end, a read is answered with 401, so that its client authenticates and calls again. A write gets a failure with
// an unknown effect.
func TestCallsEndWithTheirCredentials(t *testing.T) {
	t.Parallel()
	for name, begin := range credentials {
		for _, era := range testkit.Eras {
			testkit.Virtual(t, name+" "+era.String(), func(t *testing.T) {
				for _, test := range []struct {
					tool, arguments string
					status          int
					effect          recourse.Effect
				}{
					{testkit.GetField, `{"field_id":"F-1"}`, http.StatusUnauthorized, recourse.EffectNone},
					{testkit.OrderCreate, `{"reference":"A","amount":1}`, http.StatusOK, recourse.EffectUnknown},
				} {
					given := begin(t)
					client := given.door.As(t, era, "Authorization", "Bearer "+given.text)
					if era == testkit.Legacy {
						client.MustInitialize(t)
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
					e := gatewaytest.Record(t, a)
					if a.Status != test.status || e.Kind != given.kind || e.Effect != test.effect || given.door.server.Attempts(test.tool) != 1 {
						t.Errorf("%s: got HTTP %d, %d attempts: %s", test.tool, a.Status, given.door.server.Attempts(test.tool), a.Body)
					}
					if challenge := a.Header.Get("WWW-Authenticate"); strings.HasPrefix(challenge, `Bearer error="invalid_token"`) != (test.status != http.StatusOK) {
						t.Errorf("%s: got challenge %q", test.tool, challenge)
					}
					inTime(t, <-ended)
					given.comesBack(t, client)
				}
			})
		}
	}
}

// If the answer has begun as a stream, the failure is sent on the stream.
func TestStreamedCallEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/farm/mcp", "/all/mcp"} {
		testkit.Virtual(t, path, func(t *testing.T) {
			given := credentials["a key that is revoked"](t)
			given.door.URL = strings.Replace(given.door.URL, "/farm/mcp", path, 1)
			client := given.door.As(t, testkit.Modern, "Authorization", "Bearer "+given.text)
			s, err := client.Open(t.Context(), "tools/call",
				`{"name":"progress","arguments":{"count":100,"gapMs":4000},"_meta":{"progressToken":"p",`+
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := s.MustNext(t).Method; got != "notifications/progress" {
				t.Fatal(got)
			}
			ended := given.end()
			for {
				m, err := s.NextMessage()
				if err != nil {
					t.Fatal(err)
				}
				if m.Method == "" {
					if !strings.Contains(string(m.Result), `"kind":"token_revoked"`) || !strings.Contains(string(m.Result), `"effectBasis":"stated"`) {
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

// A reload that removes a key ends the streams of that key only.
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
		d := &door{Front: gatewaytest.StartAt(t, gatewaytest.Path, entry(firstEntry+", "+secondEntry))}
		ends := make(chan string, 2)
		for name, key := range map[string]string{"ann": first, "bob": second} {
			s := d.As(t, testkit.Modern, "Authorization", "Bearer "+key).MustListen(t.Context(), t)
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
		gatewaytest.Reload(t, d.Gateway, entry(secondEntry))
		time.Sleep(lapseWithin)
		synctest.Wait()
		if len(ends) != 1 || <-ends != "ann" {
			t.Errorf("got another stream ended, or none, want ann's")
		}
	})
}

// Streams go on while the store cannot check keys.
func TestStreamsOutlastTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, store, key := storedDoor(t, lasting...)
		s := d.As(t, testkit.Modern, "Authorization", "Bearer "+key).MustListen(t.Context(), t)
		defer s.Close()
		if got := s.MustNext(t).Method; got != protocol.NotifyListening {
			t.Fatal(got)
		}
		store.update(func() { store.err = errors.New("the disk is full") })
		time.Sleep(5 * time.Minute)
		store.update(func() { store.err = nil })
		d.server.SetTools(testkit.Tool{Name: "new"})
		if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
			t.Error(got)
		}
	})
}

// A stream that is held open while its server is down ends with its credentials too.
func TestHeldStreamEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := credentials["a key that is revoked"](t)
		client := given.door.As(t, testkit.Legacy, "Authorization", "Bearer "+given.text)
		client.MustInitialize(t)
		if err := given.door.server.Stop(); err != nil {
			t.Fatal(err)
		}
		s := client.MustListen(t.Context(), t)
		defer s.Close()
		time.Sleep(time.Minute)
		ended := given.end()
		if m, err := s.NextMessage(); !errors.Is(err, io.EOF) {
			t.Errorf("got %+v, %v", m, err)
		}
		inTime(t, ended)
	})
}

// After a reload that removes access control, a call continues; after one that lets in only this machine, a call from elsewhere ends.
func TestReloadOfAccessDuringACall(t *testing.T) {
	t.Parallel()
	for access, want := range map[string]recourse.Kind{"": recourse.KindTimeout, "access: [loopback],": recourse.KindPermissionDenied} {
		testkit.Virtual(t, "now "+access, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			key, _ := auth.NewKey()
			entry := func(access string) string {
				return "access: {team: {keys: [{name: ann, hash: '" + auth.HashOf(key).String() + "'}]}}\n" +
					"servers: {farm: {url: '" + srv.URL() + "', " + access + " timeout: 1m}}\n"
			}
			d := &door{gatewaytest.StartAt(t, gatewaytest.Path, entry("access: [team],")), srv}
			client := d.As(t, testkit.Modern, "Authorization", "Bearer "+key)
			client.Header.Set("X-Forwarded-For", "192.0.2.1")
			srv.Always(testkit.GetField, faults.Hang())
			time.AfterFunc(time.Second, func() { gatewaytest.Reload(t, d.Gateway, entry(access)) })
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
			if err != nil {
				t.Fatal(err)
			}
			if e := gatewaytest.Record(t, a); e.Kind != want {
				t.Errorf("after %s: got %s", a.Took, a.Body)
			}
		})
	}
}
