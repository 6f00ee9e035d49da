package many_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A client is notified of changes at all servers, and of reloads.
func TestManyServersNotify(t *testing.T) {
	t.Parallel()
	for _, serverEra := range testkit.Eras {
		t.Run(serverEra.String(), func(t *testing.T) {
			t.Parallel()
			testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "", testkit.WithEra(serverEra))
				c := f.Client(t, era)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := c.MustListen(ctx, t)
				defer s.Close()
				if era == testkit.Modern {
					if got := s.MustNext(t).Method; got != protocol.NotifyListening {
						t.Fatalf("first message: got %s", got)
					}
				}
				synctest.Wait()
				f.Shop.SetTools(testkit.Tool{Name: "new"})
				if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
					t.Errorf("change at shop: got %s", got)
				}
				f.Farm.SetTools(testkit.Tool{Name: "newer"})
				if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
					t.Errorf("change at farm: got %s", got)
				}
				if names := c.MustListTools(t).ToolNames(t); !slices.Contains(names, "shop_new") || !slices.Contains(names, "newer") {
					t.Errorf("got tools %v", names)
				}
				gatewaytest.Reload(t, f.Gateway, f.Config("servers: [farm, {name: shop, prefix: s_}]", ""))
				if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
					t.Errorf("reload: got %s", got)
				}
				if names := c.MustListTools(t).ToolNames(t); !slices.Contains(names, "s_new") {
					t.Errorf("after the reload: got tools %v", names)
				}
				synctest.Wait()
				f.Shop.SetTools(testkit.Tool{Name: "newest"})
				for got := ""; got != protocol.NotifyToolsChanged; got = s.MustNext(t).Method { //nolint:revive // the end of the stream fails the test
				}
			})
		})
	}
}

// When a server is back after an outage, the gateway listens to it again, and reports everything that may have been missed
// as changed.
func TestManyServerNotifiesAfterAnOutage(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		c := f.Client(t, era)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := c.MustListen(ctx, t)
		defer s.Close()
		if era == testkit.Modern {
			s.MustNext(t)
		}
		synctest.Wait()
		if err := f.Shop.Stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := f.Shop.Start(); err != nil {
			t.Fatal(err)
		}
		if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
			t.Errorf("after shop is back: got %s", got)
		}
		f.Shop.SetTools(testkit.Tool{Name: "new"})
		if got := s.MustNext(t).Method; got != protocol.NotifyToolsChanged {
			t.Errorf("change at shop: got %s", got)
		}
	})
}

// Progress and logs of a server reach the client.
func TestManyServersReportProgress(t *testing.T) {
	t.Parallel()
	for _, serverEra := range testkit.Eras {
		t.Run(serverEra.String(), func(t *testing.T) {
			t.Parallel()
			testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "", testkit.WithEra(serverEra))
				c := f.Client(t, era)
				meta := `"progressToken":"p"`
				if era == testkit.Modern {
					meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
				}
				a, err := c.Request(t.Context(), "tools/call", `{"name":"shop_progress","arguments":{"count":3,"gapMs":100},"_meta":{`+meta+`}}`)
				if err != nil || len(a.Events) != 4 {
					t.Fatalf("got %+v, %v", a, err)
				}
				for _, event := range a.Events[:3] {
					if !strings.Contains(event.Data, `"progressToken":"p"`) {
						t.Errorf("progress: got %s", event.Data)
					}
				}
				if result, err := a.ToolResult(); err != nil || result.Text() != "done" {
					t.Errorf("got %s, %v", a.Body, err)
				}
			})
		})
	}
}

// A server's question reaches the client, and the client's answer the server, in all eras.
func TestManyServersAsk(t *testing.T) {
	t.Parallel()
	for _, serverEra := range testkit.Eras {
		t.Run(serverEra.String(), func(t *testing.T) {
			t.Parallel()
			testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "", testkit.WithEra(serverEra))
				c := f.Client(t, era)
				if era == testkit.Legacy {
					s, err := c.OpenCall(t.Context(), "shop_ask", `{}`)
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					m, err := s.NextMessage()
					if err != nil || m.Method != "elicitation/create" {
						t.Fatalf("got %+v, %v", m, err)
					}
					if _, err := c.Respond(t.Context(), m.ID, `{"action":"accept","content":{"name":"Ada"}}`); err != nil {
						t.Fatal(err)
					}
					if m, err = s.NextMessage(); err != nil || !strings.Contains(string(m.Result), "Ada") {
						t.Fatalf("got %s, %v", m.Raw, err)
					}
					return
				}
				state, key := questionOf(t, c, "shop_ask")
				answered := func(tool, state string) *testkit.Answer {
					a, err := c.Request(t.Context(), "tools/call", fmt.Sprintf(
						`{"name":%q,"arguments":{},"inputResponses":{%s:{"action":"accept","content":{"name":"Ada"}}},"requestState":%s}`, tool, key, state))
					if err != nil {
						t.Fatal(err)
					}
					return a
				}
				for what, a := range map[string]*testkit.Answer{
					"changed":        answered("shop_ask", strings.Replace(state, state[20:24], "AAAA", 1)),
					"another server": answered("ask", state),
					"invented":       answered("shop_ask", `"asked"`),
				} {
					if a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 || !strings.Contains(a.Message.Error.Message, "requestState") {
						t.Errorf("a state that is %s: got %s", what, a.Body)
					}
				}
				if result, err := answered("shop_ask", state).ToolResult(); err != nil || !strings.Contains(result.Text(), "Ada") {
					t.Errorf("got %+v, %v", result, err)
				}
			})
		})
	}
}

// questionOf calls a tool that asks, and returns the state and the name of the question, both in JSON.
func questionOf(tb testing.TB, c *testkit.Client, tool string) (state, key string) {
	tb.Helper()
	a, err := c.Call(tb.Context(), tool, `{}`)
	if err != nil {
		tb.Fatal(err)
	}
	var result struct {
		Type     string                     `json:"resultType"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
		State    json.RawMessage            `json:"requestState"`
	}
	if a.Message == nil || json.Unmarshal(a.Message.Result, &result) != nil || result.Type != "input_required" {
		tb.Fatalf("got %s, want a question", a.Body)
	}
	for name := range result.Requests {
		key = fmt.Sprintf("%q", name)
	}
	return string(result.State), key
}

// If a client gives up a call, the call is cancelled at its server.
func TestManyCallIsCancelled(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "modern", func(t *testing.T) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		c := f.Client(t, testkit.Modern)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a, err := c.Call(ctx, "shop_progress", `{"count":100,"gapMs":1000}`); err == nil {
			t.Fatalf("the call ended with %s", a.Body)
		}
		synctest.Wait()
		if n, open := f.Shop.Cancellations("progress"), f.Shop.InFlight(); n != 1 || open != 0 {
			t.Errorf("got %d calls cancelled and %d under way at the server", n, open)
		}
	})
}
