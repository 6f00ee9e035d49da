package fieldmcp

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// An Application asks people for access to their accounts.
type Application struct {
	ID, Secret  string
	Title       string // the name for people
	RedirectURI string // where people are sent back to
}

// Farmer is the organisation that grants access on the pages of a [StandIn].
const Farmer = "willow"

// codeLife is how long a code can be exchanged for a token.
const codeLife = time.Minute

// A code represents a person's consent.
type code struct {
	scopes    []string
	challenge string // of PKCE
	ends      time.Time
}

//go:embed consent.html
var consentPage embed.FS

var consent = template.Must(template.ParseFS(consentPage, "consent.html"))

// A grantable scope is one to which a person can agree.
type grantable struct{ Scope, About string }

var grantables = []grantable{
	{"ag1", "Organizations, farms, fields and boundaries"},
	{"ag2", "Field operations: seeding, application and harvest"},
	{"ag3", "Equipment"},
}

// A consentView is the content of a page.
type consentView struct {
	App    string
	Ask    []grantable // the scopes that the application asks for
	Fields url.Values  // of the request, repeated by the form

	State   string // of the access: none, granted, lapsed, revoked
	Granted []grantable
	Problem string
}

// among returns the grantable scopes among scopes.
func among(scopes []string) (list []grantable) {
	for _, g := range grantables {
		if slices.Contains(scopes, g.Scope) {
			list = append(list, g)
		}
	}
	return list
}

// askConsent is the page on which a person agrees (RFC 6749, section 4.1.1).
func (p *StandIn) askConsent(w http.ResponseWriter, r *http.Request) {
	v, ok := p.authorization(w, r)
	if ok {
		show(w, http.StatusOK, v)
	}
}

// authorization reads a request for access. If it is not the client's, it ends here: to send people somewhere
// else would be worse.
func (p *StandIn) authorization(w http.ResponseWriter, r *http.Request) (consentView, bool) {
	c, q := p.o.Client, r.FormValue
	problem := ""
	switch {
	case q("client_id") != c.ID:
		problem = "The application is not known here."
	case q("redirect_uri") != c.RedirectURI:
		problem = "The application wants you to be sent back to an address that it has not registered."
	case q("response_type") != "code", q("code_challenge_method") != "S256", q("code_challenge") == "":
		problem = "The application's request is not complete."
	}
	if problem != "" {
		show(w, http.StatusBadRequest, consentView{App: c.Title, Problem: problem})
		return consentView{}, false
	}
	v := consentView{App: c.Title, Fields: url.Values{}, Ask: among(strings.Fields(q("scope")))}
	if v.Ask == nil {
		show(w, http.StatusBadRequest, consentView{App: c.Title, Problem: "The application requests no scope that exists."})
		return v, false
	}
	for name := range strings.FieldsSeq("client_id redirect_uri response_type code_challenge code_challenge_method scope state") {
		v.Fields.Set(name, q(name))
	}
	return v, true
}

// takeConsent sends a person back to the application, with a code if they have agreed.
func (p *StandIn) takeConsent(w http.ResponseWriter, r *http.Request) {
	if !fromHere(w, r) {
		return
	}
	v, ok := p.authorization(w, r)
	if !ok {
		return
	}
	back := url.Values{"state": {v.Fields.Get("state")}}
	if agreed := r.PostForm["agreed"]; r.PostForm.Get("answer") == "allow" {
		text := rand.Text()
		granted := code{challenge: v.Fields.Get("code_challenge"), ends: p.o.Now().Add(codeLife)}
		for _, g := range v.Ask {
			if slices.Contains(agreed, g.Scope) {
				granted.scopes = append(granted.scopes, g.Scope)
			}
		}
		p.mu.Lock()
		maps.DeleteFunc(p.codes, func(_ string, c code) bool { return !p.o.Now().Before(c.ends) })
		p.codes[text] = granted
		p.mu.Unlock()
		back.Set("code", text)
	} else {
		back.Set("error", "access_denied")
	}
	http.Redirect(w, r, p.o.Client.RedirectURI+"?"+back.Encode(), http.StatusSeeOther)
}

// exchange returns the account for a code, or nil. A code is valid once.
func (p *StandIn) exchange(r *http.Request) *account {
	c := p.o.Client
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if c == nil || id != c.ID || subtle.ConstantTimeCompare([]byte(secret), []byte(c.Secret)) != 1 {
		return nil
	}
	text := r.PostFormValue("code")
	granted, ok := p.codes[text]
	delete(p.codes, text)
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || !p.o.Now().Before(granted.ends) || base64.RawURLEncoding.EncodeToString(verifier[:]) != granted.challenge {
		return nil
	}
	a := &account{scopes: granted.scopes, spent: map[string]bool{}}
	if before := p.accounts[Farmer]; before != nil {
		p.endTokens(before)
	}
	p.accounts[Farmer] = a
	return a
}

// showAccount is the farmer's page about who has access.
func (p *StandIn) showAccount(w http.ResponseWriter, _ *http.Request) {
	v := consentView{App: p.o.Client.Title, State: "none"}
	p.mu.Lock()
	if a := p.accounts[Farmer]; a != nil {
		switch v.State = "granted"; {
		case a.revoked:
			v.State = "revoked"
		case p.o.Now().Sub(a.issued) >= refreshLife:
			v.State = "lapsed"
		}
		v.Granted = among(a.scopes)
	}
	p.mu.Unlock()
	show(w, http.StatusOK, v)
}

// changeAccount revokes the farmer's access, or lets it lapse.
func (p *StandIn) changeAccount(w http.ResponseWriter, r *http.Request) {
	if !fromHere(w, r) {
		return
	}
	change := map[string]func(string) error{"revoke": p.Revoke, "lapse": p.Lapse}[r.PostFormValue("change")]
	if change != nil {
		_ = change(Farmer) // without a grant there is nothing to revoke
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// fromHere refuses forms that another site has sent.
func fromHere(w http.ResponseWriter, r *http.Request) bool {
	if http.NewCrossOriginProtection().Check(r) != nil || r.ParseForm() != nil {
		show(w, http.StatusForbidden, consentView{Problem: "This form was sent by another site."})
		return false
	}
	return true
}

func show(w http.ResponseWriter, status int, v consentView) {
	var page bytes.Buffer
	if err := consent.Execute(&page, v); err != nil { // the template fits every view
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // a browser that has gone needs no page
}
