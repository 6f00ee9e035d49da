package console

import (
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/journal"
	"github.com/recoursehq/recourse/internal/store"
)

// A failureList is the page about calls that have failed.
type failureList struct {
	now   time.Time
	calls []*journal.Call // the latest first
}

// failures lists calls that have failed.
func (c *Console) failures(r *http.Request) (*view, error) {
	if c.Journal == nil {
		return &view{title: "Failures", body: noJournal()}, nil
	}
	calls, err := journal.Find(r.Context(), c.Journal, &store.Filter{Failures: true, Limit: 50})
	if err != nil {
		return nil, err
	}
	return &view{title: "Failures", body: failures(&failureList{now: c.now(), calls: calls})}, nil
}
