package access_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// An endpoint with several servers has access control of its own. Its grants use the names that clients see; the servers'
// grants use the servers' own names.
func TestAccessOfManyServers(t *testing.T) {
	t.Parallel()
	for _, serverEra := range testkit.Eras {
		t.Run(serverEra.String(), func(t *testing.T) {
			t.Parallel()
			one := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(serverEra))
			two := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(serverEra))
			d := &door{gatewaytest.StartAt(t, gatewaytest.Path, members()+"\nservers:\n  one: {url: '"+one.URL()+"', path: none}\n"+
				"  two: {url: '"+two.URL()+"', path: none, grants: [{roles: [boss], tools: ['*']}, {roles: [reader], tools: [echo]}]}\n"+
				"endpoints:\n  farm:\n    lists: none\n    servers: [one, {name: two, prefix: two_}]\n    access: [team]\n"+
				"    grants: [{roles: [reader], tools: [echo, two_echo, two_get_field]}, {roles: [boss], tools: ['two_*']}]\n"), nil}
			sees := map[string][]string{
				"reader": {"echo", "two_echo"}, "nobody": nil,
				"boss": {"two_ask", "two_echo", "two_get_field", "two_order_create", "two_order_get", "two_progress"},
			}
			for range 2 { // the second time from the kept lists of each caller
				for _, era := range testkit.Eras {
					for name, want := range sees {
						a, err := d.member(t, era, name).ListTools(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						var list struct {
							Tools []struct {
								Name string `json:"name"`
							} `json:"tools"`
						}
						if err := json.Unmarshal(a.Message.Result, &list); err != nil {
							t.Fatalf("got %s, %v", a.Body, err)
						}
						var got []string
						for _, tool := range list.Tools {
							got = append(got, tool.Name)
						}
						slices.Sort(got)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s, %s sees (-want +got):\n%s", era, name, diff)
						}
					}
				}
			}
			for _, era := range testkit.Eras {
				for _, call := range []struct {
					who, tool string
					denied    bool
				}{
					{"reader", "echo", false},
					{"reader", "two_echo", false},
					{"reader", "two_get_field", true}, // the server's own grants do not include it
					{"reader", "order_create", true},
					{"boss", "echo", true},
					{"boss", "two_echo", false},
					{"nobody", "two_echo", true},
				} {
					a, err := d.member(t, era, call.who).Call(t.Context(), call.tool, `{"message":"x","field_id":"F-1"}`)
					if err != nil {
						t.Fatal(err)
					}
					if denied := strings.Contains(string(a.Body), `"kind":"permission_denied"`) ||
						strings.Contains(string(a.Body), `"kind":"unknown_tool"`); denied != call.denied {
						t.Errorf("%s, %s calls %s: got %s", era, call.who, call.tool, a.Body)
					}
				}
				if a := echoed(t, d.As(t, era)); gatewaytest.Record(t, a).Kind != recourse.KindUnauthenticated {
					t.Errorf("nobody: got HTTP %d %s", a.Status, a.Body)
				}
			}
		})
	}
}

// A limit's condition on read_only uses the servers' entries and lists.
func TestReadOnlyOfManyServers(t *testing.T) {
	t.Parallel()
	for _, servers := range []string{"tools: {'get_*': {read_only: true}, order_get: {read_only: true}}", "trust_annotations: true"} {
		testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
			farm, shop := testkit.NewServer(t, testkit.InMemory()), testkit.NewServer(t, testkit.InMemory())
			shop.SetTools(testkit.Tool{Name: "sell"})
			d := &door{gatewaytest.StartAt(t, "/all/mcp", members()+"\nservers:\n  farm: {url: '"+farm.URL()+"', path: none, "+servers+"}\n"+
				"  shop: {url: '"+shop.URL()+"', path: none, tools: {sell: {read_only: true}}}\n"+
				"endpoints: {all: {servers: [farm, {name: shop, deny: ['get_*', 'order_*', echo, ask, progress]}], lists: none, access: [team], grants: [{tools: ['*'], when: read_only}]}}\n"), farm}
			c := d.member(t, era, "reader")
			for tool, allowed := range map[string]bool{testkit.GetField: true, testkit.OrderGet: true, testkit.OrderCreate: false, "sell": true} {
				for range 2 { // before and after the lists are fetched
					a := c.MustCall(t, tool, `{"field_id":"F-1","reference":"A","amount":1}`)
					if denied := strings.Contains(string(a.Body), `"kind":"permission_denied"`); denied == allowed {
						t.Errorf("%s: got %s", tool, a.Body)
					}
				}
			}
			a, err := c.ListTools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range a.ToolNames(t) {
				if name == testkit.OrderCreate {
					t.Errorf("%s is listed", name)
				}
			}
		})
	}
}

// What is kept of a server's list for a caller is not shown to the same caller with a token that has other roles.
func TestKeptListsOfRoles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer := testkit.NewIssuer(t)
		srv := testkit.NewServer(t, testkit.InMemory())
		d := &door{gatewaytest.StartAt(t, "/all/mcp", staff(issuer)+"\nservers:\n  farm: {url: '"+srv.URL()+
			"', path: none, grants: [{roles: [boss], tools: ['*']}, {roles: [reader], tools: [echo]}]}\n"+
			"endpoints: {all: {servers: [farm], lists: none, access: [staff]}}\n"), srv}
		for range 2 {
			for role, want := range map[string]int{"boss": 6, "reader": 1, "nobody": 0} {
				c := d.with(t, issuer.Token(t, map[string]any{"sub": "ada", "roles": []string{role}}))
				if got := c.MustListTools(t).ToolNames(t); len(got) != want {
					t.Errorf("ada as %s: got %v", role, got)
				}
			}
		}
		if n := srv.Messages("tools/list"); n != 3 {
			t.Errorf("got %d requests for lists, want one for each role", n)
		}
	})
}
