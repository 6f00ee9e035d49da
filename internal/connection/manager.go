package connection

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// refreshBefore is how long before a token expires it is refreshed.
	refreshBefore = 5 * time.Minute
	// refreshApart is the time for which a new token is not refreshed: some expire sooner than refreshBefore.
	refreshApart = 30 * time.Second
	// forceApart is the time between two refreshes of a token that a server rejects.
	forceApart = time.Minute
	// usableFor is how long a token must still be valid when a call is made with it.
	usableFor = 10 * time.Second
	// cachedFor is how long a row is cached: changes by another process take that long to be seen.
	cachedFor = 5 * time.Second
	// maxCached limits how many rows are cached.
	maxCached = 10_000
)

// A Credential is sent to a server for an owner.
type Credential struct {
	Header, Value string
	// Version is the connection's version; see [Manager.Rejected].
	Version int64
}

// A Manager returns credentials. It is safe for concurrent use. End it with [Manager.Close].
type Manager struct {
	store  Vault
	sealer *seal.Sealer
	client *http.Client
	log    *slog.Logger

	work sync.WaitGroup // refreshes, which do not belong to a call
	life context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	polling map[string]bool // hashes of links whose codes the provider is asked about
	changed chan struct{}   // closed when a person has connected an account
	flights map[accountKey]*flight
	asking  map[accountKey]*asking
	unsaved map[accountKey]known // tokens that the store has not accepted
	known   *recent.Map[accountKey, known]
	rests   *recent.Map[accountKey, rest]
	invited *recent.Map[accountKey, invited]
	forced  *recent.Map[accountKey, time.Time] // refreshes after a rejection

	exchanged *recent.Map[accountKey, known] // by the digest of what a token was exchanged for
	exchanges int64
}

type accountKey struct{ provider, owner string }

// known is a row as it was read.
type known struct {
	c     *store.Connection
	token Token
	read  time.Time
}

// A rest is a time in which a provider in trouble is not asked.
type rest struct {
	ends     time.Time
	failures int
	err      *recourse.Error
}

// NewManager returns a manager of the connections in a store, which token exchange does not need; nil: none. client sends the
// requests for tokens; nil: that of [NewClient].
func NewManager(rows Vault, sealer *seal.Sealer, client *http.Client, log *slog.Logger) *Manager {
	m := &Manager{
		store: rows, sealer: sealer, client: cmp.Or(client, NewClient()), log: log,
		changed: make(chan struct{}), flights: map[accountKey]*flight{},
		known:     recent.New[accountKey, known](recent.Bounds{Most: maxCached}),
		rests:     recent.New[accountKey, rest](recent.Bounds{Most: maxCached}),
		invited:   recent.New[accountKey, invited](recent.Bounds{Most: maxCached}),
		forced:    recent.New[accountKey, time.Time](recent.Bounds{Most: maxCached}),
		exchanged: recent.New[accountKey, known](recent.Bounds{Most: maxCached, Bytes: maxExchanged}),
		polling:   map[string]bool{}, asking: map[accountKey]*asking{}, unsaved: map[accountKey]known{},
	}
	m.life, m.stop = context.WithCancel(context.Background())
	return m
}

// Stores reports whether there is a store for accounts.
func (m *Manager) Stores() bool { return m.store != nil }

// Close waits for refreshes in progress, which have time limits of their own: aborting one would lose the
// token.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
}

// Credential returns the credential for an owner. The error is a [*recourse.Error]: not_connected,
// token_revoked or token_expired if a person has to do something, otherwise what is wrong with the provider
// or the store.
func (m *Manager) Credential(ctx context.Context, p *Provider, owner string) (Credential, error) {
	for tries := 0; ; tries++ {
		k, err := m.current(ctx, p, owner)
		if err != nil {
			return Credential{}, err
		}
		left := time.Duration(1<<63 - 1)
		if k.c != nil && !k.c.Expires.IsZero() {
			left = time.Until(k.c.Expires)
		}
		switch {
		case k.c == nil && p.Flow != ClientCredentials:
			return Credential{}, p.notConnected()
		case k.c != nil && k.c.State == ReconnectNeeded && p.Flow != ClientCredentials:
			return Credential{}, p.reconnect(k.c.Reason)
		case k.c != nil && k.c.State == Connected && left > refreshBefore:
			return p.credential(k), nil
		case k.c != nil && k.c.State == Connected && left > usableFor:
			if time.Since(k.c.Updated) > refreshApart && !m.holds(accountKey{p.Name, owner}) {
				m.refreshing(p, owner, k.c.Version)
			}
			return p.credential(k), nil
		case tries == 2:
			return Credential{}, recourse.Unavailable(p.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
		}
		var version int64
		if k.c != nil {
			version = k.c.Version
		}
		if err := m.refreshing(p, owner, version).wait(ctx); err != nil {
			return Credential{}, err
		}
	}
}

// Access is what is known of a connected account's access.
type Access struct {
	Scopes []string
	Ends   time.Time // when the account has to be connected again; zero: not known
}

// Access returns what is known of the access to an owner's account. The error is that of [Manager.Credential] for the store.
func (m *Manager) Access(ctx context.Context, p *Provider, owner string) (Access, error) {
	k, err := m.current(ctx, p, owner)
	if err != nil || k.c == nil {
		return Access{}, err
	}
	return Access{Scopes: k.c.Scopes, Ends: k.token.Ends}, nil
}

func (p *Provider) credential(k known) Credential {
	return Credential{Header: p.Header, Value: p.Prefix + k.token.Access, Version: k.c.Version}
}

// notConnected returns the Error that asks to connect an account.
func (p *Provider) notConnected() *recourse.Error {
	return recourse.NotConnected(p.Title).WithOrigin(recourse.OriginCaller)
}

// reconnect returns the Error that asks to reconnect an account. Nobody can reconnect what is the gateway's own.
func (p *Provider) reconnect(why string) *recourse.Error {
	switch p.Flow {
	case ClientCredentials:
		return p.misconfigured("%s refused the gateway's own credentials: its operator has to look at provider %s.",
			http.StatusUnauthorized)
	case TokenExchange:
		return p.misconfigured("The server refused the token from %s: the gateway's operator has to look at provider %s.",
			http.StatusUnauthorized)
	case AuthorizationCode, APIKey, DeviceCode:
	}
	switch why {
	case Expired:
		return recourse.TokenExpired(p.Title).WithOrigin(recourse.OriginProvider)
	case Lost:
		return recourse.TokenExpired(p.Title).WithMessage("The access to %s was lost and has to be renewed.", p.Title).
			WithOrigin(recourse.OriginGateway)
	default:
		return recourse.TokenRevoked(p.Title).WithOrigin(recourse.OriginProvider)
	}
}

// misconfigured returns the Error for something that only the gateway's operator can set right: contracts choose by its status.
// format is filled in with the provider's title and name.
func (p *Provider) misconfigured(format string, status int) *recourse.Error {
	e := recourse.New(recourse.KindPermissionDenied, "").WithMessage(format, p.Title, p.Name).WithProvider(p.Title).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).WithRetry(recourse.RetryAfterSetup)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e = e.WithUpstream(recourse.Upstream{Status: status})
	}
	return e
}

// Expired returns the Error for a credential that is refused although it is new.
func (p *Provider) Expired() error { return p.reconnect(Expired) }

// Rejected reports to the manager that a server has rejected a credential. It returns nil if there is another
// one by now: the call can then be repeated.
func (m *Manager) Rejected(ctx context.Context, p *Provider, owner string, version int64) error {
	m.forget(p.Name, owner)
	k, err := m.current(ctx, p, owner)
	switch {
	case err != nil:
		return err
	case k.c == nil:
		return p.notConnected()
	case k.c.State == ReconnectNeeded:
		return p.reconnect(k.c.Reason)
	case k.c.Version != version:
		return nil
	case k.token.Refresh == "" && p.Flow != ClientCredentials:
		return p.reconnect(Expired) // only the provider can say that it is revoked
	}
	m.mu.Lock()
	f := m.force(accountKey{p.Name, owner}, m.refreshWork(p, owner, version))
	m.mu.Unlock()
	switch {
	case f == nil && m.IsOutdated(ctx, p, owner, version):
		return nil
	case f == nil:
		return p.reconnect(Expired) // a new token would be rejected as well
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	if k, err = m.current(ctx, p, owner); err != nil {
		return err
	}
	switch {
	case k.c == nil:
		return p.notConnected()
	case k.c.State != Connected:
		return p.reconnect(k.c.Reason)
	}
	return nil
}

// IsOutdated reports whether the owner has another credential than that of version by now.
func (m *Manager) IsOutdated(ctx context.Context, p *Provider, owner string, version int64) bool {
	m.forget(p.Name, owner)
	k, err := m.current(ctx, p, owner)
	return err == nil && k.c != nil && k.c.State == Connected && k.c.Version != version
}

// force does the work of a flight for a token that a server rejects. It returns nil if that was done a moment ago: a server that
// rejects everything must not cause endless refreshes. m.mu is held.
func (m *Manager) force(at accountKey, work work) *flight {
	last, ok := m.forced.Peek(at)
	if m.flights[at] == nil && ok && time.Since(last) < forceApart {
		return nil
	}
	m.forced.Keep(at, time.Now(), 0)
	return m.fly(at, work)
}

// Connect stores the token of an account that a person with the name by has just connected.
func (m *Manager) Connect(ctx context.Context, p *Provider, owner, by string, t Token) error {
	defer m.forget(p.Name, owner)
	if p.Flow != ClientCredentials { // the rejected token has been replaced
		m.mu.Lock()
		m.forced.Remove(accountKey{p.Name, owner})
		m.mu.Unlock()
	}
	c := &store.Connection{Provider: p.Name, Owner: owner, State: Connected, By: by}
	putToken(c, t, m.sealer)
	if err := m.store.Put(ctx, c); err != nil {
		return err
	}
	m.drop(accountKey{p.Name, owner})
	m.tell()
	return nil
}

// current returns the row of an owner. One with a token may be a few seconds old.
func (m *Manager) current(ctx context.Context, p *Provider, owner string) (known, error) {
	at := accountKey{p.Name, owner}
	m.mu.Lock()
	held, isHeld := m.unsaved[at]
	k, ok := m.known.Get(at)
	m.mu.Unlock()
	if isHeld {
		return held, nil
	}
	if ok && time.Since(k.read) < cachedFor {
		return k, nil
	}
	c, err := m.store.Get(ctx, p.Name, owner)
	if err != nil {
		return known{}, m.storeFailed(ctx, err)
	}
	k = known{c: c, read: time.Now()}
	if c != nil && c.State == Connected {
		if k.token, err = tokenOf(c, m.sealer); err != nil {
			m.log.LogAttrs(ctx, slog.LevelError, "a connection cannot be read",
				slog.String("provider", p.Name), slog.String("cause", err.Error()))
			return known{}, recourse.New(recourse.KindInternal, "").
				WithMessage("The connection to %s cannot be read: the gateway's operator has to look at connection_keys.", p.Title).
				WithProvider(p.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
		}
	}
	if c == nil || c.State != Connected {
		return k, nil // a person may connect it right now, at another process
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Keep(at, k, 0)
	return k, nil
}

func (m *Manager) forget(provider, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Remove(accountKey{provider, owner})
}

// storeFailed returns the Error for a store that does not answer.
func (m *Manager) storeFailed(ctx context.Context, err error) *recourse.Error {
	if ctx.Err() != nil {
		return recourse.From(context.Cause(ctx)).WithEffect(recourse.EffectNone)
	}
	m.log.LogAttrs(ctx, slog.LevelError, "connections cannot be read", slog.String("cause", err.Error()))
	return recourse.New(recourse.KindUnavailable, "").WithMessage("The gateway cannot look connections up at present.").
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
}

// NewClient returns a client for requests to providers: their answers are small, and redirects are not
// followed.
func NewClient() *http.Client {
	return &http.Client{
		Timeout:       redeemTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token is sent nowhere else
	}
}

// withClient makes the manager's client send requests for tokens.
func (m *Manager) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, m.client)
}

// closed is the Error of a closed manager.
func closed() *recourse.Error {
	return recourse.New(recourse.KindUnavailable, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(errClosed)
}

var errClosed = errors.New("the gateway is closed")
