package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
)

// A Status is what a caller may know of its account.
type Status struct {
	Provider  string    `json:"provider"`
	Connected bool      `json:"connected"`
	Scopes    []string  `json:"scopes,omitempty"`
	Until     time.Time `json:"until,omitzero"` // when the account has to be connected again; zero: that is not known
	Why       string    `json:"why,omitempty"`  // it is not connected, and what to do
}

// Status looks at the account. base is the gateway's own URL. The error says that it cannot be found out at the moment.
func (a *Account) Status(ctx context.Context, base string) (*Status, *recourse.Error) {
	p := &a.at.Provider
	s := &Status{Provider: p.Title}
	if a.Missing != nil {
		e := a.Invite(ctx, base, a.Missing, nil)
		if e.Kind.Class() != recourse.ClassAuth {
			return nil, e
		}
		s.Why = e.Sentence()
		return s, nil
	}
	s.Connected = true
	if a.exchanges() {
		return s, nil
	}
	access, err := a.manager.Access(ctx, p, a.owner)
	if e, ok := errors.AsType[*recourse.Error](err); ok {
		return nil, e
	}
	s.Scopes, s.Until = access.Scopes, access.Ends.UTC().Truncate(time.Second)
	return s, nil
}

// Sentence says the same to a model.
func (s *Status) Sentence() string {
	if !s.Connected {
		return s.Why
	}
	said := "The account at " + s.Provider + " is connected"
	if len(s.Scopes) > 0 {
		said += ", with the scopes " + strings.Join(s.Scopes, " ")
	}
	if !s.Until.IsZero() {
		said += ", until " + s.Until.Format(time.RFC3339) + ": by then somebody has to connect it again"
	}
	return said + "."
}
