package console

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	settlePath = "/settle"

	paramKey    = "key"
	paramFence  = "fence"
	paramLanded = "landed"
)

// doubted returns what calls have sent, or repeat, that is made once, and of which nobody knows whether it has happened.
func (c *Console) doubted(ctx context.Context, calls []*journal.Row) (rows []*once.Row, err error) {
	if c.Once == nil {
		return nil, nil
	}
	ids := []string{calls[0].RequestID}
	for _, call := range calls {
		if call.First != "" && !slices.Contains(ids, call.First) {
			ids = append(ids, call.First)
		}
	}
	for _, id := range ids {
		found, err := c.Once.List(ctx, &store.OnceFilter{State: string(once.Unknown), RequestID: id, Limit: maxCalls})
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// settle notes what an operator says of a call that is unknown, and has not changed since they have seen it.
func (c *Console) settle(r *http.Request) (*view, error) {
	id, key, fence := r.PathValue("id"), r.PostFormValue(paramKey), r.PostFormValue(paramFence)
	landed := r.PostFormValue(paramLanded)
	if landed != "yes" && landed != "no" {
		return nil, &problem{http.StatusBadRequest, "This does not say whether the call has happened.", "Use the buttons on its page."}
	}
	done, err := c.reading(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	if c.Once == nil {
		return nil, errSettled
	}
	rows, err := c.Once.List(r.Context(), &store.OnceFilter{State: string(once.Unknown), ID: key, Limit: 1})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rows, func(row *once.Row) bool { return row.ID == key && strconv.FormatInt(row.Fence, 10) == fence })
	if i < 0 {
		return nil, errSettled
	}
	settled, err := c.Once.Settle(r.Context(), rows[i], landed == "yes", strings.TrimSpace("an operator "+operatorOf(r)))
	if err == nil && !settled {
		err = errSettled
	}
	if err != nil {
		return nil, err
	}
	c.acted(r, store.ActionSettled, slog.String("server", rows[i].Server),
		slog.String("tool", rows[i].Tool), slog.String("request_id", rows[i].RequestID), slog.String("has_happened", landed))
	return &view{to: string(callURL(id))}, nil
}

var errSettled = &problem{http.StatusConflict, "This call is not unknown any more.", "It was settled, or made again: look at its page."}
