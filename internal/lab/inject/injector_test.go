package inject_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// fails makes calls, and returns a character for each: x for a failure.
func fails(t *testing.T, client *testkit.Client, calls ...string) string {
	t.Helper()
	var b strings.Builder
	for _, call := range calls {
		tool, arguments, _ := strings.Cut(call, " ")
		a, err := client.Call(soon(t), tool, arguments)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.Status == 503:
			b.WriteByte('x')
		default:
			b.WriteByte('.')
		}
	}
	return b.String()
}

func repeated(n int, call string) []string {
	calls := make([]string, n)
	for i := range calls {
		calls[i] = call
	}
	return calls
}

// The calls that each rule selects.
func TestRules(t *testing.T) {
	t.Parallel()

	const read, write = testkit.GetField + ` {"field_id":"F-1"}`, testkit.OrderCreate + ` {"reference":"A-17","amount":2.0}`
	tests := []struct {
		rule  string
		calls []string
		want  string
	}{
		{"match: {tool: get_*}", []string{read, write, read}, "x.x"},
		{"match: {arguments: {/reference: A-17, /amount: 2}}", []string{read, write, write}, ".xx"},
		{"match: {arguments: {/reference: A-18}}", []string{write}, "."},
		{"match: {arguments: {/missing: null}}", []string{write}, "."},
		{"match: {caller: 'test*'}", []string{read}, "x"},
		{"match: {caller: somebody}", []string{read}, "."},
		{"times: 2", []string{read, write, read, write}, "xx.."},
		{"match: {attempt: 1}", []string{read, write, read, write}, "xx.."},
		{"match: {attempt: [2, 3]}", []string{read, read, read, read, write}, ".xx.."},
		{"match: {method: tools/list}", []string{read}, "."},
	}
	for _, test := range tests {
		testkit.Virtual(t, test.rule, func(t *testing.T) {
			server := testkit.NewServer(t, testkit.InMemory())
			_, url := front(t, inject.MCP, server.URL(), "rules: [{"+test.rule+", fault: {status: 503}}]")
			if got := fails(t, connect(t, url, testkit.Modern), test.calls...); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A caller of the legacy era is known by the name from its initialize request.
func TestCallerOfALegacySession(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "legacy", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory())
		_, url := front(t, inject.MCP, server.URL(), "rules: [{match: {caller: 'test*'}, fault: {status: 503}}]")
		if got := fails(t, connect(t, url, testkit.Legacy), testkit.Echo+` {"message":"x"}`); got != "x" {
			t.Error(got)
		}
	})
}

// The same seed selects the same calls, and another seed other ones; their number matches the rate.
func TestRateIsRepeatable(t *testing.T) {
	t.Parallel()

	choose := func(t *testing.T, seed int) string {
		t.Helper()
		var chosen string
		synctest.Test(t, func(t *testing.T) {
			server := testkit.NewServer(t, testkit.InMemory())
			_, url := front(t, inject.MCP, server.URL(), fmt.Sprintf("{seed: %d, rules: [{rate: 0.25, fault: {status: 503}}]}", seed))
			chosen = fails(t, connect(t, url, testkit.Modern), repeated(200, testkit.Echo+` {"message":"x"}`)...)
		})
		return chosen
	}
	first := choose(t, 1)
	if again := choose(t, 1); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if choose(t, 2) == first {
		t.Error("another seed selects the same calls")
	}
	if n := strings.Count(first, "x"); n < 30 || n > 70 {
		t.Errorf("%d of 200 calls failed", n)
	}
}

// Concurrent callers get the same answers in every run, byte for byte: both with different calls, and with the same
// call.
func TestRateIsRepeatableForCallersTogether(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, era testkit.Era) []string {
		t.Helper()
		server := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(testkit.JSON), testkit.WithEra(era))
		_, url := front(t, inject.MCP, server.URL(), "seed: 3\nrules: [{rate: 0.4, effect: after, fault: {contract: fieldmcp, code: PROVIDER_TIMEOUT}}]")
		var together sync.WaitGroup
		answers := make([]string, 40)
		for caller := range answers {
			client := connect(t, url, era)
			together.Go(func() {
				for _, id := range []string{"F-1", fmt.Sprintf("F-%d", 100+caller)} {
					a, err := client.Call(soon(t), testkit.GetField, `{"field_id":"`+id+`"}`)
					if err != nil || a.Message == nil {
						t.Errorf("%+v %v", a, err)
						return
					}
					answers[caller] += id + " " + string(a.Message.Result) + "\n"
				}
			})
		}
		together.Wait()
		lines := strings.Split(strings.Join(answers, ""), "\n")
		slices.Sort(lines)
		return lines
	}
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			first, second := run(t, era), run(t, era)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("the second run differs (-want +got):\n%s", diff)
			}
			if n := strings.Count(strings.Join(first, ""), `"isError":true`); n < 20 || n > 60 {
				t.Errorf("%d of 80 calls fail", n)
			}
		})
	}
}

// The number of concurrent faults is limited, and a hang ends when its client goes away.
func TestAtMost(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "one at a time", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory())
		injector, url := front(t, inject.MCP, server.URL(), "rules: [{at_most: 1, fault: hang}]")
		client := connect(t, url, testkit.Modern)
		ctx, leave := context.WithCancel(t.Context())
		hung := make(chan error)
		go func() {
			_, err := client.Call(ctx, testkit.Echo, `{"message":"x"}`)
			hung <- err
		}()
		synctest.Wait()
		other := client.Clone(t)
		if a, err := other.Call(soon(t), testkit.Echo, `{"message":"y"}`); err != nil || a.Message == nil {
			t.Errorf("second call: %+v %v", a, err)
		}
		leave()
		if err := <-hung; err == nil {
			t.Error("the first call did not hang")
		}
		synctest.Wait()
		if _, rules := injector.Rules(); rules[0].Running != 0 || rules[0].Injected != 1 || rules[0].Matched != 2 {
			t.Errorf("%+v", rules)
		}
	})
}

// Two calls are the same regardless of how their arguments are spelled, but not if numbers differ slightly.
func TestSameCalls(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "ledger", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory())
		injector, url := front(t, inject.MCP, server.URL(), "rules: [{match: {arguments: {/n: 9007199254740993}}, fault: {status: 503}}]")
		client := connect(t, url, testkit.Modern)
		got := fails(t, client, `echo {"message":"x","n":2}`, `echo {"n":2.0, "message":"\u0078"}`, `echo {"n":20e-1,"message":"x"}`,
			`echo {"message":"x","n":9007199254740992}`, `echo {"message":"x","n":9007199254740993}`)
		if diff := cmp.Diff("....x", got); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
		var calls []string
		for _, e := range injector.Ledger().Calls {
			calls = append(calls, fmt.Sprint(e.Arguments, " ", e.Calls))
		}
		want := []string{`{"message":"x","n":2} 3`, `{"message":"x","n":9007199254740992} 1`, `{"message":"x","n":9007199254740993} 1`}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
	})
}

// The ledger masks arguments whose names mark secrets, and the table marks calls that reached the server twice.
func TestLedger(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "table", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory())
		injector, url := front(t, inject.MCP, server.URL(), "rules: [{match: {attempt: 1}, effect: after, fault: reset-before}]")
		client := connect(t, url, testkit.Legacy)
		injector.Reset()
		const arguments = `{"reference":"A-17","password":"hunter2","amount":5}`
		for range 2 {
			_, _ = client.Call(soon(t), testkit.OrderCreate, arguments) // the first one is reset
		}
		var table strings.Builder
		if err := injector.Ledger().WriteTable(&table); err != nil {
			t.Fatal(err)
		}
		want := "CALL          ARGUMENTS                                         CALLS  REACHED  FAULTS\n" +
			`order_create  {"amount":5,"password":"***","reference":"A-17"}  2      2 *      1` + "\n" +
			"* reached the server more than once with the same arguments\n"
		if table.String() != want {
			t.Errorf("%s", &table)
		}
	})
}
