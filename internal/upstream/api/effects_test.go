package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// What is said of a write at an HTTP API, and on what that rests: that nothing was changed is known by the statuses that
// docs/trust.md lists, and otherwise only stated by the provider, whatever its body says; after a 5xx, not even that.
// A write is sent again after 429 alone.
func TestEffectsOfWritesAtAnAPI(t *testing.T) {
	t.Parallel()
	known := []int{400, 401, 403, 405, 406, 413, 415, 421, 429}
	bodies := map[string]string{
		"nothing": ``, "a sentence": `{"message":"Nothing was done. Try again."}`, "a limit": `{"error":{"code":"rate_limited","message":"Too many requests"}}`,
		"a record": `{"v":1,"kind":"rate_limited","message":"no","retry":"same_call","effect":"none","effectBasis":"known","afterMs":1}`,
	}
	for status := 400; status < 520; status++ {
		if http.StatusText(status) == "" {
			continue
		}
		for name, body := range bodies {
			testkit.Virtual(t, fmt.Sprint(status, " ", name), func(t *testing.T) {
				p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { testkit.WriteJSON(w, status, body) })
				_, a := callAPI(t, gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern), "orders_create", `{"item":"hay"}`)
				e := gatewaytest.Record(t, a)
				isKnown := false
				for _, s := range known {
					isKnown = isKnown || s == status
				}
				broke := status >= 500 && status != http.StatusNotImplemented || status == http.StatusRequestTimeout
				switch {
				case isKnown && (e.Effect != recourse.EffectNone || e.EffectBasis != recourse.BasisKnown),
					broke && e.Effect != recourse.EffectUnknown,
					!isKnown && !broke && e.Effect != recourse.EffectUnknown && e.EffectBasis != recourse.BasisStated:
					t.Errorf("got effect %s, %s: %s", e.Effect, e.EffectBasis, a.Body)
				}
				if n := len(p.Requests()); n != 1 && status != http.StatusTooManyRequests {
					t.Errorf("sent %d times: %s", n, a.Body)
				}
			})
		}
	}
}
