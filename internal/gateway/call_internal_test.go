package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A reused call keeps nothing of the previous caller.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()

	used, fresh := emptyCall(), emptyCall()
	samples := []any{httptest.NewRecorder(), new(front.HTTPWriter), context.Background(), new(bytes.Buffer), errors.New("another caller's"), observing{}, struct{ wire.Parts }{}}
	if err := testkit.Use(used, samples...); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []any{used.req.msg, used.in.messages, used.in.scan} {
		if err := testkit.Use(kept, samples...); err != nil {
			t.Fatal(err)
		}
	}
	used.forget()
	fresh.forget()
	all := slices.Concat(testkit.Unlike(used.req.msg, fresh.req.msg), testkit.Unlike(used.in.messages, fresh.in.messages),
		testkit.Unlike(used.in.scan, fresh.in.scan))
	fresh.req.msg, fresh.in.messages, fresh.in.scan = used.req.msg, used.in.messages, used.in.scan
	fresh.deadline, fresh.recheck = used.deadline, used.recheck // timers, stopped when a call ends
	for _, left := range append(all, testkit.Unlike(used, fresh)...) {
		t.Error("left:", left)
	}
}
