package connection

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/store"
)

// An Account is the part of a connection that may be shown: everything but its token.
type Account struct {
	Provider string    `json:"provider"`
	Owner    string    `json:"owner"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // of the access token, which is refreshed before that, or of the code; zero: not known
	Ends     time.Time `json:"ends,omitzero"`    // of the access, which has to be made again then; zero: not known
	KeyID    string    `json:"keyId,omitempty"`
	By       string    `json:"by,omitempty"` // who connected it
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
}

// AccountOf returns a row without what must not be shown.
func AccountOf(c *store.Connection) Account {
	return Account{c.Provider, c.Owner, c.State, c.Reason, c.Scopes, c.Expires, c.Ends, c.KeyID, c.By, c.Created, c.Updated}
}

// List returns all accounts by provider and owner.
func (m *Manager) List(ctx context.Context) ([]Account, error) {
	rows, err := m.store.List(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := m.store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	return AccountsOf(rows, pending), nil
}

// AccountsOf returns the accounts in rows, and the codes that people have yet to enter.
func AccountsOf(rows []*store.Connection, pending []*store.Link) []Account {
	accounts := make([]Account, 0, len(rows)+len(pending))
	for _, row := range rows {
		accounts = append(accounts, AccountOf(row))
	}
	for _, l := range pending {
		accounts = append(accounts, Account{Provider: l.Provider, Owner: l.Owner, State: Pending, Scopes: l.Scopes, Expires: l.Expires})
	}
	slices.SortStableFunc(accounts, func(a, b Account) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Owner, b.Owner))
	})
	return accounts
}

// Get returns one account, and whether there is one.
func (m *Manager) Get(ctx context.Context, provider, owner string) (a Account, ok bool, err error) {
	row, err := m.store.Get(ctx, provider, owner)
	if err != nil || row == nil {
		return a, false, err
	}
	return AccountOf(row), true, nil
}

// Disconnect deletes an account, or returns [store.ErrConflict] if there is none. It does not revoke the
// access at the provider.
func (m *Manager) Disconnect(ctx context.Context, provider, owner string) error {
	defer m.drop(accountKey{provider, owner})
	return m.store.Delete(ctx, provider, owner)
}

// NewLink returns the path, relative to the gateway's own URL, of a link for reconnecting an existing
// account. The link is for the account's owner, who has to prove their identity on the page; for an account
// that callers share, that is the person who connected it. The error is [store.ErrConflict] if there is no
// such account, or a [*recourse.Error] if nobody connects such accounts or the store fails.
func (m *Manager) NewLink(ctx context.Context, p *Provider, owner string) (path string, err error) {
	switch p.Flow {
	case ClientCredentials, TokenExchange:
		return "", recourse.New(recourse.KindInvalidState, "").WithMessage("Nobody has to connect %s: the gateway does it itself.", p.Title)
	case DeviceCode:
		return "", recourse.New(recourse.KindInvalidState, "").
			WithMessage("%s is connected by a code. The owner's agent gets it with its next call.", p.Title)
	case AuthorizationCode, APIKey:
	}
	a, ok, err := m.Get(ctx, p.Name, owner)
	if err != nil {
		return "", m.storeFailed(ctx, err)
	}
	if !ok {
		return "", store.ErrConflict
	}
	invitation, err := m.Invite(ctx, LinkRequest{Provider: p, Owner: owner, By: connects(a)})
	return invitation.Path, err
}
