package once_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

const byArgument = "once: {delivered: argument}"

// meansAgain makes a call whose tool the gateway has given an argument: the same call is replayed, and one with another text in that
// argument is made; all of them once.
func meansAgain(t *testing.T, c *testkit.Client, tool, members string, made func() int) {
	t.Helper()
	if schema := inputSchemaOf(t, c, tool); !strings.Contains(schema, `"recourse_again":{"type":"string"`) || strings.Contains(schema, `"required":["recourse_again`) {
		t.Fatalf("the tool takes %s", schema)
	}
	for i, step := range []struct {
		again string
		made  int
	}{
		{``, 1},
		{``, 1},
		{`"recourse_again":""`, 1},
		{`"recourse_again":null`, 1},
		{`"recourse_again":"second"`, 2},
		{`"recourse_again":"second"`, 2},
		{`"recourse_again":"th\u0069rd"`, 3},
		{`"recourse_again":"third"`, 3},
		{``, 3},
	} {
		arguments := strings.Trim(members+","+step.again, ",")
		a := c.MustRequest(t, strconv.Itoa(i+10), "tools/call", `{"name":"`+tool+`","arguments":{`+arguments+`}}`)
		if told := strings.Contains(string(a.Body), "give recourse_again a new text"); told != isReplay(a) {
			t.Errorf("%d: %s got %s", i, step.again, a.Body)
		}
		if n := made(); !a.Succeeded() || n != step.made {
			t.Fatalf("%d: %s got %s, made %d times", i, step.again, a.Body, n)
		}
	}
}

// inputSchemaOf returns what a client is told of a tool's arguments.
func inputSchemaOf(t *testing.T, c *testkit.Client, tool string) string {
	t.Helper()
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if a := c.MustListTools(t); json.Unmarshal(a.Message.Result, &list) != nil {
		t.Fatalf("got %s", a.Body)
	}
	for _, each := range list.Tools {
		if each.Name == tool {
			return string(each.InputSchema)
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return ""
}

// With delivered: argument, a client says with an argument of the gateway's own that it means a call again; the server never sees it.
func TestOnceMeantByArgument(t *testing.T) {
	t.Parallel()
	const order = `"reference":"A-17","amount":12.5`
	const tools = "tools: {order_create: {" + byArgument + "}}"
	for _, e := range testkit.EraPairs {
		t.Run("http/"+e.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(e.Server))
			s, _ := onceStore(t)
			front := startOnce(t, srv, s, byArgument)
			meansAgain(t, front.Client(t, e.Client), "order_create", order, func() int { return srv.Orders("A-17") })
			for _, r := range srv.Requests() {
				if strings.Contains(string(r.Body), "recourse_again") {
					t.Errorf("the server got %s", r.Body)
				}
			}
		})
		t.Run("program/"+e.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := onceStore(t)
			program := child.NewProgram(t)
			lines := append(gatewaytest.CommandFor(t, program, e.Server), tools)
			front := onceFront(t, s.Once(), gatewaytest.Path, "servers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
			meansAgain(t, front.Client(t, e.Client), "order_create", order, func() int { return program.Orders("A-17") })
		})
		t.Run("many/"+e.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := onceStore(t)
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(e.Server))
			front := onceFront(t, s.Once(), "/all/mcp", fmt.Sprintf("servers:\n  farm:\n    url: %s\n    path: none\n    %s\n"+
				"endpoints:\n  all: {servers: [{name: farm, prefix: f_}]}\n", srv.URL(), tools))
			meansAgain(t, front.Client(t, e.Client), "f_order_create", order, func() int { return srv.Orders("A-17") })
		})
	}
	t.Run("api", func(t *testing.T) {
		t.Parallel()
		var made atomic.Int64
		p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) {
			made.Add(1)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"id":"p-1"}`))
		})
		s, _ := onceStore(t)
		front := gatewaytest.StartAPIOnce(t, p, gatewaytest.Orders, s.Once(), "tools: {orders_create: {"+byArgument+"}}")
		meansAgain(t, front.Client(t, testkit.Modern), "orders_create", `"item":"tea"`, func() int { return int(made.Load()) })
	})
}

// A host on stdio means a call again in the same way.
func TestOnceMeantByArgumentOnStdio(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	s, _ := onceStore(t)
	front := onceFront(t, s.Once(), gatewaytest.Path, "servers:\n  farm:\n    url: "+srv.URL()+"\n    tools: {order_create: {"+byArgument+"}}\n")
	host := gatewaytest.StartHost(t, front.Gateway)
	host.Initialize()
	for i, again := range []string{``, ``, `,"recourse_again":"2"`} {
		host.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order_create","arguments":{"reference":"A-17","amount":1%s}}}`, i, again))
		said := host.Next()
		if said.Result == nil {
			t.Fatalf("%d: got %+v", i, said)
		}
	}
	if n := srv.Orders("A-17"); n != 2 {
		t.Errorf("there are %d orders", n)
	}
}

// An argument of that name that a tool has is the tool's own.
func TestOnceArgumentOfTheTool(t *testing.T) {
	t.Parallel()
	const own = `{"name":"log","inputSchema":{"type":"object","properties":{"recourse_again":{"type":"integer"}},"required":["recourse_again"]}}`
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "log", Definition: own}))
	s, _ := onceStore(t)
	g := startOnce(t, srv, s, "once: true}, log: {"+byArgument)
	c := g.Client(t, testkit.Modern)
	if schema := inputSchemaOf(t, c, "log"); schema != `{"type":"object","properties":{"recourse_again":{"type":"integer"}},"required":["recourse_again"]}` {
		t.Errorf("the tool takes %s", schema)
	}
	for i, want := range []bool{false, true} {
		a := c.MustRequest(t, strconv.Itoa(i+1), "tools/call", `{"name":"log","arguments":{"recourse_again":7}}`)
		if !a.Succeeded() || isReplay(a) != want {
			t.Errorf("got %s", a.Body)
		}
	}
	if requests := srv.Requests(); !strings.Contains(string(requests[len(requests)-1].Body), `"recourse_again":7`) {
		t.Errorf("the server got %s", requests[len(requests)-1].Body)
	}
}

// What is no text by which a call could be told apart is refused before anything is sent, and a tool that only reads has no such argument.
func TestOnceArgumentRefused(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, byArgument+"}, get_field: {read_only: true, "+byArgument).Client(t, testkit.Modern)
	for _, value := range []string{`true`, `7`, `["a"]`, `{}`, `"a\u0000b"`, `"` + strings.Repeat("k", 256) + `"`} {
		e := gatewaytest.Record(t, order(t, c, `{"reference":"A-17","amount":1,"recourse_again":`+value+`}`, ""))
		if e.Kind != recourse.KindInvalidValue || e.Effect != recourse.EffectNone || srv.Orders("A-17") != 0 {
			t.Errorf("%.40s: got %+v", value, e)
		}
	}
	if schema := inputSchemaOf(t, c, "get_field"); strings.Contains(schema, "recourse_again") {
		t.Errorf("the tool takes %s", schema)
	}
}
