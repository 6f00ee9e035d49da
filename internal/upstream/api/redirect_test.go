package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// redirects are the statuses of redirects (RFC 9110, section 15.4).
var redirects = []int{300, 301, 302, 303, 305, 307, 308}

// A redirect never makes a provider carry out a write twice, whatever the status and the method, whether it leads back,
// to another path or round in a circle.
func TestRedirectOfAWrite(t *testing.T) {
	t.Parallel()
	for tool, arguments := range map[string]string{
		"orders_create": `{"item":"hay"}`, "orders_put": `{"id":"7"}`, "orders_delete": `{"id":"7"}`, "pay": `{}`,
	} {
		for _, status := range redirects {
			for _, location := range []string{"/v1/orders/", "/v1/orders", "/v1/orders/8", "/elsewhere?a=b"} {
				t.Run(fmt.Sprint(tool, " ", status, " ", location), func(t *testing.T) {
					t.Parallel()
					p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
						if r.Method != http.MethodGet {
							w.Header().Set("Location", location)
							w.WriteHeader(status)
							return
						}
						testkit.WriteJSON(w, http.StatusOK, `{"id":"8"}`)
					})
					result, a := callAPI(t, gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern), tool, arguments)
					writes := 0
					for _, line := range p.Requests() {
						if !strings.HasPrefix(line, "GET") {
							writes++
						}
					}
					if writes != 1 {
						t.Errorf("got %d writes: %s", writes, p.Requests())
					}
					if result.IsError == (status == http.StatusSeeOther) {
						t.Errorf("got %s", a.Body)
					}
					if result.IsError {
						if e := gatewaytest.Record(t, a); e.Effect != recourse.EffectUnknown || e.Kind != recourse.KindBadResponse {
							t.Errorf("got %s", a.Body)
						}
					}
				})
			}
		}
	}
}

// 303 says that the write was carried out. Whatever becomes of the request for its answer, that nothing was done is not
// said of it.
func TestAnswerOfAWriteThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"400": lies(400, "", "no"), "401": lies(401, "", "no"), "403": lies(403, "", "no"), "404": lies(404, "", "no"),
		"409": lies(409, "", "no"), "422": lies(422, "application/json", `{"message":"nothing was done"}`),
		"429": lies(429, "", "no", "Retry-After", "1"), "501": lies(501, "", "no"), "503": lies(503, "", "no"),
		"a circle": lies(303, "", "", "Location", "/v1/x"), "elsewhere": lies(302, "", "", "Location", "http://other.example/"),
		"HTML": lies(200, "text/html", "<h1>hi</h1>"), "closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		for _, keys := range []string{"", "trusted: true"} {
			t.Run(name+" "+keys, func(t *testing.T) {
				t.Parallel()
				p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						w.Header().Set("Location", "/v1/x")
						w.WriteHeader(http.StatusSeeOther)
						return
					}
					answer(w, r)
				})
				_, a := callAPI(t, gatewaytest.StartAPI(t, p, gatewaytest.Orders, keys).Client(t, testkit.Modern), "orders_create", `{"item":"hay"}`)
				if e := gatewaytest.Record(t, a); e.Effect != recourse.EffectUnknown || strings.Contains(string(a.Body), "Safe to repeat") {
					t.Errorf("got %s", a.Body)
				}
				if n := strings.Count(strings.Join(p.Requests(), "\n"), "POST"); n != 1 {
					t.Errorf("got %d writes", n)
				}
			})
		}
	}
}
