package access_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// verifiedWays are ways of clients of the modern era through a gateway that verifies its callers and forwards nothing of
// them, in front of servers of each era, alone or as one of several.
var verifiedWays = map[string]struct {
	many bool
	era  []testkit.Option
	tool string
}{
	"a modern server":         {false, []testkit.Option{testkit.WithEra(testkit.Modern)}, "ask"},
	"a legacy server":         {false, []testkit.Option{testkit.WithEra(testkit.Legacy)}, "ask"},
	"a server of both eras":   {false, nil, "ask"},
	"many, modern":            {true, []testkit.Option{testkit.WithEra(testkit.Modern)}, "shop_ask"},
	"many, legacy":            {true, []testkit.Option{testkit.WithEra(testkit.Legacy)}, "shop_ask"},
	"many, with session keys": {true, nil, "shop_ask"},
}

// startVerified starts a gateway for [members] in front of two servers, and returns the one that is called.
func startVerified(t *testing.T, many bool, opts []testkit.Option) (*door, *testkit.Server) {
	t.Helper()
	farm := testkit.NewServer(t, append(opts, testkit.InMemory())...)
	shop := testkit.NewServer(t, append(opts, testkit.InMemory())...)
	yaml := members() + "\nsession_keys: [" + strings.Repeat("k", 40) + "]\n" +
		fmt.Sprintf("servers:\n  farm: {url: %q, access: [team]}\n  shop: {url: %q, path: none}\n", farm.URL(), shop.URL()) +
		"endpoints:\n  all: {path: /mcp, access: [team], " + gatewaytest.BothPrefixed + "}\n"
	if many {
		return &door{gatewaytest.StartAt(t, "/mcp", yaml), shop}, shop
	}
	return &door{gatewaytest.StartAt(t, gatewaytest.Path, yaml), farm}, farm
}

// A state belongs to the verified caller, the tool and the arguments that it was given out for, though nothing of the
// caller is forwarded: nobody else can answer the question, and no answer continues another call.
func TestStatesOfVerifiedCallers(t *testing.T) {
	t.Parallel()
	for name, way := range verifiedWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, srv := startVerified(t, way.many, way.era)
			reader, seller := d.member(t, testkit.Modern, "reader"), d.member(t, testkit.Modern, "seller")
			ask := func() (state, key string) {
				a, err := reader.Call(t.Context(), way.tool, `{"a":1,"b":[2,"\u00e9"]}`)
				if err != nil {
					t.Fatal(err)
				}
				var q struct {
					InputRequests map[string]any `json:"inputRequests"`
					RequestState  string         `json:"requestState"`
				}
				if a.Message == nil || json.Unmarshal(a.Message.Result, &q) != nil || q.RequestState == "" {
					t.Fatalf("got HTTP %d %s, want a question", a.Status, a.Body)
				}
				for name := range q.InputRequests {
					key = name // there is one
				}
				return q.RequestState, key
			}
			answer := func(as *testkit.Client, tool, arguments, state, key string) *testkit.Answer {
				a, err := as.Request(t.Context(), "tools/call", fmt.Sprintf(
					`{"name":%q,"arguments":%s,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}},"requestState":%q}`,
					tool, arguments, key, state))
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			const same = `{"b":[2,"é"],"a":1}` // as another program spells it
			state, key := ask()
			for what, a := range map[string]*testkit.Answer{
				"another caller":           answer(seller, way.tool, same, state, key),
				"other arguments":          answer(reader, way.tool, `{"a":2,"b":[2,"é"]}`, state, key),
				"no arguments":             answer(reader, way.tool, `{}`, state, key),
				"another tool":             answer(reader, strings.Replace(way.tool, "ask", "progress", 1), same, state, key),
				"changed":                  answer(reader, way.tool, same, state[:8]+"AAAA"+state[12:], key),
				"another caller and shape": answer(seller, way.tool, `{"a":1,"b":[2,"é"],"c":3}`, state, key),
			} {
				if strings.Contains(string(a.Body), "Ada") {
					t.Errorf("%s: got HTTP %d %s", what, a.Status, a.Body)
				}
			}
			if n := srv.Executions(testkit.Progress); n > 0 {
				t.Errorf("another tool ran %d times", n)
			}
			if a := answer(reader, way.tool, same, state, key); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "Ada") {
				t.Errorf("the right state: got HTTP %d %s", a.Status, a.Body)
			}
		})
	}
}

// Requests of different verified callers do not share a session of a legacy server, though nothing of them is forwarded;
// the requests of one caller do.
func TestSessionsOfVerifiedCallers(t *testing.T) {
	t.Parallel()
	for name, way := range verifiedWays {
		if !strings.Contains(name, "legacy") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, srv := startVerified(t, way.many, way.era)
			for _, who := range []string{"reader", "seller", "reader", "boss", "seller"} {
				d.member(t, testkit.Modern, who).MustCall(t, strings.Replace(way.tool, "ask", "echo", 1), `{"message":"`+who+`"}`).Result(t)
			}
			of := map[string]map[string]bool{} // callers, by session
			for _, r := range srv.Calls(testkit.Echo) {
				session := r.Header.Get("Mcp-Session-Id")
				for _, who := range []string{"reader", "seller", "boss"} {
					if strings.Contains(string(r.Body), who) {
						if of[session] == nil {
							of[session] = map[string]bool{}
						}
						of[session][who] = true
					}
				}
			}
			for session, callers := range of {
				if len(callers) != 1 {
					t.Errorf("%v share the session %s", callers, session)
				}
			}
			if len(of) != 3 {
				t.Errorf("got %d sessions, want one for each caller", len(of))
			}
		})
	}
}
