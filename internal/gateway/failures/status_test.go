package failures_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// The server refuses unknown methods, in the form of its era.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	for _, era := range testkit.Eras {
		client := gatewaytest.Start(t, srv.URL()).Client(t, era)
		a, err := client.Request(t.Context(), "nobody/knows", `{}`)
		want := map[testkit.Era]int{testkit.Legacy: http.StatusOK, testkit.Modern: http.StatusNotFound}[era]
		if err != nil || a.Status != want || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32601 || len(a.Message.ID) == 0 {
			t.Errorf("%s: got %+v %s, %v", era, a, a.Body, err)
		}
	}
}

// A refusal of the server reaches a modern client with the status of its code, whichever status the server has sent.
func TestStatusOfRefusals(t *testing.T) {
	t.Parallel()
	for code, status := range map[int]int{-32601: http.StatusNotFound, -32021: http.StatusBadRequest, -32602: http.StatusOK} {
		for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
			srv := testkit.NewServer(t, testkit.WithForm(form))
			srv.Always("prompts/list", faults.RPCError("", code, "no", ""))
			for _, era := range testkit.Eras {
				a, err := gatewaytest.Start(t, srv.URL()).Client(t, era).Request(t.Context(), "prompts/list", `{}`)
				want := map[testkit.Era]int{testkit.Legacy: http.StatusOK, testkit.Modern: status}[era]
				if err != nil || a.Status != want || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != code {
					t.Errorf("%s, %d, %v: got %v %+v, want status %d", era, code, form, err, a, want)
				}
			}
		}
	}
}

// A redirect is an invalid answer in MCP and is not followed. The failure names its status.
func TestRedirectsAreFailures(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusNotModified, http.StatusPermanentRedirect} {
		srv := testkit.NewServer(t)
		client := gatewaytest.Start(t, srv.URL(), "title: The farm").Client(t, testkit.Legacy)
		srv.Always(testkit.GetField, faults.Status(status, faults.Plain).With("Location", srv.URL()))
		a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("The farm answered with HTTP status %d, which is not an answer to an MCP request.", status)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindBadResponse || e.Message != want {
			t.Errorf("%d: got %s: %s", status, e.Kind, e.Message)
		}
	}
}

// If a notification gets an HTTP error, the client gets the status.
func TestStatusOfARefusedNotification(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "timeout: 200ms").Client(t, testkit.Legacy)
	srv.Always("notifications/roots/list_changed", faults.Hang())
	a, err := client.Notify(t.Context(), "notifications/roots/list_changed", "")
	if err != nil || a.Status != http.StatusGatewayTimeout {
		t.Errorf("got %+v, %v", a, err)
	}
}
