package connection

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// LinkTime is how long a link is valid.
	LinkTime = 30 * time.Minute
	// linkAgain is how long a link must still be valid to be shown again.
	linkAgain = 15 * time.Minute
)

// A Person is who asks to connect an account, and the only one who may do it: a caller as found by access
// control. The zero value is anyone on the gateway's own machine, if there is no access control.
type Person struct {
	Access string `json:"access"`
	Name   string `json:"name"`
}

// A LinkRequest is a request to connect an account.
type LinkRequest struct {
	Provider *Provider
	Owner    string
	By       Person
	Server   string   // the endpoint at which they are known
	Scopes   []string // in addition to the provider's
}

// invited is a link that was made recently.
type invited struct {
	path    string
	hash    string
	expires time.Time
}

// An Invitation is what somebody needs to connect an account: a page of the gateway, or a code for a page of
// the provider.
type Invitation struct {
	ID   string // identifies it, and is not a secret
	Path string // of the gateway's page, relative to its URL; "": it is on the provider's

	URL    string // of the provider's page
	Direct string // the same, with the code if possible
	Code   string // to be entered there
}

// An asking is the creation of an invitation, once for all who want it at the same time.
type asking struct {
	done chan struct{}
	how  Invitation // set once done is closed
	err  error
}

// Invite returns how somebody connects the account. A model that calls again and again gets the same
// invitation, and so do several simultaneous calls.
func (m *Manager) Invite(ctx context.Context, ask LinkRequest) (Invitation, error) {
	scopes := strings.Join(ask.Scopes, " ")
	at := accountKey{ask.Provider.Name, strings.Join([]string{ask.Owner, scopes, ask.By.Access, ask.By.Name, ask.Server}, "\x00")}
	invite := m.inviteByLink
	if ask.Provider.Flow == DeviceCode { // anyone who enters the code, from anywhere
		at.owner, invite = ask.Owner+"\x00"+scopes, m.inviteDevice
	}
	m.mu.Lock()
	a := m.asking[at]
	if a == nil && !m.closed {
		a = &asking{done: make(chan struct{})}
		m.asking[at] = a
		m.work.Go(func() {
			making, cancel := context.WithTimeout(m.life, redeemTimeout+storeTimeout)
			defer cancel()
			a.how, a.err = invite(making, ask, at)
			m.mu.Lock()
			delete(m.asking, at)
			m.mu.Unlock()
			close(a.done)
		})
	}
	m.mu.Unlock()
	if a == nil {
		return Invitation{}, closed()
	}
	select {
	case <-a.done:
		return a.how, a.err
	case <-ctx.Done():
		return Invitation{}, recourse.From(context.Cause(ctx)).WithEffect(recourse.EffectNone)
	}
}

// inviteByLink returns a link made recently for the same purpose, or a new one.
func (m *Manager) inviteByLink(ctx context.Context, ask LinkRequest, at accountKey) (Invitation, error) {
	m.mu.Lock()
	known, ok := m.invited.Get(at)
	m.mu.Unlock()
	if ok && time.Until(known.expires) > linkAgain {
		if l, err := m.store.Link(ctx, known.hash); err == nil && l != nil && l.Used.IsZero() {
			return Invitation{ID: idOf(known.hash), Path: known.path}, nil
		}
	}
	id := strings.ToLower(rand.Text()) // a mix of capitals and digits looks like a credential, and would be masked
	fresh := invited{PathPrefix + id, hash(id), time.Now().Add(LinkTime)}
	err := m.store.PutLink(ctx, &store.Link{
		Hash: fresh.hash, Provider: ask.Provider.Name, Owner: ask.Owner, Access: ask.By.Access, Name: ask.By.Name, Server: ask.Server,
		Scopes: m.scopes(ctx, ask.Provider, ask.Owner, ask.Scopes), Expires: fresh.expires,
	})
	if err != nil {
		return Invitation{}, m.storeFailed(ctx, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invited.Keep(at, fresh, 0)
	return Invitation{ID: idOf(fresh.hash), Path: fresh.path}, nil
}

// idOf returns a link's id, derived from its stored hash.
func idOf(hash string) string { return hash[:32] }

// hash returns what is stored instead of a secret.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// scopes returns the scopes to request: the provider's, those that the owner granted before, and more.
func (m *Manager) scopes(ctx context.Context, p *Provider, owner string, more []string) []string {
	all := slices.Concat(p.Scopes, more)
	if k, err := m.current(ctx, p, owner); err == nil && k.c != nil {
		all = append(all, k.c.Scopes...)
	}
	var once []string
	for _, scope := range all {
		if scope != "" && !slices.Contains(once, scope) {
			once = append(once, scope)
		}
	}
	return once
}

// A signIn is what is needed to complete a sign-in at a provider. It is stored sealed.
type signIn struct {
	Verifier string `json:"verifier"`
	Browser  string `json:"browser"` // hash of the cookie of the browser in which it began
	By       Person `json:"by"`
}

// begin begins the sign-in of a person, and returns the provider's page for it.
func (m *Manager) begin(ctx context.Context, p *Provider, l *store.Link, by Person, browser, redirect string) (string, error) {
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	text, _ := json.Marshal(signIn{verifier, hash(browser), by})
	if err := m.store.BeginLink(ctx, l.Hash, hash(state), m.sealer.Seal(text, []byte("sign-in "+l.Hash))); err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for name, value := range p.Params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return p.config(redirect, l.Scopes).AuthCodeURL(state, options...), nil
}

var (
	errNoSignIn     = errors.New("there is no such sign-in under way")
	errOtherBrowser = errors.New("the sign-in began in another browser")
	errNotKept      = errors.New("the account cannot be kept")
)

// end completes the sign-in with that state: the link is used up, and the account connected. less are the scopes that were
// asked for and not granted.
func (m *Manager) end(
	ctx context.Context, providers map[string]*Provider, state, code, browser, redirect string,
) (p *Provider, less []string, err error) {
	l, err := m.store.EndLink(ctx, hash(state))
	if err != nil {
		return nil, nil, err
	}
	if l == nil || providers[l.Provider] == nil {
		return nil, nil, errNoSignIn
	}
	p = providers[l.Provider]
	var begun signIn
	text, err := m.sealer.Open(l.Sealed, []byte("sign-in "+l.Hash))
	if err != nil || json.Unmarshal(text, &begun) != nil {
		return p, nil, errNoSignIn
	}
	if begun.Browser != hash(browser) {
		return p, nil, errOtherBrowser
	}
	exchanging, cancel := context.WithTimeout(m.withClient(ctx), redeemTimeout)
	defer cancel()
	issued, err := p.config(redirect, l.Scopes).Exchange(exchanging, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		e := p.failure(err)
		if verdict := judge(err); verdict == refused || verdict == lapsed {
			e = e.WithMessage("%s did not accept the sign-in.", p.Title)
		}
		return p, nil, e
	}
	t, err := newToken(issued, l.Scopes)
	if err != nil {
		e := p.failure(err)
		return p, nil, e
	}
	return p, missing(l.Scopes, t), m.keepNew(ctx, p, l.Owner, begun.By.Name, t)
}

// missing returns the scopes that were asked for and not granted. A provider that issues a refresh token need not name the
// scope for that.
func missing(asked []string, granted Token) []string {
	return slices.DeleteFunc(slices.Clone(asked), func(scope string) bool {
		return slices.Contains(granted.Scopes, scope) || scope == "offline_access" && granted.Refresh != ""
	})
}

// enter connects an account with a key that a person has entered.
func (m *Manager) enter(ctx context.Context, p *Provider, l *store.Link, by Person, entered string) error {
	state := rand.Text()
	if err := m.store.BeginLink(ctx, l.Hash, hash(state), ""); err != nil {
		return err
	}
	ended, err := m.store.EndLink(ctx, hash(state))
	if err != nil {
		return err
	}
	if ended == nil {
		return store.ErrConflict
	}
	return m.keepNew(ctx, p, l.Owner, by.Name, Token{Access: entered, Scopes: l.Scopes})
}

// keepNew stores the connection for which a link was used.
func (m *Manager) keepNew(ctx context.Context, p *Provider, owner, by string, t Token) error {
	err := m.insist(ctx, func(ctx context.Context) error { return m.Connect(ctx, p, owner, by, t) })
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}
