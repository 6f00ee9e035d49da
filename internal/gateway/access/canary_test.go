package access_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// ledger records all outcomes.
type ledger struct{ testkit.Buffer }

func (l *ledger) Ended(o *observe.Outcome) {
	_, _ = fmt.Fprintf(l, "%+v\n", o)
	if o.Record != nil {
		_, _ = fmt.Fprintf(l, "%v %v\n", o.Record, o.Record.Cause())
	}
}

// A caller's credentials reach no server, log, observer or answer. With forward, they reach only the server.
func TestCredentialsStay(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	key, id := auth.NewKey()
	if got, ok := auth.KeyID(key); !ok || got != id {
		t.Fatalf("%s: got id %s", key, got)
	}
	access := "access:\n  team: {keys: [" + keyEntry(key) + "]}\n  devs: {headers: {id: dev-id, key: x-api-key}, keys: [" + keyEntry(key) + "]}\n" +
		"  staff: {jwt: {issuer: '" + issuer.URL + "', audience: [farm]}}\n"
	token := issuer.Token(t, nil)
	secrets := []string{key[len(key)-20:], token[len(token)-20:], token[len(token)/2 : len(token)/2+20]}
	for _, serverEra := range testkit.Eras {
		for _, forward := range []string{"[]", "[authorization]", "[x-api-key]"} {
			t.Run(serverEra.String()+" "+forward, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(serverEra))
				d := &door{gatewaytest.StartAt(t, gatewaytest.Path, access+"servers:\n  farm: {url: '"+srv.URL()+"', access: [devs, team, staff], forward: "+forward+"}\n"), srv}
				told := &ledger{}
				d.Gateway.Observe(told)
				answers := useCredentials(t, d, srv, key, token)
				for _, secret := range secrets {
					for what, text := range map[string]string{"log": d.Log.String(), "observer": told.String(), "answers": answers} {
						if strings.Contains(text, secret) {
							t.Errorf("%s is in the %s: %s", secret, what, text)
						}
					}
					for _, r := range srv.Requests() {
						for name, values := range r.Header {
							if strings.Contains(strings.Join(values, " "), secret) && !strings.Contains(forward, strings.ToLower(name)) {
								t.Errorf("%s reached the server in %s", secret, name)
							}
						}
						if strings.Contains(string(r.Body), secret) {
							t.Errorf("%s reached the server: %s", secret, r.Body)
						}
					}
				}
			})
		}
	}
}

// useCredentials makes successful and failed calls with these credentials, and returns all answers.
func useCredentials(tb testing.TB, d *door, srv *testkit.Server, key, token string) string {
	tb.Helper()
	var answers strings.Builder
	for _, header := range [][]string{
		{"Authorization", "Bearer " + key},
		{"Authorization", "Bearer " + token},
		{"Dev-Id", "ann", "X-Api-Key", key},
		{"Dev-Id", "bob", "X-Api-Key", key},
		{"Authorization", "Bearer " + key + "x"},
		{"Authorization", "Basic " + key},
		{"Authorization", "Bearer x" + token},
		{"Authorization", "Bearer " + key, "Authorization", "Bearer " + token},
		{"Dev-Id", key, "X-Api-Key", token},
	} {
		for _, era := range testkit.Eras {
			c := d.As(tb, era, header...)
			a := echoed(tb, c)
			_, _ = fmt.Fprintf(&answers, "%s %s\n", a.Header, a.Body)
			if !wasCalled(a) {
				continue
			}
			for _, fault := range []testkit.Fault{faults.LeakyToolError(), faults.ResetBeforeAnswer()} {
				srv.Next(testkit.EveryMessage, fault)
				if a, err := c.Call(tb.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`); err == nil {
					_, _ = fmt.Fprintf(&answers, "%s %s\n", a.Header, a.Body)
				}
			}
		}
	}
	return answers.String()
}

// The caller's credentials reach neither the environment nor the input of a program.
func TestCredentialsStayOutOfPrograms(t *testing.T) {
	t.Parallel()
	key, _ := auth.NewKey()
	program := child.NewProgram(t)
	lines := append(gatewaytest.Command(t, program), "access: [team]")
	g, log := gatewaytest.NewReaching(t, gatewaytest.Impatient, "access: {team: {keys: ["+keyEntry(key)+"]}}\nservers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
	d := &door{Front: &gatewaytest.Front{Log: log, URL: gatewaytest.Open(t, g, false) + "/farm/mcp"}}
	for _, era := range testkit.Eras {
		a := echoed(t, d.As(t, era, "Authorization", "Bearer "+key))
		if !wasCalled(a) || strings.Contains(string(a.Body), key) {
			t.Errorf("got HTTP %d %s", a.Status, a.Body)
		}
	}
	if strings.Contains(log.String(), key) {
		t.Errorf("the key is in the log: %s", log)
	}
}
