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
	used.in.Scan, fresh.in.Scan = new(wire.Scanner), new(wire.Scanner) // made when there is something to scan
	samples := []any{httptest.NewRecorder(), new(front.HTTPWriter), context.Background(), new(bytes.Buffer), errors.New("another caller's"), observing{}, struct{ wire.Parts }{}}
	if err := testkit.Use(used, samples...); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []any{used.req.msg, used.in.Messages, used.in.Scan} {
		if err := testkit.Use(kept, samples...); err != nil {
			t.Fatal(err)
		}
	}
	used.forget()
	fresh.forget()
	all := slices.Concat(testkit.Unlike(used.req.msg, fresh.req.msg), testkit.Unlike(used.in.Messages, fresh.in.Messages),
		testkit.Unlike(used.in.Scan, fresh.in.Scan))
	fresh.req.msg, fresh.in.Messages, fresh.in.Scan = used.req.msg, used.in.Messages, used.in.Scan
	for _, c := range []*call{used, fresh} { // its own functions
		c.in.Masker, c.in.Links, c.in.Notice, c.in.Unmet, c.in.Edit = nil, nil, nil, nil, nil
	}
	fresh.deadline, fresh.recheck = used.deadline, used.recheck // timers, stopped when a call ends
	for _, left := range append(all, testkit.Unlike(used, fresh)...) {
		t.Error("left:", left)
	}
}
