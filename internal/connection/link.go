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
	// LinkTime is how long a link is good for.
	LinkTime = 30 * time.Minute
	// linkAgain is how long a link must be good for to be shown again.
	linkAgain = 15 * time.Minute
)

// A Person is who asks for an account to be connected, and who alone may do it: a caller as access control has found it. Its
// zero value is anybody on the gateway's own machine, if nobody is asked who they are.
type Person struct {
	Access string `json:"access"`
	Name   string `json:"name"`
}

// An Ask is for an account to be connected.
type Ask struct {
	Provider *Provider
	Owner    string
	By       Person
	Server   string   // at whose endpoint they are known
	Scopes   []string // beyond those of the provider
}

// invited is a link that was made lately.
type invited struct {
	path    string
	hash    string
	expires time.Time
}

// An Invitation is what somebody needs to connect an account: a page of the gateway's, or a code for one of the provider's.
type Invitation struct {
	ID   string // names it, and opens nothing
	Path string // of the gateway's page, below its own URL; "": it is the provider's

	URL    string // of the provider's page
	Direct string // the same, if possible with the code
	Code   string // to be entered there
}

// An asking is the making of an invitation, once for all who want it at the same time.
type asking struct {
	done chan struct{}
	how  Invitation // once done is closed
	err  error
}

// Invite returns how somebody connects the account. A model that calls again and again gets the same, and so do several calls at the
// same time.
func (m *Manager) Invite(ctx context.Context, ask Ask) (Invitation, error) {
	scopes := strings.Join(ask.Scopes, " ")
	at := key{ask.Provider.Name, strings.Join([]string{ask.Owner, scopes, ask.By.Access, ask.By.Name, ask.Server}, "\x00")}
	invite := m.inviteByLink
	if ask.Provider.Flow == DeviceCode { // whoever enters the code, from wherever it is
		at.owner, invite = ask.Owner+"\x00"+scopes, m.inviteDevice
	}
	m.mu.Lock()
	a := m.asking[at]
	if a == nil && !m.closed {
		a = &asking{done: make(chan struct{})}
		m.asking[at] = a
		m.work.Go(func() { //nolint:contextcheck // it goes on without the call, for the others
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

// inviteByLink returns the link that was made lately for the same, or a new one.
func (m *Manager) inviteByLink(ctx context.Context, ask Ask, at key) (Invitation, error) {
	m.mu.Lock()
	known, ok := m.invited.Get(at)
	m.mu.Unlock()
	if ok && time.Until(known.expires) > linkAgain {
		if l, err := m.store.Link(ctx, known.hash); err == nil && l != nil && l.Used.IsZero() {
			return Invitation{ID: idOf(known.hash), Path: known.path}, nil
		}
	}
	id := strings.ToLower(rand.Text()) // capitals and digits mixed look like a credential, which is masked
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

// idOf returns what names a link, by what is stored of it.
func idOf(hash string) string { return hash[:32] }

// hash returns what is stored of a secret.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// scopes returns the scopes to ask for: those of the provider, those that the owner has granted before, and more.
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

// A signIn is what the end of a sign-in at a provider needs. It lies in the store, sealed.
type signIn struct {
	Verifier string `json:"verifier"`
	Browser  string `json:"browser"` // hash of the cookie of the browser in which it began
	By       Person `json:"by"`
}

// begin begins the sign-in of a person, and returns the provider's page for it.
func (m *Manager) begin(ctx context.Context, p *Provider, l *store.Link, by Person, browser, redirect string) (string, error) {
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	text, _ := json.Marshal(signIn{verifier, hash(browser), by}) //nolint:errchkjson // texts always have a JSON form
	if err := m.store.BeginLink(ctx, l.Hash, hash(state), m.sealer.Seal(text, []byte("sign-in "+l.Hash))); err != nil {
		return "", err //nolint:wrapcheck // the page tells the kinds apart
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

// end ends the sign-in of that state: the link is used up, and the account connected.
func (m *Manager) end(ctx context.Context, providers map[string]*Provider, state, code, browser, redirect string) (*Provider, error) {
	l, err := m.store.EndLink(ctx, hash(state))
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	if l == nil || providers[l.Provider] == nil {
		return nil, errNoSignIn
	}
	p := providers[l.Provider]
	var begun signIn
	text, err := m.sealer.Open(l.Sealed, []byte("sign-in "+l.Hash))
	if err != nil || json.Unmarshal(text, &begun) != nil {
		return p, errNoSignIn
	}
	if begun.Browser != hash(browser) {
		return p, errOtherBrowser
	}
	exchanging, cancel := context.WithTimeout(m.withClient(ctx), redeemTimeout)
	defer cancel()
	issued, err := p.config(redirect, l.Scopes).Exchange(exchanging, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		e := p.failure(err)
		if verdict := judge(err); verdict == refused || verdict == lapsed {
			e = e.WithMessage("%s did not accept the sign-in.", p.Title)
		}
		return p, e
	}
	return p, m.keepNew(ctx, p, l.Owner, begun.By.Name, newToken(issued, l.Scopes))
}

// enter connects an account by a key that a person has entered.
func (m *Manager) enter(ctx context.Context, p *Provider, l *store.Link, by Person, entered string) error {
	state := rand.Text()
	if err := m.store.BeginLink(ctx, l.Hash, hash(state), ""); err != nil {
		return err //nolint:wrapcheck // as above
	}
	ended, err := m.store.EndLink(ctx, hash(state))
	if err != nil {
		return err //nolint:wrapcheck // as above
	}
	if ended == nil {
		return store.ErrConflict
	}
	return m.keepNew(ctx, p, l.Owner, by.Name, Token{Access: entered, Scopes: l.Scopes})
}

// keepNew stores what a link was used up for.
func (m *Manager) keepNew(ctx context.Context, p *Provider, owner, by string, t Token) error {
	err := m.insist(ctx, func(ctx context.Context) error { return m.Connect(ctx, p, owner, by, t) })
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}
