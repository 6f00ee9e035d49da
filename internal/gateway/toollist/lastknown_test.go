package toollist_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// meant is what the _meta of an answer says of the server.
type meant struct {
	Targets map[string]struct {
		Outcome string `json:"outcome"`
		AsOf    string `json:"asOf"`
		Listed  int    `json:"listed"`
	} `json:"io.github.recoursehq/targets"`
	Record struct {
		Kind string `json:"kind"`
	} `json:"io.github.recoursehq/error"`
}

func meta(tb testing.TB, a *testkit.Answer) meant {
	tb.Helper()
	var m struct {
		Result struct {
			Meta meant `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.Body, &m); err != nil {
		tb.Fatalf("%v in %s", err, a.Body)
	}
	return m.Result.Meta
}

// started starts a client, which has to succeed, and returns what it is told at once and the names of the tools.
func started(t *testing.T, c *testkit.Client) (hello, list *testkit.Answer, tools []string) {
	t.Helper()
	hello, err := c.Initialize(t.Context())
	if err != nil || hello.Status != 200 || hello.Message.Result == nil {
		t.Fatalf("initialize: got %+v, %v", hello, err)
	}
	list = c.MustListTools(t)
	names := list.ToolNames(t)
	return hello, list, names
}

func inAllEras(t *testing.T, test func(t *testing.T, srv *testkit.Server, client testkit.Era)) {
	t.Helper()
	for _, server := range testkit.Eras {
		for _, client := range testkit.Eras {
			testkit.Virtual(t, fmt.Sprintf("server %s, client %s", server, client), func(t *testing.T) {
				test(t, testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(server)), client)
			})
		}
	}
}

// A client that starts while its server is down sees what the server said last, and is told what is wrong by its first call.
// When the server is back, the session is opened there before the next one.
func TestClientsStartWithoutTheServer(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, srv *testkit.Server, era testkit.Era) {
		f := gatewaytest.Start(t, srv.URL(), "timeout: 20s")
		firstHello, firstList, want := started(t, f.As(t, era))
		if len(want) == 0 || meta(t, firstList).Targets != nil {
			t.Fatalf("got %s", firstList.Body)
		}
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		late := f.As(t, era)
		hello, list, got := started(t, late)
		about := meta(t, list)
		if farm := about.Targets["farm"]; !slices.Equal(got, want) || farm.Outcome != "unreachable" || farm.AsOf == "" || farm.Listed != len(want) {
			t.Errorf("got %v, %+v", got, about)
		}
		if about.Record.Kind != "unreachable" {
			t.Errorf("got %s", list.Body)
		}
		for _, member := range []string{"capabilities", "protocolVersion", "serverInfo", "instructions", "supportedVersions"} {
			if a, b := memberOf(t, firstHello, member), memberOf(t, hello, member); a != b {
				t.Errorf("%s: got %s, want %s", member, b, a)
			}
		}
		a := late.MustCall(t, testkit.Echo, `{"message":"m"}`)
		if r := a.Result(t); !r.IsError || !strings.Contains(r.Text(), "[unreachable]") {
			t.Errorf("got %s", a.Body)
		}
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
		late.MustEcho(t)
		if about := meta(t, late.MustListTools(t)); about.Targets != nil {
			t.Errorf("the server is back: got %+v", about)
		}
	})
}

func memberOf(tb testing.TB, a *testkit.Answer, name string) string {
	tb.Helper()
	var result map[string]json.RawMessage
	if err := json.Unmarshal(a.Message.Result, &result); err != nil {
		tb.Fatal(err)
	}
	return string(result[name])
}

// A server that has never been seen has no tools: the list says why. With `errors: protocol` that is an error.
func TestClientsStartWithoutAnUnknownServer(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, srv *testkit.Server, era testkit.Era) {
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		f := gatewaytest.Start(t, srv.URL())
		c := f.As(t, era)
		hello, list, tools := started(t, c)
		about := meta(t, list)
		if len(tools) != 0 || about.Record.Kind != "unreachable" || about.Targets["farm"].AsOf != "" || !strings.Contains(string(list.Body), `"tools":[]`) {
			t.Errorf("got %s", list.Body)
		}
		if got := memberOf(t, hello, "capabilities"); got != `{"tools":{"listChanged":true}}` {
			t.Errorf("got capabilities %s", got)
		}
		if !strings.Contains(f.Log.String(), "the client is told what the server last said") {
			t.Errorf("got log %s", f.Log)
		}
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
		if len(c.MustListTools(t).ToolNames(t)) == 0 {
			t.Error("the server is back, and its tools are not listed")
		}
		c.MustEcho(t)
	})
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "errors: protocol")
		known := f.Client(t, era)
		known.MustListTools(t)
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		if a, err := f.As(t, era).Initialize(t.Context()); a == nil || a.Message == nil || a.Message.Error == nil {
			t.Errorf("got %+v, %v", a, err)
		}
		if a := known.MustListTools(t); a.Message.Error == nil {
			t.Errorf("got %s", a.Body)
		}
	})
}

// A client waits for two seconds for a server that hangs, if it is known, and the server is asked again in the background.
func TestClientsStartWithASlowServer(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, srv *testkit.Server, era testkit.Era) {
		f := gatewaytest.Start(t, srv.URL())
		_, _, want := started(t, f.As(t, era))
		for _, method := range []string{"initialize", "server/discover", "tools/list"} {
			srv.Always(method, faults.Hang())
		}
		late := f.As(t, era)
		began := time.Now()
		hello, err := late.Initialize(t.Context())
		if took := time.Since(began); err != nil || hello.Message.Result == nil || took > 2*time.Second {
			t.Errorf("initialize: got %+v, %v after %s", hello, err, took)
		}
		began = time.Now()
		list := late.MustListTools(t)
		if took := time.Since(began); !slices.Equal(list.ToolNames(t), want) || meta(t, list).Record.Kind != "timeout" || took > 2*time.Second {
			t.Errorf("tools/list: got %s after %s", list.Body, took)
		}
		srv.Behave()
		late.MustEcho(t)
	})
}

// So it is with a server that was never seen: it has no tools until it answers.
func TestClientsStartWithASlowUnknownServer(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, srv *testkit.Server, era testkit.Era) {
		for _, method := range []string{"initialize", "server/discover", "tools/list"} {
			srv.Always(method, faults.Hang())
		}
		c := gatewaytest.Start(t, srv.URL()).As(t, era)
		began := time.Now()
		_, list, tools := started(t, c)
		if took := time.Since(began); len(tools) != 0 || meta(t, list).Record.Kind != "timeout" || took > 4*time.Second {
			t.Errorf("got %s after %s", list.Body, took)
		}
		srv.Behave()
		time.Sleep(time.Minute) // the questions that hang are over
		c.MustEcho(t)
		if got := c.MustListTools(t); len(got.ToolNames(t)) == 0 || meta(t, got).Targets != nil {
			t.Errorf("the server answers: got %s", got.Body)
		}
	})
}

// A client that was shown a list from memory, or none, and that listens, is told once the server is back.
func TestListenersLearnThatTheServerIsBack(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		for _, era := range testkit.Eras {
			testkit.Virtual(t, fmt.Sprintf("server %s, known %t", era, known), func(t *testing.T) {
				srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(era))
				f := gatewaytest.Start(t, srv.URL())
				if known {
					started(t, f.As(t, testkit.Legacy))
				}
				if err := srv.Stop(); err != nil {
					t.Fatal(err)
				}
				c := f.As(t, testkit.Legacy)
				started(t, c)
				s := c.MustListen(t.Context(), t)
				defer s.Close()
				if err := srv.Start(); err != nil {
					t.Fatal(err)
				}
				if got := s.MustNext(t); got.Method != "notifications/tools/list_changed" {
					t.Errorf("got %+v", got)
				}
				if got := c.MustListTools(t); len(got.ToolNames(t)) == 0 || meta(t, got).Targets != nil {
					t.Errorf("got %s", got.Body)
				}
			})
		}
	}
}

// A client that was shown a list from memory because the server was slow is told if that lists something else.
func TestListenersLearnOfAnotherList(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Legacy))
		c := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
		c.MustListTools(t)
		s := c.MustListen(t.Context(), t)
		defer s.Close()
		other := `"result":{"tools":[{"name":"new","inputSchema":{"type":"object"}}]}`
		srv.Next("tools/list", faults.Hang(), faults.Reply("another list", other))
		if got := meta(t, c.MustListTools(t)); got.Record.Kind != "timeout" {
			t.Fatalf("got %+v", got)
		}
		if got := s.MustNext(t); got.Method != "notifications/tools/list_changed" {
			t.Errorf("got %+v", got)
		}
	})
}

// What a server has said last outlives the gateway, in a file.
func TestLastAnswersAreKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lists.json")
	for _, era := range testkit.Eras {
		srv := testkit.NewServer(t)
		begin := func() (*gateway.Gateway, *testkit.Client) {
			g, _ := gatewaytest.NewReaching(t, gateway.Reach{Lists: file}, "servers: {farm: {url: \""+srv.URL()+"\"}}")
			return g, testkit.NewClient(t, gatewaytest.Open(t, g, false)+gatewaytest.Path, era)
		}
		g, c := begin()
		_, _, want := started(t, c)
		g.Close()
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		_, c = begin()
		if _, list, got := started(t, c); !slices.Equal(got, want) {
			t.Errorf("%s: got %s", era, list.Body)
		}
	}
}

// No caller is shown what the server has listed for another one.
func TestLastAnswersArePrivate(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]")
		_, _, want := started(t, f.As(t, era, "Authorization", "Bearer ada"))
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, list, got := started(t, f.As(t, era, "Authorization", "Bearer ada")); !slices.Equal(got, want) {
			t.Errorf("ada: got %s", list.Body)
		}
		for _, header := range [][]string{{"Authorization", "Bearer bob"}, nil} {
			if _, list, got := started(t, f.As(t, era, header...)); len(got) != 0 {
				t.Errorf("%v: got %s", header, list.Body)
			}
		}
	})
}

// What the server says itself is passed on: a newer list, and an error.
func TestTheServersOwnAnswerWins(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL())
		c := f.Client(t, era)
		c.MustListTools(t)
		srv.Next("tools/list", faults.Reply("another list", `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"new","inputSchema":{"type":"object"}}]}`))
		if got := c.MustListTools(t).ToolNames(t); !slices.Equal(got, []string{"new"}) {
			t.Errorf("got %v", got)
		}
		srv.Next("tools/list", faults.RPCError("no list", -32601, "no tools here", ""))
		if a := c.MustListTools(t); a.Message.Error == nil {
			t.Errorf("got %s", a.Body)
		}
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := c.MustListTools(t).ToolNames(t); !slices.Equal(got, []string{"new"}) {
			t.Errorf("got %v", got)
		}
	})
}
