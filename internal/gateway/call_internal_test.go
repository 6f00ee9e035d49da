package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/testkit"
)

// Whatever one caller has left in a call, the next finds nothing of it.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()

	var used, fresh call
	err := testkit.Use(&used, httptest.NewRecorder(), context.Background(), new(bytes.Buffer), errors.New("another caller's"), observing{})
	if err != nil {
		t.Fatal(err)
	}
	fresh.deadline, fresh.recheck = used.deadline, used.recheck // timers, which are stopped when a call ends
	used.forget()
	fresh.forget()
	for _, left := range testkit.Unlike(&used, &fresh) {
		if !strings.HasPrefix(left, "gateway.call.req.msg.reader.names.s") { // the seed and the empty slots, see internal/wire
			t.Error("left:", left)
		}
	}
}
