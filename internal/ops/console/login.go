package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"

	cookieName = "recourse_console"
	// sessionTime is how long an operator stays signed in, and maxSessions limits the sessions: a new one
	// replaces the oldest.
	sessionTime = 12 * time.Hour
	maxSessions = 1000
)

// KeyCheck returns the name of the operator who owns the API key, or [ErrNotOperator]. Any other error means
// that this cannot be determined at the moment. It is called for every request, so that a revoked key has no
// effect any more.
type KeyCheck func(ctx context.Context, key string) (operator string, err error)

var (
	// ErrNotOperator says that an API key is not an operator's.
	ErrNotOperator = errors.New("not the key of an operator")

	errSignedOut = errors.New("nobody has signed in")
	errProxied   = &problem{
		http.StatusForbidden, "This console has no access control, and there is a proxy in front of it.",
		"Add `console_access` to the gateway's configuration, or open the console on its own machine.",
	}
)

// RequireLogin makes operators sign in. It is called before [Console.Handler].
func (c *Console) RequireLogin(verify KeyCheck) {
	lockout := door.NewLockout(door.LockoutFailures, door.LockoutTime)
	c.login = &signIns{verify: verify, sessions: map[sessionID]*signedIn{}, lockout: lockout}
}

// signIns knows who has signed in.
type signIns struct {
	verify  KeyCheck
	lockout *door.Lockout // of addresses

	mu       sync.Mutex
	sessions map[sessionID]*signedIn
}

// A sessionID is the hash of a cookie's value.
type sessionID [sha256.Size]byte

// A signedIn session belongs to an operator. The key is only kept in memory, to be verified again.
type signedIn struct {
	key  string
	ends time.Time
}

// begin starts a session and returns the cookie's value.
func (l *signIns) begin(key string, now time.Time) string {
	text := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sessions) >= maxSessions {
		var oldest sessionID
		for id, s := range l.sessions {
			if first := l.sessions[oldest]; first == nil || s.ends.Before(first.ends) {
				oldest = id
			}
		}
		delete(l.sessions, oldest)
	}
	l.sessions[sha256.Sum256([]byte(text))] = &signedIn{key, now.Add(sessionTime)}
	return text
}

// end ends the session of a cookie.
func (l *signIns) end(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, sha256.Sum256([]byte(text)))
}

// of returns the operator whose cookie it is.
func (l *signIns) of(ctx context.Context, text string, now time.Time) (string, error) {
	l.mu.Lock()
	s := l.sessions[sha256.Sum256([]byte(text))]
	l.mu.Unlock()
	if s == nil || !now.Before(s.ends) {
		l.end(text)
		return "", errSignedOut
	}
	operator, err := l.verify(ctx, s.key)
	if errors.Is(err, ErrNotOperator) {
		l.end(text)
		return "", errSignedOut
	}
	return operator, err
}

// operator returns who sent a request; "" if there is no sign-in. The error is [errSignedOut] if they have to
// sign in.
func (c *Console) operator(r *http.Request) (string, error) {
	if c.login == nil {
		if door.WasForwarded(r.Header) {
			return "", errProxied
		}
		return "", nil
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return "", errSignedOut
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTime)
	defer cancel()
	return c.login.of(ctx, cookie.Value, c.now())
}

type operatorKey struct{}

// operatorOf returns the operator who was let in.
func operatorOf(r *http.Request) string {
	name, _ := r.Context().Value(operatorKey{}).(string)
	return name
}

// admit lets operators in, and shows the sign-in page to others.
func (c *Console) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := c.operator(r)
		path := r.URL.Path
		switch {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, name)))
		case path == loginPath && c.login != nil, strings.HasPrefix(path, staticPrefix):
			next.ServeHTTP(w, r)
		case !errors.Is(err, errSignedOut):
			c.bare(w, r, err)
		case r.Method == http.MethodGet && r.Header.Get("Accept") != "text/event-stream":
			http.Redirect(w, r, loginPath+"?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		default:
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
		}
	})
}

// A loginPage is the page on which operators sign in.
type loginPage struct {
	to      string // where they go afterwards
	problem string
	plain   bool // what they enter can be read on its way
}

func (c *Console) loginForm(r *http.Request) (*view, error) {
	if c.login == nil || operatorOf(r) != "" {
		return &view{to: "/"}, nil
	}
	return c.loginView(r, r.URL.Query().Get("to"), ""), nil
}

func (*Console) loginView(r *http.Request, to, problem string) *view {
	page := &loginPage{to: ownPath(to), problem: problem, plain: !isSecure(r) && !door.IsLoopback(r.Host)}
	v := &view{title: "Sign in", bare: true, body: loginForm(page)}
	if problem != "" {
		v.status = http.StatusForbidden
	}
	return v
}

// signIn starts a session for the key that was entered.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if c.login == nil {
		http.NotFound(w, r)
		return
	}
	key, to := strings.TrimSpace(r.PostFormValue("key")), r.PostFormValue("to")
	address := door.Proxies(nil).Client(r)
	if wait := c.login.lockout.Wait(address, c.now()); wait > 0 {
		c.show(w, r, c.loginView(r, to, "Too many keys were wrong. Try again in "+recourse.FormatWait(wait)+"."))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTime)
	defer cancel()
	name, err := c.login.verify(ctx, key)
	switch {
	case errors.Is(err, ErrNotOperator):
		c.login.lockout.Failed(address, c.now())
		c.log.LogAttrs(ctx, slog.LevelWarn, "somebody could not sign in to the console", slog.String("client", address.String()))
		c.show(w, r, c.loginView(r, to, "This is not the key of an operator."))
		return
	case err != nil:
		c.log.LogAttrs(ctx, slog.LevelWarn, "the console cannot check keys", slog.String("cause", err.Error()))
		c.show(w, r, c.loginView(r, to, "Keys cannot be checked now. Try again in a moment."))
		return
	}
	c.log.LogAttrs(ctx, slog.LevelInfo, "somebody has signed in to the console",
		slog.String("operator", name), slog.String("client", address.String()))
	setCookie(w, r, c.login.begin(key, c.now()), sessionTime)
	http.Redirect(w, r, ownPath(to), http.StatusSeeOther)
}

// signOut ends a session.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil && c.login != nil {
		c.login.end(cookie.Value)
	}
	setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, r *http.Request, text string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure follows the connection: this machine's own browser uses plain http
		Name: cookieName, Value: text, Path: "/", MaxAge: int(age.Seconds()), HttpOnly: true, Secure: isSecure(r),
		SameSite: http.SameSiteStrictMode,
	})
}

// isSecure reports whether the browser's connection is encrypted. A client that lies about it only keeps its
// own cookie from plain http.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// ownPath returns the path to which a text leads within these pages.
func ownPath(text string) string {
	to, err := url.Parse(text)
	if err != nil || to.IsAbs() || to.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsAny(text, "\\\r\n\t") || strings.HasPrefix(text, loginPath) {
		return "/"
	}
	return text
}
