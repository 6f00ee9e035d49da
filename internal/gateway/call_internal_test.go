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
	samples := []any{
		httptest.NewRecorder(), new(front.HTTPWriter), context.Background(), new(bytes.Buffer), errors.New("another caller's"),
		observing{},
		new(call),
		struct{ wire.Parts }{},
	}
	fill := func(all ...any) {
		for _, kept := range all {
			if err := testkit.Use(kept, samples...); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(used)
	fill(used.req.msg, used.in)
	fill(used.in.Messages, used.in.Scan)
	used.forget()
	fresh.forget()
	all := slices.Concat(testkit.Unlike(used.req.msg, fresh.req.msg), testkit.Unlike(used.in.Messages, fresh.in.Messages),
		testkit.Unlike(used.in.Scan, fresh.in.Scan))
	fresh.in.Messages, fresh.in.Scan = used.in.Messages, used.in.Scan
	for _, c := range []*call{used, fresh} { // its own functions
		c.in.Masker, c.in.Links, c.in.Notice, c.in.Unmet, c.in.Edit = nil, nil, nil, nil, nil
	}
	all = append(all, testkit.Unlike(used.in, fresh.in)...)
	fresh.req.msg, fresh.in = used.req.msg, used.in
	fresh.deadline, fresh.recheck = used.deadline, used.recheck // timers, stopped when a call ends
	for _, left := range append(all, testkit.Unlike(used, fresh)...) {
		t.Error("left:", left)
	}
}
