package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// costlyTools returns tools whose patterns would take gigabytes if all were compiled.
func costlyTools(tools, patterns int) []testkit.Tool {
	list := make([]testkit.Tool, tools)
	for i := range list {
		properties := make([]string, patterns)
		for k := range properties {
			properties[k] = fmt.Sprintf(`"p%d":{"pattern":"^(a{1,500}b{1,500}){1,1}%d$"}`, k, k)
		}
		list[i].Name = fmt.Sprintf("costly_%d", i)
		list[i].Definition = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","required":["order"],"properties":{%s}}}`,
			list[i].Name, strings.Join(properties, ","))
	}
	return list
}

// A list that would take hours to compile does not delay calls: its tools can be called, arguments are checked as far as
// possible, and each tool without a full check is logged once.
func TestCostlyListIsBounded(t *testing.T) {
	t.Parallel()

	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(costlyTools(24, 300)...))
			f := gatewaytest.Start(t, srv.URL()) // without bounds this takes hours
			c := f.Client(t, era)
			arguments := []string{`"order":1`}
			for k := range 200 {
				arguments = append(arguments, fmt.Sprintf(`"p%d":"a%d"`, k, k))
			}
			for i := range 24 {
				a, err := c.Call(t.Context(), fmt.Sprintf("costly_%d", i), `{`+strings.Join(arguments[:1+i], ",")+`}`)
				if err != nil || a.Status != 200 || strings.Contains(string(a.Body), "timeout") {
					t.Fatalf("got %s, %v", a.Body, err)
				}
			}
			a, err := c.Call(t.Context(), "costly_10", `{`+strings.Join(arguments[1:], ",")+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if e := gatewaytest.Record(t, a); e.Kind != recourse.KindMissingParam {
				t.Errorf("got %+v", e)
			}
			for name, n := range notes(t, f.Log) {
				if n > 2 { // the last call may find another first unchecked pattern
					t.Errorf("%s: logged %d times", name, n)
				}
			}
		})
	}
}

// notes counts the log's lines about partly used schemas, by tool.
func notes(tb testing.TB, log *gatewaytest.Log) map[string]int {
	tb.Helper()
	notes := map[string]int{}
	for text := range strings.Lines(log.String()) {
		var line struct {
			Msg  string `json:"msg"`
			Tool string `json:"tool"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			tb.Fatal(err)
		}
		if line.Msg == "inputSchema cannot be used in full" {
			notes[line.Tool]++
		}
	}
	return notes
}

// Of a schema that is too large, the outermost level is checked, which is logged.
func TestLargeSchemaIsCheckedOutermost(t *testing.T) {
	t.Parallel()
	properties := make([]string, 5000)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	const form = `{"name":"large","inputSchema":{"type":"object","required":["id"],"properties":{"more":{"properties":{%s}}}}}`
	srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(testkit.Tool{
		Name: "large", Definition: fmt.Sprintf(form, strings.Join(properties, ",")),
	}))
	f := gatewaytest.Start(t, srv.URL())
	c := f.Client(t, testkit.Modern)
	if e := gatewaytest.Record(t, c.MustCall(t, "large", `{"more":{}}`)); e.Kind != recourse.KindMissingParam {
		t.Errorf("got %+v", e)
	}
	c.MustCall(t, "large", `{"id":"A-1","more":{"p7":7}}`)
	if srv.Executions("large") != 1 || notes(t, f.Log)["large"] != 1 || !strings.Contains(f.Log.String(), "only the outermost arguments are checked") {
		t.Errorf("%d calls; %s", srv.Executions("large"), f.Log)
	}
}

// Of a list that cannot be read to its end, the tools that can be read are checked, and others pass.
func TestLongListIsCheckedAsFarAsItIsRead(t *testing.T) {
	t.Parallel()
	tools := []string{`{"name":"order_create","inputSchema":{"type":"object","required":["reference"]}}`}
	for i := range 1500 {
		const form = `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object"}}`
		tools = append(tools, fmt.Sprintf(form, i, strings.Repeat("d", 4<<10))) // 6 MiB in all
	}
	page := `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"2"}`
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(era))
			var asked atomic.Int64
			srv.Always("tools/list", testkit.Fault{Name: "pages", Happen: func(e *testkit.Exchange) {
				if asked.Add(1)%2 == 1 {
					e.Answer(e.Result(page))
					return
				}
				e.Reply(http.StatusInternalServerError, "text/plain", "no")
			}})
			f := gatewaytest.Start(t, srv.URL())
			c := f.Client(t, era)
			if e := gatewaytest.Record(t, c.MustCall(t, testkit.OrderCreate, `{}`)); e.Kind != recourse.KindMissingParam {
				t.Errorf("got %+v", e)
			}
			c.MustEcho(t) // which is not among the tools that could be read
			if n := notes(t, f.Log)[""]; n != 1 {
				t.Errorf("it is logged %d times that some are not checked", n)
			}
		})
	}
}
