package connection

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/store"
)

// Callers with tokens prove their identity by signing in at the tokens' issuer. The state of that sign-in is
// in the store, so that any process can complete it, once.

const (
	// loginPath is where issuers redirect people to.
	loginPath = PathPrefix + "login"
	// loginTime is how long a sign-in may take.
	loginTime = 10 * time.Minute
	// loginTimeout limits how long completing one may take.
	loginTimeout = 40 * time.Second
)

// A login is a sign-in in progress, in the form that is sealed.
type login struct {
	Link     string `json:"link"` // as in the URL
	Access   string `json:"access"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Browser  string `json:"browser"` // hash of the cookie of the browser in which it began
}

func loginPurpose(stateHash string) []byte { return []byte("login " + stateHash) }

// beginLogin stores a sign-in.
func (m *Manager) beginLogin(ctx context.Context, state string, l login) error {
	text, _ := json.Marshal(l)
	at := hash(state)
	return m.store.PutLogin(ctx, &store.Login{
		StateHash: at, Link: hash(l.Link), Sealed: m.sealer.Seal(text, loginPurpose(at)), Expires: time.Now().Add(loginTime),
	})
}

// takeLogin returns the sign-in with that state, and deletes it, whoever brings the state.
func (m *Manager) takeLogin(ctx context.Context, state, browser string) (l login, err error) {
	at := hash(state)
	kept, err := m.store.TakeLogin(ctx, at)
	if err != nil {
		return l, err
	}
	if kept == nil {
		return l, errNoSignIn
	}
	text, err := m.sealer.Open(kept.Sealed, loginPurpose(at))
	if err != nil || json.Unmarshal(text, &l) != nil {
		return l, errNoSignIn
	}
	if l.Browser != hash(browser) {
		return login{}, errOtherBrowser
	}
	return l, nil
}

// signIn redirects a person to the issuer of their tokens.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request, l *store.Link, provider *Provider) {
	at := p.Asks(l.Access).Login
	if at == nil {
		p.show(w, p.askWho(provider, l, Person{}))
		return
	}
	browser := p.browser(w, r)
	s := auth.SignIn{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: p.URL(r) + loginPath}
	to, err := at.URL(r.Context(), s, r.PostForm.Get("again") != "")
	if err != nil {
		p.show(w, p.signInFailed(r, at, linkID(r), err))
		return
	}
	begun := login{Link: linkID(r), Access: l.Access, Nonce: s.Nonce, Verifier: s.Verifier, Browser: hash(browser)}
	if err := p.Manager.beginLogin(r.Context(), s.State, begun); err != nil {
		p.show(w, p.trouble(r, provider, err))
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// signedIn is the page to which the issuer redirects a person.
func (p *Pages) signedIn(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	begun, err := p.Manager.takeLogin(ctx, query.Get("state"), browserOf(r))
	if err != nil {
		p.show(w, p.trouble(r, nil, err))
		return
	}
	at := p.Asks(begun.Access).Login
	switch said := query.Get("error"); {
	case at == nil:
		p.show(w, usedUp())
		return
	case said == "access_denied":
		v := problem(http.StatusOK, "You have not signed in.", "The account is not connected. Nothing was changed.")
		v.Again = p.path(r, begun.Link)
		p.show(w, v)
		return
	case said != "" || query.Get("code") == "":
		p.show(w, p.signInFailed(r, at, begun.Link, errors.New("the issuer sends no code: "+oneWord(said))))
		return
	}
	s := auth.SignIn{Nonce: begun.Nonce, Verifier: begun.Verifier, Redirect: p.URL(r) + loginPath}
	who, err := at.Redeem(ctx, s, query.Get("code"), query.Get("iss"))
	if err != nil {
		p.show(w, p.signInFailed(r, at, begun.Link, err))
		return
	}
	p.setPerson(w, r, Person{Access: who.Access, Name: who.Name})
	p.redirect(w, r, begun.Link) // the page reports it if the link is someone else's
}

// signInFailed is the page about a failed sign-in.
func (p *Pages) signInFailed(r *http.Request, at *auth.Login, link string, err error) *view {
	p.Log.LogAttrs(r.Context(), slog.LevelWarn, "somebody could not sign in",
		slog.String("issuer", at.Issuer()), slog.String("cause", causeOf(safe(err)).Error()))
	v := problem(http.StatusBadGateway, "The sign-in at "+at.Host()+" has failed.",
		"Try again in a moment. If that does not help, tell the gateway's operator: the log says why.")
	v.Again = p.path(r, link)
	return v
}
