package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

const actionsPath = "/actions"

// maxActions limits how many actions are shown.
const maxActions = 500

// An actionList is the page about what operators have done.
type actionList struct {
	all []*store.Action // the latest first
	now time.Time
}

// actions lists what operators have done.
func (c *Console) actions(r *http.Request) (*view, error) {
	if c.Journal == nil {
		return &view{title: "Actions", body: noJournal()}, nil
	}
	done, err := c.reading(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := c.Journal.Actions(r.Context(), time.Time{}, maxActions)
	slices.Reverse(all)
	return &view{title: "Actions", body: actionsPage(&actionList{all, c.now()})}, err
}
