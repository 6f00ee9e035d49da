package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A secret that the entry adds to the query reaches only the provider, even if the provider repeats it in its answer.
func TestAPIQuerySecret(t *testing.T) {
	t.Parallel()
	const secret = "k3y-of-the-0perator-9f2c"
	p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
		testkit.WriteJSON(w, http.StatusBadRequest, `{"message":"bad request: `+r.URL.String()+`"}`)
	})
	f := gatewaytest.StartAPI(t, p, gatewaytest.Orders, "query: {api_key: "+secret+"}")
	c := f.Client(t, testkit.Modern)
	_, a := callAPI(t, c, "orders_get", `{"id":"7"}`)
	if got := p.Requests(); len(got) != 1 || got[0] != "GET /v1/orders/7?api_key="+secret {
		t.Errorf("got %q", got)
	}
	if strings.Contains(string(a.Body), secret) {
		t.Errorf("the client got %s", a.Body)
	}
	f.Await(t, func(lines []gatewaytest.LogLine) bool { return len(lines) == 1 })
	if strings.Contains(f.Log.String(), secret) {
		t.Errorf("the secret is in the log: %s", f.Log)
	}
}

// If the entry forwards the client's header, a refusal of it is for the client to fix.
func TestAPIForward(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	c := gatewaytest.StartAPI(t, p, gatewaytest.Orders, "forward: [authorization]").Client(t, testkit.Modern)
	c.Header = http.Header{"Authorization": {"Bearer own"}}
	_, a := callAPI(t, c, "orders_get", `{"id":"7"}`)
	if e := gatewaytest.Record(t, a); e.Kind != "unauthenticated" || e.Origin != "provider" || p.Sent[0].Header.Get("Authorization") != "Bearer own" {
		t.Errorf("got %s", a.Body)
	}
}
