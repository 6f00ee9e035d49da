package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/retry"
)

// watched returns a client of a gateway in front of srv, and the outcomes of its calls.
func watched(t *testing.T, srv *testkit.Server, entry ...string) (*testkit.Client, gatewaytest.Outcomes) {
	t.Helper()
	all := append([]string{"url: " + srv.URL()}, entry...)
	g, _ := gatewaytest.New(t, "servers:\n  farm:\n    "+strings.Join(all, "\n    ")+"\n")
	told := make(gatewaytest.Outcomes, 10)
	g.Observe(told)
	return testkit.NewClient(t, gatewaytest.Open(t, g, true)+"/farm/mcp", testkit.Modern), told
}

// An outcome has every attempt, why it was repeated, and the wait before it.
func TestOutcomeTellsOfAttempts(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		client, told := watched(t, srv, "trust_annotations: true")
		srv.Next(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain), faults.ResetBeforeAnswer())
		client.Header = http.Header{"Traceparent": {"00-" + trace + "-00f067aa0ba902b7-01"}}
		a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
		if err != nil {
			t.Fatal(err)
		}
		o := <-told
		if o.ID != a.Header.Get("X-Request-Id") || o.End != "success" || o.Status != http.StatusOK || o.Bytes != int64(len(a.Body)) ||
			o.Server != "farm" || o.Tool != testkit.GetField || o.Contract != "recourse" || o.Nature != retry.Reads || o.TraceID() != trace {
			t.Errorf("the outcome: got %+v, trace %q", o, o.TraceID())
		}
		if o.Sent != 3 || len(o.Attempts) != 3 {
			t.Fatalf("got %d attempts of %d", len(o.Attempts), o.Sent)
		}
		first, second, last := o.Attempts[0], o.Attempts[1], o.Attempts[2]
		if first.Wait != 0 || first.Status != http.StatusServiceUnavailable || first.Failure != recourse.KindUnavailable ||
			first.Reason != "the tool only reads" {
			t.Errorf("the first attempt: got %+v", first)
		}
		if second.Status != 0 || second.Failure != recourse.KindUnreachable || second.Reason != "the tool only reads" {
			t.Errorf("the second attempt: got %+v", second)
		}
		if last.Status != http.StatusOK || last.Failure != "" || last.Reason != "" {
			t.Errorf("the last attempt: got %+v", last)
		}
		for i, attempt := range o.Attempts[1:] {
			if before := o.Attempts[i]; attempt.Wait < 50*time.Millisecond || attempt.Began.Sub(before.Began.Add(before.Took)) < attempt.Wait {
				t.Errorf("attempt %d: got a wait of %s, and it began %s after the previous one", i+2, attempt.Wait, attempt.Began.Sub(before.Began))
			}
		}
	})
}

// The outcome of a failure has its cause, and why it was not repeated.
func TestOutcomeTellsOfTheCause(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	client, told := watched(t, srv)
	srv.Next(testkit.OrderCreate, faults.StatusWith("", http.StatusBadGateway, "text/plain", "no route: password=hunter2-s3cr3t"))
	if _, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`); err != nil {
		t.Fatal(err)
	}
	o := <-told
	const reason = "the call may have taken effect: a repetition might do it twice"
	if o.Record == nil || o.Record.Effect != recourse.EffectUnknown || o.Reason != reason || o.Attempts[0].Reason != reason {
		t.Errorf("the outcome: got %+v", o)
	}
	if cause := o.Cause(); !strings.Contains(cause, "no route") || strings.Contains(cause, "s3cr3t") {
		t.Errorf("the cause: got %q", cause)
	}
}

// Secrets in the arguments of an outcome are masked. If the contract never shows values, only types are kept.
func TestOutcomeMasksArguments(t *testing.T) {
	t.Parallel()
	const given = `{"query":"wheat","password":"hunter2-s3cr3t","pin":"p1n","code":"c0de-s3cr3t","url":"https://u:p4ss-s3cr3t@h/","x_1":"of-a-pattern-s3cr3t"}`
	schema := `{"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"code":{"type":"string","format":"password"}},
		"patternProperties":{"^x_":{"type":"string","writeOnly":true}}}`
	for contract, want := range map[string]string{
		"recourse": `"query":"wheat"`, "commerce": `"query":"[string]"`,
	} {
		t.Run(contract, func(t *testing.T) {
			t.Parallel()
			tool := testkit.Tool{Name: "search", Definition: `{"name":"search","inputSchema":` + schema + `}`}
			client, told := watched(t, testkit.NewServer(t, testkit.InMemory(), testkit.WithTools(tool)), "contract: "+contract)
			if _, err := client.Call(t.Context(), "search", given); err != nil {
				t.Fatal(err)
			}
			client.Close()
			o := <-told
			for _, values := range []bool{true, false} {
				kept := string(o.Arguments(values))
				if strings.Contains(kept, "s3cr3t") || strings.Contains(kept, "p1n") {
					t.Errorf("got a secret: %s", kept)
				}
				if values && !strings.Contains(kept, want) || !values && !strings.Contains(kept, `"query":"[string]"`) {
					t.Errorf("got %s", kept)
				}
			}
		})
	}
}

// The trace id comes from the header, or else from _meta. An invalid id is ignored.
func TestOutcomeNamesTheTrace(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	client, told := watched(t, testkit.NewServer(t, testkit.InMemory()))
	for parent, want := range map[string]string{
		"00-" + id + "-b7ad6b7169203331-01":                       id,
		"cc-" + id + "-b7ad6b7169203331-01-later":                 id,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"ff-" + id + "-b7ad6b7169203331-01":                       "",
		"00-" + strings.ToUpper(id) + "-b7ad6b7169203331-01":      "",
		"00-" + id: "",
		"":         "",
	} {
		params := `{"name":"` + testkit.GetField + `","arguments":{"field_id":"F-1"},"_meta":{"traceparent":"` + parent + `"}}`
		if _, err := client.Request(t.Context(), "tools/call", params); err != nil {
			t.Fatal(err)
		}
		if o := <-told; o.TraceID() != want {
			t.Errorf("%q: got %q, want %q", parent, o.TraceID(), want)
		}
	}
}

// In every contract, the outcome's request id is the one in the record, in the header and, if the contract has a place for
// it, in the text.
func TestRequestIDIsTold(t *testing.T) {
	t.Parallel()
	inText := map[string]bool{"fieldmcp": true, "commerce": true, "recourse": true, "studies": false, "patterns": false, "terra": false}
	for _, name := range contract.Builtin().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, known := inText[name]
			if !known {
				t.Fatal("say whether this contract has a place for the request id in its text")
			}
			srv := testkit.NewServer(t, testkit.InMemory())
			client, told := watched(t, srv, "contract: "+name, "trusted: true", "trust_annotations: true")
			client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // terra requires them
			internal := `{"v":1,"kind":"internal","code":"internal","contract":"recourse","message":"No."}`
			srv.Next(testkit.GetField, faults.Result("", `{"content":[{"type":"text","text":"no"}],"isError":true,"_meta":{"`+recourse.MetaKey+`":`+internal+`}}`))
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
			if err != nil {
				t.Fatal(err)
			}
			result, err := a.ToolResult()
			if err != nil {
				t.Fatal(err)
			}
			o := <-told
			if strings.Contains(result.Text(), o.ID) != place || gatewaytest.Record(t, a).RequestID != o.ID || a.Header.Get("X-Request-Id") != o.ID || o.ID == "" {
				t.Errorf("id %s in the text: got %v: %s", o.ID, place, a.Body)
			}
		})
	}
}
