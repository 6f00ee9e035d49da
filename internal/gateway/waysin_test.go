package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A wayIn is one of the ways in which a client's message comes to a server.
type wayIn struct {
	name string
	// era is that of the client, and of the server, which speaks both unless the way has a bridge.
	era  testkit.Era
	open func(t *testing.T) *opened
}

// opened is a client at the end of a way, and the server at its other end.
type opened struct {
	*testkit.Client

	requests func() []testkit.Received // that the server got
	srv      *testkit.Server           // nil: it is an HTTP API
	send     func(t *testing.T, body []byte, header http.Header) *testkit.Answer
}

// waysIn are all ways over HTTP. Keys are lines of the servers' entries.
func waysIn(keys ...string) []wayIn {
	var all []wayIn
	for _, era := range testkit.Eras {
		all = append(all,
			direct("direct, "+era.String(), era, keys),
			direct("bridge, "+era.String(), era, keys, testkit.WithEra(otherEra(era))),
			wayIn{"many, " + era.String(), era, func(t *testing.T) *opened {
				t.Helper()
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, strings.Join(keys, ", "))
				return through(t, f.Client(t, era), f.Farm)
			}},
			wayIn{"many over a bridge, " + era.String(), era, func(t *testing.T) *opened {
				t.Helper()
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, strings.Join(keys, ", "), testkit.WithEra(testkit.Legacy))
				return through(t, f.Client(t, era), f.Farm)
			}},
		)
	}
	return all
}

func direct(name string, era testkit.Era, keys []string, opts ...testkit.Option) wayIn {
	return wayIn{name, era, func(t *testing.T) *opened {
		t.Helper()
		srv := testkit.NewServer(t, append(opts, testkit.InMemory())...)
		f := gatewaytest.Start(t, srv.URL(), keys...)
		return through(t, f.Client(t, era), srv)
	}}
}

func otherEra(era testkit.Era) testkit.Era {
	if era == testkit.Legacy {
		return testkit.Modern
	}
	return testkit.Legacy
}

// through returns what a client at the front reaches, after a first call of its own.
func through(t *testing.T, client *testkit.Client, srv *testkit.Server) *opened {
	t.Helper()
	if result := client.MustCall(t, testkit.Echo, `{"message":"hi"}`).Result(t); result.IsError {
		t.Fatalf("got %+v", result)
	}
	return &opened{Client: client, requests: srv.Requests, srv: srv, send: posts(client)}
}

func posts(client *testkit.Client) func(t *testing.T, body []byte, header http.Header) *testkit.Answer {
	return func(t *testing.T, body []byte, header http.Header) *testkit.Answer {
		t.Helper()
		a, err := client.Post(t.Context(), body, header)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// requestMethods are the protocol's requests, in both eras and its extension for tasks, with what they need.
var requestMethods = map[string]string{
	"initialize":      `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
	"server/discover": `{}`, "ping": `{}`, "logging/setLevel": `{"level":"debug"}`,
	"tools/list": `{}`, "tools/call": `{"name":"order_create","arguments":{"reference":"A-17","amount":1}}`,
	"prompts/list": `{}`, "prompts/get": `{"name":"p"}`,
	"completion/complete": `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}`,
	"resources/list":      `{}`, "resources/templates/list": `{}`, "resources/read": `{"uri":"file:///a"}`,
	"resources/subscribe": `{"uri":"file:///a"}`, "resources/unsubscribe": `{"uri":"file:///a"}`,
	"subscriptions/listen": `{"notifications":{"toolsListChanged":true}}`,
	"tasks/get":            `{"taskId":"t"}`, "tasks/result": `{"taskId":"t"}`, "tasks/update": `{"taskId":"t"}`,
	"tasks/cancel": `{"taskId":"t"}`, "tasks/list": `{}`,
	"foo/bar": `{}`, "Notifications/initialized": `{}`, "notifications": `{}`,
}

// A request without an id is not a notification, whatever its method: nothing of it reaches a server, in no way.
func TestRequestsWithoutAnID(t *testing.T) {
	t.Parallel()
	ways := append(waysIn(), wayIn{"an API", testkit.Modern, func(t *testing.T) *opened {
		t.Helper()
		p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { testkit.WriteJSON(w, http.StatusOK, `{}`) })
		client := gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern)
		return &opened{Client: client, send: posts(client), requests: func() []testkit.Received {
			return make([]testkit.Received, len(p.Requests()))
		}}
	}}, wayIn{"an observer", testkit.Legacy, direct("", testkit.Legacy, []string{"mode: observe"}).open})
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			o := way.open(t)
			before := len(o.requests())
			for method, params := range requestMethods {
				body, header := o.Message("7", method, params)
				a := o.send(t, []byte(strings.Replace(string(body), `"id":7,`, "", 1)), header)
				if a.Status != http.StatusBadRequest || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32600 ||
					!strings.Contains(a.Message.Error.Message, "no id") {
					t.Errorf("%s: got HTTP %d %s", method, a.Status, a.Body)
				}
			}
			if got := o.requests()[before:]; len(got) > 0 {
				t.Errorf("the server got %d requests: %+v", len(got), got)
			}
		})
	}
}

// The same over stdio, in front of a server over HTTP. The host goes on.
func TestRequestsWithoutAnIDOverStdio(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	for method, params := range requestMethods {
		h.Send(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
		if m := h.Next(); m.Outcome() != " error -32600" {
			t.Errorf("%s: got %s", method, m.Outcome())
		}
		if n := srv.Messages(method); n > 0 && method != "initialize" && method != "tools/list" && method != "server/discover" {
			t.Errorf("%s: the server got %d", method, n)
		}
	}
	h.Send(gatewaytest.EchoLine("9", "still there"))
	if m := h.Next(); m.Outcome() != "9 still there" {
		t.Errorf("got %s", m.Outcome())
	}
}
