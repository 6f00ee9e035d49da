package connection

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// PathPrefix begins the paths of the pages.
	PathPrefix = "/connect/"
	// callbackPath is where providers redirect people to.
	callbackPath = PathPrefix + "callback"
	// donePrefix begins the paths of the last pages, whose URLs contain no secrets.
	donePrefix = "done/"

	personCookie  = "recourse_person"
	browserCookie = "recourse_browser"
	// personTime is how long a person stays identified.
	personTime = time.Hour
	maxForm    = 64 << 10
)

// Pages are the pages for connecting an account. They hold no state of their own.
type Pages struct {
	Manager   *Manager
	Providers map[string]*Provider
	// URL returns the gateway's own URL for people.
	URL func(r *http.Request) string
	// Asks returns how the callers of an entry of access control identify themselves.
	Asks func(access string) Asked
	// Verify returns the owner of the key that was entered, according to an entry of access control. id is
	// empty if none is asked for.
	Verify func(r *http.Request, access, id, key string) (Person, error)
	Log    *slog.Logger
}

//go:embed page.html
var files embed.FS

// style is the style sheet, which defines all colours.
//
//go:embed page.css
var style string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(style) }, //nolint:gosec // it is ours
}).ParseFS(files, "page.html"))

// Asked is how a person identifies themselves: by signing in, or by filling in fields with these labels.
type Asked struct {
	Login *auth.Login // nil: they enter something

	ID  string // "": there is none
	Key string
}

// A view is what a page shows.
type view struct {
	Step     string // login, enter, confirm, key, done, problem
	Title    string // of the provider
	Name     string // of the person
	Asks     Asked
	Scopes   []string // that are asked for; on the last page, those that are lacking
	Problem  string
	Hint     string
	Again    string // the path for trying again
	Status   int
	FormGoes string // the scheme of a form's target, for the policy: that target may redirect to other hosts
}

// ServeHTTP implements [http.Handler].
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		p.show(w, problem(http.StatusForbidden, "This form was sent by another site.", "Open the link again."))
		return
	}
	switch {
	case r.URL.Path == callbackPath && r.Method == http.MethodGet:
		p.callback(w, r)
	case r.URL.Path == loginPath && r.Method == http.MethodGet:
		p.signedIn(w, r)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		if file, ok := strings.CutPrefix(linkID(r), clientPrefix); ok {
			p.client(w, r, file)
			return
		}
		if name, ok := strings.CutPrefix(linkID(r), donePrefix); ok {
			p.done(w, r, name)
			return
		}
		p.open(w, r)
	case r.Method == http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		p.submit(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		p.show(w, problem(http.StatusMethodNotAllowed, "This page only takes GET and POST.", ""))
	}
}

// open shows a link's page: who are you, or what will be connected.
func (p *Pages) open(w http.ResponseWriter, r *http.Request) {
	l, provider, why := p.link(r)
	if why != nil {
		p.show(w, why)
		return
	}
	by, known, why := p.person(r, l)
	switch {
	case why != nil:
		p.show(w, why)
	case !known:
		p.show(w, p.askWho(provider, l, by))
	default:
		p.show(w, confirm(provider, l, by))
	}
}

// askWho is the page on which people identify themselves. If they have, the link may belong to someone else.
func (p *Pages) askWho(provider *Provider, l *store.Link, other Person) *view {
	v := &view{Step: "enter", Title: provider.Title, Asks: p.Asks(l.Access), Name: other.Name}
	if v.Asks.Login != nil {
		v.Step, v.FormGoes = "login", schemeOf(v.Asks.Login.Issuer())
	}
	if other.Name != "" {
		v.Problem = "You are " + other.Name + " here, and this link was made for somebody else."
		v.Hint = "Go on only if your agent has given it to you."
	}
	return v
}

// schemeOf returns a URL's scheme as a source for the policy.
func schemeOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return ""
	}
	return u.Scheme + ":"
}

// confirm is the page on which a person agrees.
func confirm(provider *Provider, l *store.Link, by Person) *view {
	v := &view{Step: "confirm", Title: provider.Title, Name: by.Name, Scopes: l.Scopes, FormGoes: schemeOf(provider.AuthorizeURL)}
	if provider.Flow == APIKey {
		v.Step = "key"
	}
	return v
}

// submit handles a form on a link's page.
func (p *Pages) submit(w http.ResponseWriter, r *http.Request) {
	l, provider, why := p.link(r)
	if why == nil && r.ParseForm() != nil {
		why = problem(http.StatusBadRequest, "The form cannot be read.", "Open the link again.")
	}
	if why != nil {
		p.show(w, why)
		return
	}
	switch r.PostForm.Get("step") {
	case "enter":
		p.enter(w, r, l, provider)
		return
	case "login":
		p.signIn(w, r, l, provider)
		return
	}
	by, known, why := p.person(r, l)
	switch {
	case why != nil:
		p.show(w, why)
	case !known:
		p.show(w, p.askWho(provider, l, by))
	case provider.Flow == APIKey:
		p.keep(w, r, l, provider, by)
	default:
		p.begin(w, r, l, provider, by)
	}
}

// enter identifies a person by the credential that they entered.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request, l *store.Link, provider *Provider) {
	who, err := p.Verify(r, l.Access, strings.TrimSpace(r.PostForm.Get("id")), strings.TrimSpace(r.PostForm.Get("key")))
	if err != nil || !same(who, l) {
		v := p.askWho(provider, l, Person{})
		v.Status, v.Problem = http.StatusForbidden, "This is not the key of the caller that the link was made for."
		v.Hint = "Enter what your agent uses."
		p.show(w, v)
		return
	}
	p.setPerson(w, r, who)
	p.redirect(w, r, linkID(r))
}

// begin redirects a person to the provider.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, l *store.Link, provider *Provider, by Person) {
	to, err := p.Manager.begin(r.Context(), provider, l, by, p.browser(w, r), p.URL(r)+callbackPath)
	if err != nil {
		p.show(w, p.trouble(r, provider, err))
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// keep connects an account with the key that was entered.
func (p *Pages) keep(w http.ResponseWriter, r *http.Request, l *store.Link, provider *Provider, by Person) {
	entered := strings.TrimSpace(r.PostForm.Get("api_key"))
	if !isSendable(entered) {
		v := confirm(provider, l, by)
		v.Status, v.Problem = http.StatusBadRequest, "This cannot be an API key: it is empty, or has spaces in it."
		p.show(w, v)
		return
	}
	if err := p.Manager.enter(r.Context(), provider, l, by, entered); err != nil {
		p.show(w, p.trouble(r, provider, err))
		return
	}
	p.redirect(w, r, donePrefix+provider.Name)
}

// callback is the page to which the provider redirects a person.
func (p *Pages) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch said := query.Get("error"); {
	case said == "access_denied":
		p.show(w, problem(http.StatusOK, "The account was not connected: access was denied.", "Open the link again if that was a mistake."))
		return
	case said != "" || query.Get("code") == "" || query.Get("state") == "":
		p.Log.LogAttrs(r.Context(), slog.LevelWarn, "a provider has sent somebody back without a code", slog.String("error", oneWord(said)))
		p.show(w, problem(http.StatusBadGateway, "The provider did not connect the account.",
			"Open the link again, or tell the gateway's operator."))
		return
	}
	// A sign-in that has begun is completed even if the person closes the page.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), redeemTimeout+storeTimeout)
	defer cancel()
	provider, less, err := p.Manager.end(ctx, p.Providers, query.Get("state"), query.Get("code"), browserOf(r), p.URL(r)+callbackPath)
	if err != nil {
		p.show(w, p.trouble(r, provider, err))
		return
	}
	at := donePrefix + provider.Name
	if len(less) > 0 {
		at += "?less=" + url.QueryEscape(p.Manager.sealer.Seal([]byte(strings.Join(less, " ")), []byte(at)))
	}
	p.redirect(w, r, at)
}

// done is the last page, which can be reloaded. Which scopes are lacking is sealed in its URL: nobody else can make it say so.
func (p *Pages) done(w http.ResponseWriter, r *http.Request, name string) {
	provider, ok := p.Providers[name]
	if !ok {
		p.show(w, usedUp())
		return
	}
	v := &view{Step: "done", Title: provider.Title}
	if less, err := p.Manager.sealer.Open(r.URL.Query().Get("less"), []byte(donePrefix+name)); err == nil {
		v.Scopes = strings.Fields(string(less))
	}
	p.show(w, v)
}

const connectFailed = "an account was not connected"

// problem is the page about something that went wrong.
func problem(status int, what, hint string) *view {
	return &view{Step: "problem", Status: status, Problem: what, Hint: hint}
}

func usedUp() *view {
	return problem(http.StatusGone, "This link has expired, or was used already.", "Ask your agent for a new one.")
}

func linkID(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, PathPrefix) }

// link returns the link in a request's path, or the page that says why it is not valid.
func (p *Pages) link(r *http.Request) (*store.Link, *Provider, *view) {
	gone := usedUp()
	id := linkID(r)
	if id == "" || len(id) > 64 || strings.Contains(id, "/") {
		return nil, nil, gone
	}
	l, err := p.Manager.store.Link(r.Context(), hash(id))
	if err != nil {
		v := p.trouble(r, nil, err)
		return nil, nil, v
	}
	if l == nil || !l.Used.IsZero() || time.Now().After(l.Expires) || p.Providers[l.Provider] == nil {
		return nil, nil, gone
	}
	return l, p.Providers[l.Provider], nil
}

// person returns who has opened a link, and whether they are known to have asked for it: only then may they
// continue.
func (p *Pages) person(r *http.Request, l *store.Link) (by Person, known bool, why *view) {
	if l.Access == "" { // there is no access control: it is whoever uses this machine
		if !isLocal(r) {
			return by, false, problem(http.StatusForbidden,
				"This gateway does not ask its callers who they are, so accounts can be connected on its own machine only.",
				"Open the link there, or have its operator set `access`.")
		}
		return by, true, nil
	}
	cookie, err := r.Cookie(personCookie)
	if err != nil {
		return by, false, nil
	}
	text, err := p.Manager.sealer.Open(cookie.Value, []byte(personCookie))
	var said passport
	if err != nil || json.Unmarshal(text, &said) != nil || time.Now().After(said.Expires) || said.Access != l.Access {
		return by, false, nil // they may be known to another entry
	}
	return said.Person, same(said.Person, l), nil
}

// A passport is the content of a person's cookie, sealed.
type passport struct {
	Person

	Expires time.Time `json:"expires"`
}

// same reports whether a person is the one who asked for a link.
func same(who Person, l *store.Link) bool { return who == Person{l.Access, l.Name} && l.Access != "" }

// isLocal reports whether a request comes from this machine, and not from a website with a DNS name that
// points to it.
func isLocal(r *http.Request) bool {
	return door.Proxies(nil).IsLocal(r) && door.IsLoopback(r.Host)
}

func (p *Pages) setPerson(w http.ResponseWriter, r *http.Request, who Person) {
	text, _ := json.Marshal(passport{who, time.Now().Add(personTime)})
	p.setCookie(w, r, personCookie, p.Manager.sealer.Seal(text, []byte(personCookie)), personTime)
}

// browser returns the id of the person's browser, and stores it in a cookie. All tabs share it.
func (p *Pages) browser(w http.ResponseWriter, r *http.Request) string {
	browser := browserOf(r)
	if len(browser) != len(rand.Text()) {
		browser = rand.Text()
	}
	p.setCookie(w, r, browserCookie, browser, LinkTime)
	return browser
}

func browserOf(r *http.Request) string {
	cookie, err := r.Cookie(browserCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// path returns the path of one of these pages in the browser: a proxy may have added a prefix.
func (p *Pages) path(r *http.Request, page string) string {
	u, err := url.Parse(p.URL(r))
	if err != nil {
		return PathPrefix + page
	}
	return u.EscapedPath() + PathPrefix + page
}

func (p *Pages) redirect(w http.ResponseWriter, r *http.Request, page string) {
	http.Redirect(w, r, p.path(r, page), http.StatusSeeOther)
}

func (p *Pages) setCookie(w http.ResponseWriter, r *http.Request, name, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure follows the URL: the machine's own browser uses plain http
		Name: name, Value: value, Path: strings.TrimSuffix(p.path(r, ""), "/"), MaxAge: int(age.Seconds()), HttpOnly: true,
		Secure: strings.HasPrefix(p.URL(r), "https:"), SameSite: http.SameSiteLaxMode, // the provider's redirect must carry it
	})
}

// trouble is the page about an error.
func (p *Pages) trouble(r *http.Request, provider *Provider, err error) *view {
	v := problem(http.StatusBadGateway, "The account could not be connected.", "Try again in a few minutes.")
	e, isFailure := errors.AsType[*recourse.Error](err)
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, errNoSignIn):
		v = usedUp()
	case errors.Is(err, errOtherBrowser):
		v.Status, v.Problem = http.StatusForbidden, "This sign-in began in another browser. The account was not connected."
		v.Hint = "If somebody has sent you here, close this page. Otherwise ask your agent for a new link."
	case errors.Is(err, errNotKept):
		v.Problem = "The gateway cannot store the account at present. Nothing has changed."
		v.Hint = "Ask your agent for a new link in a few minutes."
	case isFailure && (e.Origin == recourse.OriginProvider || e.Retry == recourse.RetryAfterSetup):
		v.Problem, v.Hint = e.Message, "Ask your agent for a new link in a few minutes."
	}
	attrs := []slog.Attr{slog.String("cause", causeOf(err).Error())}
	if provider != nil {
		attrs = append(attrs, slog.String("provider", provider.Name))
	}
	p.Log.LogAttrs(r.Context(), slog.LevelWarn, connectFailed, attrs...)
	return v
}

// causeOf returns the part of an error for the operator: a failure's message is for the person.
func causeOf(err error) error {
	if e, ok := errors.AsType[*recourse.Error](err); ok && e.Cause() != nil {
		return e.Cause()
	}
	return err
}

// styleHash is the style sheet's, which is the only one that the policy allows.
var styleHash = func() string {
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

func (p *Pages) show(w http.ResponseWriter, v *view) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, "page", v); err != nil { // it renders every view: a test shows each
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", strings.TrimSpace("default-src 'none'; style-src 'sha256-"+styleHash+"'; base-uri 'none'; "+
		"frame-ancestors 'none'; form-action 'self' "+v.FormGoes))
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if v.Status != 0 {
		w.WriteHeader(v.Status)
	}
	_, _ = w.Write(page.Bytes()) // a browser that has gone needs no page
}
