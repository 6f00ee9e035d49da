package session_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// Keys for session ids.
const (
	sessionKey  = "the first secret, of forty-two characters."
	otherSecret = "the second secret, also of enough of them."
)

// replica starts another gateway in front of the same server, and returns its URL.
func replica(t *testing.T, server, more string) string {
	t.Helper()
	g, _ := gatewaytest.New(t, "servers: {farm: {"+server+"}}\n"+more)
	return testkit.Serve(t, g) + "/farm/mcp"
}

// keyed returns the line of a configuration that sets session_keys.
func keyed(keys ...string) string { return "session_keys: ['" + strings.Join(keys, "', '") + "']\n" }

// at returns a client at another URL, with the session and header of another client.
func at(t *testing.T, url string, of *testkit.Client) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, url, testkit.Legacy)
	client.Session, client.Header = of.Session, of.Header
	return client
}

// A session of one replica continues at another one with the same key, for servers of both eras.
func TestSessionAtAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		era     testkit.Era
		forgets bool // the server forgets the session meanwhile
		opened  int  // sessions opened at the server
	}{
		{"legacy server", testkit.Legacy, false, 1},
		{"legacy server that forgets", testkit.Legacy, true, 2},
		{"modern server", testkit.Modern, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(test.era))
			server := "url: '" + srv.URL() + "'"
			first := testkit.NewClient(t, replica(t, server, keyed(sessionKey)), testkit.Legacy)
			if _, err := first.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			first.MustEcho(t)
			if test.forgets {
				srv.ForgetSessions()
			}
			second := at(t, replica(t, server, keyed(otherSecret, sessionKey)), first)
			for range 2 {
				second.MustEcho(t)
			}
			first.MustEcho(t)
			if srv.Executions(testkit.Echo) != 4 || test.era == testkit.Legacy && !test.forgets && srv.Messages("initialize") != test.opened {
				t.Errorf("got %d calls, %d sessions", srv.Executions(testkit.Echo), srv.Messages("initialize"))
			}
		})
	}
}

// Each replica has its own process of a program, so the session is opened again there.
func TestProgramAtAnotherReplica(t *testing.T) {
	t.Parallel()
	p := child.NewProgram(t)
	server := "command: ['" + strings.Join(p.Command(), "', '") + "']"
	first := testkit.NewClient(t, replica(t, server, keyed(sessionKey)), testkit.Legacy)
	if _, err := first.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.MustEcho(t)
	at(t, replica(t, server, keyed(sessionKey)), first).MustEcho(t)
}

// Without its key, or with other credentials, a session id is unknown.
func TestSessionOfAnotherKey(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	server := "url: '" + srv.URL() + "', forward: [authorization]"
	own := replica(t, server, keyed(sessionKey))
	client := testkit.NewClient(t, own, testkit.Legacy)
	client.Header = http.Header{"Authorization": {"Bearer ada"}}
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	stranger := func(url, session string, header http.Header) *testkit.Client {
		c := at(t, url, client)
		c.Session, c.Header = session, header
		return c
	}
	middle := len(client.Session) / 2
	changed := client.Session[:middle] + map[bool]string{true: "B", false: "A"}[client.Session[middle] == 'A'] + client.Session[middle+1:]
	for name, c := range map[string]*testkit.Client{
		"another caller, same replica":    stranger(own, client.Session, http.Header{"Authorization": {"Bearer eve"}}),
		"another caller, another replica": stranger(replica(t, server, keyed(sessionKey)), client.Session, http.Header{"Authorization": {"Bearer eve"}}),
		"no credentials":                  stranger(replica(t, server, keyed(sessionKey)), client.Session, nil),
		"another key":                     stranger(replica(t, server, keyed(otherSecret)), client.Session, client.Header),
		"no key":                          stranger(replica(t, server, ""), client.Session, client.Header),
		"changed":                         stranger(own, changed, client.Header),
		"cut off":                         stranger(own, client.Session[:middle], client.Header),
		"the mark alone":                  stranger(own, "rt1.", client.Header),
		"too long":                        stranger(own, "rt1."+strings.Repeat("A", 8000), client.Header),
	} {
		a, err := c.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		wantUnknownSession(t, a)
	}
	if srv.Attempts(testkit.Echo) != 0 {
		t.Error("a call reached the server")
	}
	client.MustEcho(t)
}

// The id of an ended session stays invalid.
func TestEndedTicket(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := testkit.NewClient(t, replica(t, "url: '"+srv.URL()+"'", keyed(sessionKey)), testkit.Legacy)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	session := client.Session
	if a, err := client.Delete(t.Context()); err != nil || a.Status >= http.StatusMultipleChoices {
		t.Fatalf("got %+v, %v", a, err)
	}
	client.Session = session
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	wantUnknownSession(t, a)
}

// If initialize is too long for a session id, the session stays in its process, as without keys.
func TestOverlongTicket(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := testkit.NewClient(t, replica(t, "url: '"+srv.URL()+"'", keyed(sessionKey)), testkit.Legacy)
	name := make([]string, 2000) // does not compress well
	for i := range name {
		name[i] = fmt.Sprintf("%x", i*i*7919)
	}
	a, err := client.Request(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+strings.Join(name, "")+`","version":"1"}}`)
	if err != nil {
		t.Fatal(err)
	}
	client.Session = a.Header.Get("Mcp-Session-Id")
	if client.Session == "" || len(client.Session) > 100 {
		t.Fatalf("got a session id of %d characters", len(client.Session))
	}
	client.MustEcho(t)
}
