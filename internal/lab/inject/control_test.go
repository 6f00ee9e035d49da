package inject_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A test can change the faults and read the ledger while calls are made.
func TestControl(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "story", func(t *testing.T) {
		server := testkit.NewServer(t, testkit.InMemory())
		injector, url := front(t, inject.MCP, server.URL(), "rules: [{fault: {status: 503}}]")
		control := serve(t, inject.Control(injector, inject.MCP))
		client := &http.Client{Transport: base(t)}
		caller := connect(t, url, testkit.Modern)
		const call = testkit.Echo + ` {"message":"x"}`

		got := fails(t, caller, call)
		ask(t, client, "GET", control+"/faults", "", `200 {"seed":1,"rules":[{"fault":"status","matched":1,"injected":1,"running":0}]}`)
		ask(t, client, "PUT", control+"/faults", `{"seed":7,"rules":[{"times":1,"effect":"after","fault":{"status":503}}]}`,
			`200 {"seed":7,"rules":[{"fault":"status","matched":0,"injected":0,"running":0}]}`)
		got += fails(t, caller, call, call)
		ask(t, client, "PUT", control+"/faults", "rules: [{fault: {status: 600}, tims: 1}]", `422 {"mistakes":[`+
			`{"line":1,"column":26,"message":"not a status of an answer","hint":"write one from 200 to 599"},`+
			`{"line":1,"column":32,"message":"unknown key `+"`tims`"+`","hint":"did you mean `+"`times`"+`?"}]}`)
		ask(t, client, "GET", control+"/ledger", "",
			`200 {"calls":[{"tool":"echo","arguments":"{\"message\":\"x\"}","calls":3,"reached":2,"faults":2}]}`)
		ask(t, client, "POST", control+"/reset", "", "204 ")
		ask(t, client, "GET", control+"/ledger", "", `200 {"calls":[]}`)
		got += fails(t, caller, call, call)
		if got != "xx.x." {
			t.Error(got)
		}
	})
}

// Web pages cannot reach the control API, not even by a name that resolves to this machine.
func TestControlIsLocal(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "page", func(t *testing.T) {
		control := serve(t, inject.Control(inject.New(plan(t, inject.MCP, "rules: [{fault: hang}]")), inject.MCP))
		client := &http.Client{Transport: base(t)}
		for _, change := range []func(*http.Request){
			func(r *http.Request) { r.Header.Set("Origin", "http://example.com") },
			func(r *http.Request) { r.Host = "example.com" },
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, control+"/ledger", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			change(r)
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Error(resp.Status)
			}
		}
	})
}

func ask(t *testing.T, client *http.Client, method, url, body, want string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Status[:4] + strings.TrimSpace(string(answer)); got != want {
		t.Errorf("%s %s: got %s, want %s", method, url, got, want)
	}
}
