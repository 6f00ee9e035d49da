package toollist_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// An unknown tool while the server is down is told as what it is, again and again: the server cannot be reached, and the
// tool is not in its last list.
func TestUnknownToolWhileTheServerIsDown(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string][]string{"": nil, ", held back": {"breaker: {}"}} {
		testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
			t.Helper()
			srv := testkit.NewServer(t, testkit.InMemory())
			client := gatewaytest.Start(t, srv.URL(), entry...).Client(t, era)
			if _, err := client.ListTools(t.Context()); err != nil { // the gateway itself has not fetched it
				t.Fatal(err)
			}
			if err := srv.Stop(); err != nil {
				t.Fatal(err)
			}
			for i := range 12 {
				checkUnlisted(t, name, client, "get_feild", "get_field", i)
			}
		})
	}
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		t.Helper()
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "")
		client := f.Client(t, era)
		client.MustListTools(t)
		if err := f.Shop.Stop(); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			checkUnlisted(t, "many", client, "shop_get_feild", "shop_get_field", i)
		}
	})
}

// The same of a program.
func TestLongUnknownToolWhileTheProgramIsDown(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	program := child.NewProgram(t)
	client := gatewaytest.StartProgram(t, program, "timeout: 1m", "tools: {order_create: {read_only: false}}").Client(t, testkit.Legacy)
	if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	program.Next(testkit.OrderCreate, "exit")
	program.Die()
	if _, err := client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs); err != nil {
		t.Fatal(err)
	}
	checkUnlisted(t, "stdio", client, "get_feild", "get_field", 0)
}

func checkUnlisted(t *testing.T, name string, client *testkit.Client, tool, near string, i int) {
	t.Helper()
	if i%2 == 0 {
		time.Sleep(6 * time.Second) // no list that was just fetched decides
	}
	a, err := client.Call(t.Context(), tool, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	e, text := gatewaytest.Record(t, a), a.Result(t).Text()
	if e.Kind.Class() != recourse.ClassUpstream || e.Effect != recourse.EffectNone || e.EffectBasis != recourse.BasisKnown ||
		!strings.Contains(text, `When it last listed its tools: There is no tool named "`+tool+`". Did you mean `+near+"?") {
		t.Errorf("%s, call %d: got %s, effect %s: %s", name, i+1, e.Kind, e.Effect, text)
	}
}
