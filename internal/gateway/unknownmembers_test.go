package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A passage sends a failure from a server to a client, and returns what the client gets.
type passage func(t *rapid.T, f contracttest.Marked) string

// passages are the ways through a gateway; each opens one for a server's entry.
var passages = map[string]func(t *testing.T, entry ...string) passage{
	"HTTP":                           overHTTP(testkit.Legacy, testkit.Legacy),
	"HTTP, modern":                   overHTTP(testkit.Modern, testkit.Modern),
	"bridge to a modern server":      overHTTP(testkit.Legacy, testkit.Modern),
	"bridge to a legacy server":      overHTTP(testkit.Modern, testkit.Legacy),
	"program":                        toProgram(testkit.Legacy, testkit.Legacy),
	"program, modern":                toProgram(testkit.Modern, testkit.Modern),
	"bridge to a program":            toProgram(testkit.Modern, testkit.Legacy),
	"host over stdio":                fromHost,
	"one of several servers":         toOneOfMany(testkit.Legacy, testkit.Legacy),
	"one of several servers, modern": toOneOfMany(testkit.Modern, testkit.Modern),
	"one of several, over a bridge":  toOneOfMany(testkit.Legacy, testkit.Modern),
}

const fieldArguments = `{"field_id":"f-1"}`

// faultOf returns the fault with which a server sends f.
func faultOf(f contracttest.Marked) testkit.Fault {
	switch {
	case f.Body != "":
		return faults.StatusWith("", f.Status, f.Media, f.Body)
	case f.Error != "":
		return faults.Reply("", `"error":`+f.Error)
	default:
		return faults.Result("", f.Result)
	}
}

// called calls a tool, and returns the whole answer.
func called(t *rapid.T, c *testkit.Client, tool string) string {
	a, err := c.Call(context.Background(), tool, fieldArguments)
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Body)
}

func overHTTP(client, server testkit.Era) func(*testing.T, ...string) passage {
	return func(t *testing.T, entry ...string) passage {
		t.Helper()
		connect := func() (*testkit.Server, *testkit.Client) {
			srv := testkit.NewServer(t, testkit.WithEra(server))
			c := testkit.NewClient(t, gatewaytest.Start(t, srv.URL(), append(entry, "path: '/farm/mcp/{user_id}'")...).URL+"/u-1", client)
			c.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // terra asks for them
			c.MustInitialize(t)
			return srv, c
		}
		srv, c := connect()
		return func(t *rapid.T, f contracttest.Marked) string {
			if f.Status == http.StatusTooManyRequests {
				srv, c = connect() // calls to the other one are held back from then on
			}
			srv.Next(testkit.GetField, faultOf(f))
			return called(t, c, testkit.GetField)
		}
	}
}

func toProgram(client, server testkit.Era) func(*testing.T, ...string) passage {
	return func(t *testing.T, entry ...string) passage {
		t.Helper()
		program := child.NewProgram(t)
		c := gatewaytest.Start(t, "", append(entry, gatewaytest.CommandFor(t, program, server)...)...).Client(t, client)
		return func(t *rapid.T, f contracttest.Marked) string {
			member := `"result":` + f.Result
			switch {
			case f.Body != "":
				return f.Body // a program has no HTTP answers
			case f.Error != "":
				member = `"error":` + f.Error
			}
			program.Next(testkit.GetField, child.Answering(member, true))
			return called(t, c, testkit.GetField)
		}
	}
}

func fromHost(t *testing.T, entry ...string) passage {
	t.Helper()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers:\n  farm:\n    url: %s\n    %s\n", srv.URL(), strings.Join(entry, "\n    ")))
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	return func(t *rapid.T, f contracttest.Marked) string {
		if f.Status == http.StatusTooManyRequests {
			return f.Body // calls are held back from then on
		}
		srv.Next(testkit.GetField, faultOf(f))
		h.Send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_field","arguments":` + fieldArguments + `}}`)
		for line := range h.Lines {
			var m gatewaytest.HostMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m.Method == "" {
				return line
			}
		}
		t.Fatal("the output has ended")
		return ""
	}
}

func toOneOfMany(client, server testkit.Era) func(*testing.T, ...string) passage {
	return func(t *testing.T, entry ...string) passage {
		t.Helper()
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed+", "+entry[0], strings.Join(entry[1:], ", "), testkit.WithEra(server))
		c := f.Client(t, client)
		return func(t *rapid.T, failure contracttest.Marked) string {
			if failure.Status == http.StatusTooManyRequests {
				return failure.Body
			}
			f.Shop.Next(testkit.GetField, faultOf(failure))
			return called(t, c, "shop_"+testkit.GetField)
		}
	}
}

// Members that a contract does not know survive on every way, in the contract itself and in the default one.
func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	testUnknownMembers(t)
}

func TestLongUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	testUnknownMembers(t)
}

func testUnknownMembers(t *testing.T) {
	t.Helper()
	for i, way := range slices.Sorted(maps.Keys(passages)) {
		for j, from := range []string{"fieldmcp", "commerce", "patterns", "studies", "terra", "recourse"} {
			for k, to := range []string{from, "recourse"} {
				if to == "terra" && !strings.HasPrefix(way, "HTTP") || !testkit.Sampled(t, i+j+k, 3) {
					continue // terra asks for more than the other clients send
				}
				t.Run(fmt.Sprintf("%s/%s to %s", way, from, to), func(t *testing.T) {
					t.Parallel()
					entry := []string{"contract: " + to, "tools: {get_field: {read_only: false}}"} // so that none is repeated
					if to != from {
						entry = append(entry, "reads: "+from)
					}
					pass := passages[way](t, entry...)
					rapid.Check(t, func(t *rapid.T) {
						f := contracttest.MarkedFailures(from).Draw(t, "failure")
						got := pass(t, f)
						if missing := contracttest.Missing(append(f.Marks, f.Beside...), got); len(missing) > 0 {
							t.Errorf("%q are lost:\n%+v\n%s", missing, f, got)
						}
					})
				})
			}
		}
	}
}
