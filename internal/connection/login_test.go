package connection_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

const (
	openIDURL = "http://127.0.0.1:4"
	loginURL  = gatewayURL + "/connect/login"
)

// An openID is an OpenID provider with configurable faults. It immediately signs everyone in as user.
type openID struct {
	t *testing.T

	mu       sync.Mutex
	user     string
	key      *testkit.SigningKey
	nonces   map[string]string // by code
	prompted string            // prompt of the last request
	redeemed int

	// A test may change:
	claims   map[string]any // nil removes a claim
	header   map[string]any
	by       *testkit.SigningKey // the signer; nil means key
	metadata map[string]any
	query    url.Values                                      // added to redirects back to the gateway
	token    func(w http.ResponseWriter, r *http.Request)    // replaces the token endpoint
	sign     func(header map[string]any, text []byte) string // replaces the signature
}

func (o *openID) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	query := r.URL.Query()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		said := map[string]any{
			"issuer": openIDURL, "jwks_uri": openIDURL + "/keys",
			"authorization_endpoint": openIDURL + "/authorize", "token_endpoint": openIDURL + "/token",
		}
		maps.Copy(said, o.metadata)
		answer(said)
	case "/keys":
		answer(map[string]any{"keys": []json.RawMessage{o.key.Public()}})
	case "/authorize":
		if query.Get("code_challenge_method") != "S256" || query.Get("code_challenge") == "" || query.Get("scope") != "openid email" ||
			query.Get("response_type") != "code" || query.Get("client_id") != "recourse" || query.Get("redirect_uri") != loginURL {
			o.t.Errorf("got sign-in request %s", r.URL)
		}
		code := fmt.Sprintf("the-code-%d", len(o.nonces))
		o.nonces[code], o.prompted = query.Get("nonce"), query.Get("prompt")
		back := url.Values{"code": {code}, "state": {query.Get("state")}}
		maps.Copy(back, o.query)
		http.Redirect(w, r, loginURL+"?"+back.Encode(), http.StatusFound)
	case "/token":
		if o.token != nil {
			o.token(w, r)
			return
		}
		id, secret, _ := r.BasicAuth()
		_ = r.ParseForm()
		nonce, ok := o.nonces[r.PostForm.Get("code")]
		delete(o.nonces, r.PostForm.Get("code"))
		if !ok || id != "recourse" || secret != "hunter2" || r.PostForm.Get("code_verifier") == "" || r.PostForm.Get("redirect_uri") != loginURL {
			w.WriteHeader(http.StatusBadRequest)
			answer(map[string]any{"error": "invalid_grant", "error_description": "the-code-0"})
			return
		}
		o.redeemed++
		answer(map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": o.idToken(nonce)})
	default:
		http.NotFound(w, r)
	}
}

func (o *openID) idToken(nonce string) string {
	now := time.Now().Unix()
	claims := map[string]any{"iss": openIDURL, "sub": o.user, "aud": "recourse", "iat": now, "exp": now + 300, "nonce": nonce}
	maps.Copy(claims, o.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, _ := json.Marshal(claims)
	header := map[string]any{"alg": "ES256", "kid": "k1"}
	maps.Copy(header, o.header)
	switch {
	case o.sign != nil:
		return o.sign(header, text)
	case o.by != nil:
		return o.by.Sign(o.t, header, text)
	default:
		return o.key.Sign(o.t, header, text)
	}
}

// change changes the provider.
func (o *openID) change(how func(o *openID)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	how(o)
}

var bob = connection.Person{Access: "staff", Name: "bob"}

// withLogin makes callers with tokens of the entry staff sign in at an OpenID provider.
func (s *stage) withLogin() *openID {
	s.t.Helper()
	o := &openID{t: s.t, user: "bob", key: testkit.NewSigningKey(s.t, "k1", "ES256"), nonces: map[string]string{}}
	s.hosts["127.0.0.1:4"] = o
	s.loginAt(openIDURL, "openid", "email")
	return o
}

// loginAt makes them sign in at another issuer.
func (s *stage) loginAt(issuer string, scopes ...string) {
	s.t.Helper()
	issuers := auth.NewIssuers(s.hosts)
	s.t.Cleanup(issuers.Close)
	rule := auth.TokenRule{
		Access: "staff", Issuer: issuer, Audiences: []string{"farm"}, Algorithms: auth.Algorithms(), Leeway: time.Minute,
		NameClaim: "sub", OrgClaim: "org", RolesClaim: "roles",
	}
	login := auth.NewLogin(rule, issuers.Keys(issuer, ""), auth.LoginClient{ID: "recourse", Secret: "hunter2", Scopes: scopes})
	s.pages.Asks = func(string) connection.Asked { return connection.Asked{Login: login} }
}

// callback follows redirects up to the gateway's callback, and returns its URL.
func (b browser) callback(begin func() page) string {
	b.t.Helper()
	var back string
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), loginURL) {
			back = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	begin()
	b.CheckRedirect = nil
	if back == "" {
		b.t.Fatal("no redirect back to the gateway")
	}
	return back
}

// A caller with tokens signs in at their issuer, and connects the account. The sign-in is valid for an hour.
func TestSignInAtTheIssuer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.withLogin()
		b := s.browser()
		link := s.invite(s.key, bob)
		b.open(link).wants(t, http.StatusOK, "127.0.0.1:4")
		b.submit(link).wants(t, http.StatusOK, "127.0.0.1:4") // the sign-in has to be chosen
		at := b.submit(link, "step", "login")
		at.wants(t, http.StatusOK, "API key of Leaf")
		if at.url.String() != link {
			t.Errorf("got page %s", at.url)
		}
		b.submit(link, "api_key", "leaf-1").wants(t, http.StatusOK, "Leaf is connected")
		if a, _, err := s.Get(t.Context(), "leaf", "ada"); err != nil || a.By != "bob" {
			t.Errorf("%+v, %v", a, err)
		}
		another := s.invite(s.provider, bob)
		b.open(another).wants(t, http.StatusOK, "Continue to John Deere")
		time.Sleep(time.Hour)
		b.open(s.invite(s.provider, bob)).wants(t, http.StatusOK, "First sign in at")
	})
}

// Someone who signs in as another user than the one who asked for the link is told so, and can only sign in again.
func TestSignInAsSomebodyElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.withLogin()
	o.change(func(o *openID) { o.user = "eve" })
	b := s.browser()
	link := s.invite(s.key, bob)
	b.submit(link, "step", "login").wants(t, http.StatusOK, "You are eve here")
	b.submit(link, "api_key", "evil").wants(t, http.StatusOK, "You are eve here")
	b.open(link).wants(t, http.StatusOK, "Sign in as somebody else")
	if _, ok, _ := s.Get(t.Context(), "leaf", "ada"); ok {
		t.Error("another user connected the account")
	}
	o.change(func(o *openID) { o.user = "bob" })
	b.submit(link, "step", "login", "again", "yes").wants(t, http.StatusOK, "API key of Leaf")
	if o.prompted != "login" {
		t.Errorf("got prompt %q", o.prompted)
	}
}

// A sign-in can be completed once, in the browser where it began, in time, and only at its own callback.
func TestSignInCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		o := s.withLogin()
		link := s.invite(s.key, bob)
		b, eve := s.browser(), s.browser()
		begin := func() page { return b.submit(link, "step", "login") }

		stolen := b.callback(begin)
		eve.open(stolen).wants(t, http.StatusForbidden, "in another browser")
		b.open(stolen).wants(t, http.StatusGone, "used already")

		back := b.callback(begin)
		b.open(back).wants(t, http.StatusOK, "API key of Leaf")
		b.open(back).wants(t, http.StatusGone, "used already")

		late := b.callback(begin)
		time.Sleep(11 * time.Minute)
		b.open(late).wants(t, http.StatusGone, "used already")

		misplaced := b.callback(begin)
		b.open(strings.Replace(misplaced, "/login?", "/callback?", 1)).wants(t, http.StatusGone, "used already")
		u, err := url.Parse(misplaced)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set("state", "made-up")
		b.open(loginURL+"?"+query.Encode()).wants(t, http.StatusGone, "used already")
		query.Del("state")
		b.open(loginURL+"?"+query.Encode()).wants(t, http.StatusGone, "used already")
		if o.redeemed != 1 {
			t.Errorf("redeemed %d codes", o.redeemed)
		}

		// Two tabs of one browser do not interfere.
		first, second := b.callback(begin), b.callback(begin)
		b.open(second).wants(t, http.StatusOK, "API key of Leaf")
		b.open(first).wants(t, http.StatusOK, "API key of Leaf")

		// A link that was used meanwhile is gone.
		again := b.callback(begin)
		b.submit(link, "api_key", "leaf-1").wants(t, http.StatusOK, "Leaf is connected")
		b.open(again).wants(t, http.StatusGone, "used already")
	})
}

// A forged ID token, or one for another purpose, is refused, and is neither shown nor logged.
func TestForgedIDTokens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stranger, rsa := testkit.NewSigningKey(t, "k1", "ES256"), testkit.NewSigningKey(t, "k1", "RS256")
	claim := func(name string, value any) func(o *openID) {
		return func(o *openID) { o.claims = map[string]any{name: value} }
	}
	now := time.Now().Unix()
	tests := map[string]struct {
		change func(o *openID)
		cause  string
	}{
		"another client":              {claim("aud", "another"), "the audience is"},
		"an access token":             {claim("aud", "farm"), "the audience is"},
		"several, for another":        {func(o *openID) { o.claims = map[string]any{"aud": []string{"recourse", "farm"}, "azp": "another"} }, "another client"},
		"several, without azp":        {claim("aud", []string{"recourse", "farm"}), "another client"},
		"issued to another":           {claim("azp", "another"), "another client"},
		"issued to something odd":     {claim("azp", []string{"recourse"}), "another client"},
		"another issuer":              {claim("iss", "https://evil.example"), "the issuer is"},
		"no issuer":                   {claim("iss", nil), "the issuer is"},
		"no nonce":                    {claim("nonce", nil), "nonce"},
		"an empty nonce":              {claim("nonce", ""), "nonce"},
		"another nonce":               {claim("nonce", "another"), "nonce"},
		"a list of nonces":            {claim("nonce", []string{"another"}), "nonce"},
		"expired":                     {claim("exp", now-120), "expired"},
		"without an end":              {claim("exp", nil), "never expires"},
		"not valid yet":               {claim("nbf", now+3600), "not valid before"},
		"no subject":                  {claim("sub", nil), "name no caller"},
		"a subject with a line break": {claim("sub", "bob\nX"), "name no caller"},
		"signed with another key":     {func(o *openID) { o.by = stranger }, ""},
		"with another algorithm":      {func(o *openID) { o.by, o.header = rsa, map[string]any{"alg": "RS256"} }, "no such key"},
		"with the key as a secret": {func(o *openID) {
			o.by, o.header = testkit.SharedKey("k1", o.key.Public()), map[string]any{"alg": "HS256"}
		}, "HS256"},
		"with its own key in the header": {func(o *openID) {
			o.by, o.header = stranger, map[string]any{"jwk": json.RawMessage(stranger.Public())}
		}, ""},
		"alg none": {func(o *openID) {
			o.sign = func(_ map[string]any, text []byte) string {
				parts := strings.Split(o.key.Sign(t, map[string]any{"alg": "none"}, text), ".")
				return parts[0] + "." + parts[1] + "."
			}
		}, "none"},
		"changed":                    {func(o *openID) { o.sign = func(map[string]any, []byte) string { return "a.b.c" } }, ""},
		"none":                       {func(o *openID) { o.sign = func(map[string]any, []byte) string { return "" } }, "no ID token"},
		"huge":                       {claim("pad", strings.Repeat("x", 20<<10)), "larger than"},
		"from another issuer":        {func(o *openID) { o.query = url.Values{"iss": {"https://evil.example"}} }, "another issuer"},
		"an issuer left out":         {func(o *openID) { o.metadata = map[string]any{"authorization_response_iss_parameter_supported": true} }, "another issuer"},
		"metadata of another issuer": {func(o *openID) { o.metadata = map[string]any{"issuer": "https://evil.example"} }, "those of the issuer"},
	}
	for name, test := range tests {
		var log logged
		s.pages.Log = log.logger()
		test.change(s.withLogin())
		b := s.browser()
		link := s.invite(s.key, bob)
		at := b.submit(link, "step", "login")
		at.wants(t, http.StatusBadGateway, "has failed")
		if !strings.Contains(log.String(), test.cause) || !strings.Contains(log.String(), "could not sign in") {
			t.Errorf("%s: got log %s", name, log.String())
		}
		for _, secret := range []string{"the-code", "opaque", "hunter2", "eyJ"} {
			if strings.Contains(at.text+log.String(), secret) {
				t.Errorf("%s: %q is in %s or %s", name, secret, at.text, log.String())
			}
		}
		b.open(link).wants(t, http.StatusOK, "First sign in at")
	}
}

// A failing provider is reported within a time limit, and the person can try again.
func TestSignInAtAProviderInTrouble(t *testing.T) {
	t.Parallel()
	write := func(status int, text string) func(o *openID) {
		return func(o *openID) {
			o.token = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			}
		}
	}
	for name, change := range map[string]func(o *openID){
		"HTML":             write(http.StatusOK, "<html>the-code-0</html>"),
		"an error":         write(http.StatusBadGateway, "<html>the-code-0</html>"),
		"a refusal":        write(http.StatusUnauthorized, `{"error":"invalid_client","error_description":"hunter2"}`),
		"a huge answer":    write(http.StatusOK, `{"access_token":"`+strings.Repeat("x", 4<<20)),
		"no https":         func(o *openID) { o.metadata = map[string]any{"token_endpoint": "http://192.0.2.1/token"} },
		"a script as page": func(o *openID) { o.metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"} },
		"odd metadata":     func(o *openID) { o.metadata = map[string]any{"token_endpoint": []string{"x"}} },
		"an OAuth error":   func(o *openID) { o.query = url.Values{"error": {"server_error"}} },
		"an empty code":    func(o *openID) { o.query = url.Values{"code": {""}} },
		"a hostile error":  func(o *openID) { o.query = url.Values{"error": {"<script>alert(1)</script>"}} },
		"a redirect": func(o *openID) {
			o.token = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:5/steal", http.StatusTemporaryRedirect)
			}
		},
		"a hang": func(o *openID) {
			o.token = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				o := s.withLogin()
				s.hosts["127.0.0.1:5"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a code was sent elsewhere") })
				var log logged
				s.pages.Log = log.logger()
				change(o)
				b := s.browser()
				link := s.invite(s.key, bob)
				began := time.Now()
				at := b.submit(link, "step", "login")
				at.wants(t, http.StatusBadGateway, "has failed")
				if took := time.Since(began); took > 45*time.Second {
					t.Errorf("took %s", took)
				}
				if !strings.Contains(at.text, `href="`+strings.TrimPrefix(link, gatewayURL)+`"`) {
					t.Errorf("no way to try again: %s", at.text)
				}
				for _, secret := range []string{"the-code", "hunter2", "<script"} {
					if strings.Contains(at.text+log.String(), secret) {
						t.Errorf("%q is in %s or %s", secret, at.text, log.String())
					}
				}
			})
		})
	}
}

// A person who cancels is told that nothing has changed.
func TestCancelledSignIn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.withLogin()
	o.change(func(o *openID) { o.query = url.Values{"code": nil, "error": {"access_denied"}} })
	b := s.browser()
	link := s.invite(s.key, bob)
	b.submit(link, "step", "login").wants(t, http.StatusOK, "You have not signed in")
	b.open(link).wants(t, http.StatusOK, "First sign in at")
}

// Starting again and again does not fill the store, and the last sign-in can be completed.
func TestManySignIns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.withLogin()
	b := s.browser()
	link := s.invite(s.key, bob)
	var backs []string
	for range 30 {
		backs = append(backs, b.callback(func() page { return b.submit(link, "step", "login") }))
	}
	b.open(backs[9]).wants(t, http.StatusGone, "used already")
	b.open(backs[10]).wants(t, http.StatusOK, "API key of Leaf")
	b.open(backs[29]).wants(t, http.StatusOK, "API key of Leaf")
}

// Callers sign in at a real provider, and complete it at another replica than the one where they began.
func TestSignInAtARealIssuer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.loginAt(providerURL, "openid", "profile")
	b := s.browser()
	link := s.invite(s.provider, connection.Person{Access: "staff", Name: "id1"})
	signIn := b.submit(link, "step", "login")
	s.pages.Manager = s.process()
	b.signIn(signIn).wants(t, http.StatusOK, "Continue to John Deere")
	b.signIn(b.submit(link)).wants(t, http.StatusOK, "John Deere is connected")
	if c, err := s.pages.Manager.Credential(t.Context(), s.provider, "ada"); err != nil || len(c.Value) < 40 {
		t.Errorf("%+v, %v", c, err)
	}
	wrong := s.invite(s.key, bob)
	s.browser().signIn(s.browser().submit(wrong, "step", "login")).wants(t, http.StatusForbidden, "in another browser")
	other := s.browser()
	other.signIn(other.submit(wrong, "step", "login")).wants(t, http.StatusOK, "You are id1 here")
}

// A logged is a log that a test can read.
type logged struct{ testkit.Buffer }

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
