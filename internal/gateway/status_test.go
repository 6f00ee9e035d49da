package gateway_test

import (
	"net/http"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// A method that nobody knows is the server's to refuse, in the era's way.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	for _, era := range eras {
		client := start(t, srv.URL()).client(t, era)
		a, err := client.Request(t.Context(), "nobody/knows", `{}`)
		want := map[testkit.Era]int{testkit.Legacy: http.StatusOK, testkit.Modern: http.StatusNotFound}[era]
		if err != nil || a.Status != want || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32601 || len(a.Message.ID) == 0 {
			t.Errorf("%s: %v %+v %s", era, err, a, a.Body)
		}
	}
}

// Servers say so with any status, as those on stdio do with none. A client of the modern era goes by the status.
func TestStatusOfRefusals(t *testing.T) {
	t.Parallel()
	for code, status := range map[int]int{-32601: http.StatusNotFound, -32021: http.StatusBadRequest, -32602: http.StatusOK} {
		for _, form := range []testkit.Form{testkit.JSON, testkit.SSE} {
			srv := testkit.NewServer(t, testkit.WithForm(form))
			srv.Always("prompts/list", testkit.RPCError("", code, "no", ""))
			for _, era := range eras {
				a, err := start(t, srv.URL()).client(t, era).Request(t.Context(), "prompts/list", `{}`)
				want := map[testkit.Era]int{testkit.Legacy: http.StatusOK, testkit.Modern: status}[era]
				if err != nil || a.Status != want || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != code {
					t.Errorf("%s, %d, %v: %v %+v, want status %d", era, code, form, err, a, want)
				}
			}
		}
	}
}
