package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	connectionsPath = "/connections"
	disconnectPath  = connectionsPath + "/disconnect"
	linkPath        = connectionsPath + "/link"

	paramProvider = "provider"
	paramOwner    = "owner"
)

// Accounts are the accounts of callers at providers: [connection.Manager].
type Accounts interface {
	List(ctx context.Context) ([]connection.Account, error)
	Get(ctx context.Context, provider, owner string) (a connection.Account, ok bool, err error)
	Disconnect(ctx context.Context, provider, owner string) error
}

var _ Accounts = (*connection.Manager)(nil)

// An accountList is the page about all accounts.
type accountList struct {
	all []connection.Account
	now time.Time
}

// connections lists the accounts, starting with those that have to be reconnected.
func (c *Console) connections(r *http.Request) (*view, error) {
	if c.Accounts == nil {
		return &view{title: "Connections", body: noProviders()}, nil
	}
	done, err := c.reading(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := c.Accounts.List(r.Context())
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b connection.Account) int {
		return first(a.State != connection.Connected, b.State != connection.Connected)
	})
	return &view{title: "Connections", body: connectionsPage(&accountList{all, c.now()})}, nil
}

var errNoAccount = &problem{
	http.StatusNotFound, "There is no such connection.", "Somebody may have removed it: the list is at /connections.",
}

// account returns the account named in a form.
func (c *Console) account(r *http.Request) (connection.Account, error) {
	if c.Accounts == nil {
		return connection.Account{}, errNoAccount
	}
	provider, owner := r.FormValue(paramProvider), r.FormValue(paramOwner) // the body is read before waiting for a turn
	done, err := c.reading(r.Context())
	if err != nil {
		return connection.Account{}, err
	}
	defer done()
	a, ok, err := c.Accounts.Get(r.Context(), provider, owner)
	if err == nil && !ok {
		err = errNoAccount
	}
	return a, err
}

// disconnecting asks whether to delete an account.
func (c *Console) disconnecting(r *http.Request) (*view, error) {
	a, err := c.account(r)
	if err != nil {
		return nil, err
	}
	return &view{title: "Disconnect?", body: disconnectPage(a)}, nil
}

// disconnect deletes an account.
func (c *Console) disconnect(r *http.Request) (*view, error) {
	a, err := c.account(r)
	if err != nil {
		return nil, err
	}
	err = c.Accounts.Disconnect(r.Context(), a.Provider, a.Owner)
	if errors.Is(err, store.ErrConflict) {
		err = errNoAccount
	}
	if err != nil {
		return nil, err
	}
	c.acted(r, store.ActionDisconnected, slog.String("provider", a.Provider), slog.String("owner", a.Owner))
	return &view{to: connectionsPath}, nil
}

// link creates a link with which the owner of an account reconnects it.
func (c *Console) link(r *http.Request) (*view, error) {
	a, err := c.account(r)
	if err != nil {
		return nil, err
	}
	link, err := c.Gateway.ConnectLink(r.Context(), a.Provider, a.Owner)
	if errors.Is(err, store.ErrConflict) {
		return nil, &problem{
			http.StatusConflict, "This account cannot be connected again.", "The configuration has no such provider any more.",
		}
	}
	if e, told := errors.AsType[*recourse.Error](err); told && e.Kind == recourse.KindInvalidState {
		return nil, &problem{http.StatusConflict, e.Sentence(), "It is connected anew with the next call."}
	}
	if err != nil {
		return nil, err
	}
	c.acted(r, "made a link to connect an account", slog.String("provider", a.Provider), slog.String("owner", a.Owner))
	return &view{title: "A link for " + shown(a.Owner), body: linkPage(a, link)}, nil
}

// disconnectURL returns the page that asks whether to delete an account.
func disconnectURL(a connection.Account) templ.SafeURL {
	return templ.SafeURL(disconnectPath + "?" + url.Values{paramProvider: {a.Provider}, paramOwner: {a.Owner}}.Encode())
}

// accountReasons says why an account has to be connected again.
var accountReasons = map[string]string{
	connection.Revoked: "the provider has revoked it",
	connection.Expired: "it has expired",
	connection.Lost:    "a refresh was interrupted",
}

// noProvidersLines are configuration lines that give a gateway connections.
const noProvidersLines = `store: sqlite:recourse.db
connection_keys: ["${CONNECTION_KEY}"]  # openssl rand -base64 32
providers:
  deere:
    authorize_url: https://signin.example.com/oauth2/authorize
    token_url: https://signin.example.com/oauth2/token
    client_id: recourse
    client_secret: ${DEERE_SECRET}
servers:
  farm:
    url: http://127.0.0.1:9101/mcp
    connection: deere`

// ahead returns how far in the future something is.
func ahead(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than 1 min"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	default:
		return strconv.Itoa(int(d.Hours())/24) + " d"
	}
}
