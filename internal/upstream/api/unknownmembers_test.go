package api_test

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// bodyOf draws the body in which an API tells of a failure, in one of the ways in which services do.
func bodyOf(t *rapid.T, f contracttest.Marked) (body string, status int) {
	status = rapid.SampledFrom([]int{400, 403, 404, 409, 418, 422, 429, 500, 501, 503, 504}).Draw(t, "status")
	switch {
	case f.Body != "":
		return f.Body, f.Status
	case f.Error != "":
		return `{"jsonrpc":"2.0","id":7,"error":` + f.Error + `}`, status
	}
	result := json.Value(f.Result)
	object := cmp.Or(lookedUp(result, "/structuredContent"), lookedUp(result, "/error"))
	forms := []string{f.Result, `{"jsonrpc":"2.0","id":7,"result":` + f.Result + `}`}
	switch text := json.Text(result, "/content/0/text"); {
	case strings.HasPrefix(object, "{") && !strings.HasPrefix(object, `{"v":1`):
		forms = append(forms, object, `{"detail":`+object+`,"beside":"mark-beside"}`)
		if strings.Contains(object, `"message":"`) { // the mark may be missing
			forms = append(forms, `{"error":`+strings.Replace(object, `"error":true,`, "", 1)+`}`)
		}
	case object != "":
		forms = append(forms, object)
	case strings.HasPrefix(text, "["):
		forms = append(forms, text)
	}
	return rapid.SampledFrom(forms).Draw(t, "body"), status
}

func lookedUp(value json.Value, at json.Pointer) string { return string(json.Lookup(value, at)) }

// Members that a contract does not know survive from the body of an HTTP API as well, whatever its status.
func TestUnknownMembersSurviveFromAPIs(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"fieldmcp", "commerce", "patterns", "studies", "terra", "recourse"} {
		testkit.Virtual(t, from, func(t *testing.T) {
			var answer atomic.Pointer[func(http.ResponseWriter)]
			p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { (*answer.Load())(w) })
			client := gatewaytest.StartAPI(t, p, gatewaytest.Orders, "contract: "+from).Client(t, testkit.Modern)
			client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // what terra asks for
			// It would ask a *testing.T for its deadline, which has none in a bubble.
			rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) {
				f := contracttest.MarkedFailures(from).Draw(t, "failure")
				body, status := bodyOf(t, f)
				send := func(w http.ResponseWriter) { testkit.WriteJSON(w, status, body) }
				answer.Store(&send)
				a, err := client.Call(context.Background(), "orders_create", `{"item":"hay"}`)
				if err != nil {
					t.Fatal(err)
				}
				marks := contracttest.Found(append(f.Marks, "mark-beside"), body)
				if missing := contracttest.Missing(marks, string(a.Body)); len(missing) > 0 {
					t.Errorf("%q are lost: HTTP %d\n%s\n%s", missing, status, body, a.Body)
				}
			})
		})
	}
}
