package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

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
			g, log := gatewaytest.New(t, members()+"\nservers:\n  one: {url: '"+one.URL()+"', path: none}\n"+
				"  two: {url: '"+two.URL()+"', path: none, grants: [{roles: [boss], tools: ['*']}, {roles: [reader], tools: [echo]}]}\n"+
				"endpoints:\n  farm:\n    lists: none\n    servers: [one, {name: two, prefix: two_}]\n    access: [team]\n"+
				"    grants: [{roles: [reader], tools: [echo, two_echo, two_get_field]}, {roles: [boss], tools: ['two_*']}]\n")
			d := &door{&gatewaytest.Front{Log: log, URL: gatewaytest.Open(t, g, true) + "/farm/mcp"}, nil}
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
				if a := echoed(t, d.as(t, era)); gatewaytest.Record(t, a).Kind != recourse.KindUnauthenticated {
					t.Errorf("nobody: got HTTP %d %s", a.Status, a.Body)
				}
			}
		})
	}
}
