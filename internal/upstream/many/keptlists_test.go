package many_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// fresh is for how long a list is shown without asking the servers.
const fresh = 5 * time.Second

// A list that is seconds old is shown without asking anybody. A server that announces another one is asked again.
func TestManyListsAreFresh(t *testing.T) {
	t.Parallel()
	for _, serverEra := range testkit.Eras {
		t.Run(serverEra.String(), func(t *testing.T) {
			t.Parallel()
			testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
				f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "", testkit.WithEra(serverEra))
				c := f.Client(t, era)
				lists := func(when string, farm, shop, tools int) {
					t.Helper()
					if got := len(c.MustListTools(t).ToolNames(t)); got != tools {
						t.Errorf("%s: got %d tools, want %d", when, got, tools)
					}
					if n, m := f.Farm.Messages("tools/list"), f.Shop.Messages("tools/list"); n != farm || m != shop {
						t.Errorf("%s: got %d and %d requests, want %d and %d", when, n, m, farm, shop)
					}
				}
				for range 100 {
					lists("at first", 1, 1, 12)
				}
				time.Sleep(fresh)
				lists("later", 2, 2, 12)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := c.MustListen(ctx, t)
				defer s.Close()
				synctest.Wait()
				time.Sleep(time.Second)
				f.Shop.SetTools(testkit.Tool{Name: "new"})
				for got := ""; got != protocol.NotifyToolsChanged; got = s.MustNext(t).Method { //nolint:revive // the end of the stream fails the test
				}
				time.Sleep(time.Millisecond)
				lists("after an announcement", 2, 3, 13)
				lists("and once more", 2, 3, 13)
			})
		})
	}
}

// allPages reads a list to its end.
func allPages(tb testing.TB, c *testkit.Client) (names []string, sizes []int, first *testkit.Answer) {
	tb.Helper()
	for cursor := "{}"; cursor != ""; {
		a, err := c.Request(tb.Context(), "tools/list", cursor)
		if err != nil {
			tb.Fatal(err)
		}
		if first == nil {
			first = a
		}
		page := a.ToolNames(tb)
		names, sizes = append(names, page...), append(sizes, len(page))
		if cursor = nextCursor(tb, a); cursor != "" {
			cursor = fmt.Sprintf(`{"cursor":%q}`, cursor)
		}
	}
	return names, sizes, first
}

func nextCursor(tb testing.TB, a *testkit.Answer) string {
	tb.Helper()
	var result struct {
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(a.Message.Result, &result); err != nil {
		tb.Fatal(err)
	}
	return result.NextCursor
}

func manyTools(n int, description string) []testkit.Tool {
	all := make([]testkit.Tool, n)
	for i := range all {
		name := fmt.Sprintf("tool_%d", i)
		all[i] = testkit.Tool{Name: name, Definition: fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)}
	}
	return all
}

// A long list has pages. A cursor is good for the list that it is from, and any other one is answered with what to do.
func TestManyListsHavePages(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		f.Farm.SetTools(manyTools(1500, "")...)
		f.Shop.SetTools(manyTools(900, strings.Repeat("long ", 400))...)
		c := f.Client(t, era)
		names, sizes, first := allPages(t, c)
		unique := map[string]bool{}
		for _, name := range names {
			unique[name] = true
		}
		if len(unique) != 2412 || len(names) != 2412 || len(sizes) < 3 || sizes[0] != 1000 || !unique["shop_tool_899"] {
			t.Errorf("got %d names on pages of %v", len(names), sizes)
		}
		if got := targets(t, first); got["farm"].Listed != 1506 || got["shop"].Listed != 906 {
			t.Errorf("got %+v", got)
		}
		if n := f.Farm.Messages("tools/list"); n != 1 {
			t.Errorf("the pages took %d requests", n)
		}
		cursor := nextCursor(t, first)
		time.Sleep(fresh)
		if a, err := c.Request(t.Context(), "tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor)); err != nil || len(a.ToolNames(t)) != sizes[1] {
			t.Errorf("the second page of the same list later: got %.300s, %v", a.Body, err)
		}
		f.Shop.SetTools(manyTools(901, "")...)
		time.Sleep(fresh)
		for cursor, want := range map[string]string{cursor: "has changed", "7": "no cursor of this list", "AAAA": "no cursor"} {
			a, err := c.Request(t.Context(), "tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor))
			if err != nil || a.Message.Error == nil || a.Message.Error.Code != -32602 || !strings.Contains(string(a.Body), want) ||
				!strings.Contains(string(a.Body), "from its beginning") {
				t.Errorf("%s: got %.500s, %v", cursor, a.Body, err)
			}
		}
	})
}

// However many clients want a list, a server that hangs is asked once, and again when the time is over; only the first ones wait for
// it. It is listed again soon after it has recovered, although it never answers what it was asked before.
func TestManyServerHangs(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		c := f.Client(t, era)
		c.MustListTools(t)
		time.Sleep(fresh)
		asked := f.Shop.Messages("tools/list")
		f.Shop.Always("tools/list", faults.Hang())
		lists := func(n int) (took time.Duration, about target) {
			began := time.Now()
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					a := c.MustListTools(t)
					if got := len(a.ToolNames(t)); got != 12 {
						t.Errorf("got %d tools", got)
					}
				})
			}
			all.Wait()
			took = time.Since(began)
			return took, targets(t, c.MustListTools(t))["shop"]
		}
		if took, about := lists(50); took != 2*time.Second || about.Outcome != "late" || f.Shop.Messages("tools/list") > asked+2 {
			t.Errorf("the first lists took %v with %d requests: %+v", took, f.Shop.Messages("tools/list")-asked, about)
		}
		for range 100 {
			if took, about := lists(1); took != 0 || about.Outcome != "late" {
				t.Errorf("a later list took %v: %+v", took, about)
			}
			time.Sleep(time.Second)
		}
		if n := f.Shop.Messages("tools/list") - asked; n > 80 {
			t.Errorf("the server was asked %d times in 100 s", n)
		}
		f.Shop.Behave()
		time.Sleep(time.Second)
		c.MustListTools(t)
		time.Sleep(time.Second)
		if took, about := lists(1); took != 0 || about.Outcome != "ok" {
			t.Errorf("after the recovery a list took %v: %+v", took, about)
		}
	})
}
