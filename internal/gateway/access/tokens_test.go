package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// tokenDoor starts a gateway that accepts tokens of an issuer. more has keys of the access entry.
func tokenDoor(tb testing.TB, issuer *testkit.Issuer, more ...string) *door {
	tb.Helper()
	return openDoor(tb, staff(issuer, more...), "access: [staff]")
}

func staff(issuer *testkit.Issuer, more ...string) string {
	return "access: {staff: {jwt: {" + strings.Join(append([]string{"issuer: '" + issuer.URL + "'", "audience: [farm]"}, more...), ", ") + "}}}"
}

// with returns a client with a token.
func (d *door) with(tb testing.TB, token string) *testkit.Client {
	tb.Helper()
	return d.As(tb, testkit.Modern, "Authorization", "Bearer "+token)
}

// An invalid token is refused, with as much of the reason as is safe to tell.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer := testkit.NewIssuer(t)
		es, rs, ed := issuer.Key(), testkit.NewSigningKey(t, "k2", "RS256"), testkit.NewSigningKey(t, "k3", "EdDSA")
		stranger, weak := testkit.NewSigningKey(t, "k1", "ES256"), testkit.NewWeakKey(t, "k5")
		issuer.SetKeys(es, rs, ed, weak, testkit.NewSigningKey(t, "k4", "ES256"))
		d := tokenDoor(t, issuer)
		now := time.Now()
		payload, err := json.Marshal(issuer.Claims(nil))
		if err != nil {
			t.Fatal(err)
		}
		text := string(payload)
		head := func(alg, kid string) map[string]any { return map[string]any{"alg": alg, "kid": kid} }
		claims := func(name string, value any) string { return issuer.Token(t, map[string]any{name: value}) }
		clock := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
		good := es.Sign(t, head("ES256", "k1"), payload)
		const invalid, unauthenticated = "The token is not valid.", recourse.KindUnauthenticated
		for name, test := range map[string]struct {
			token   string
			kind    recourse.Kind
			message string
		}{
			"ES256":                           {good, "", ""},
			"RS256":                           {rs.Sign(t, head("RS256", "k2"), payload), "", ""},
			"EdDSA":                           {ed.Sign(t, head("EdDSA", "k3"), payload), "", ""},
			"a list of audiences":             {claims("aud", []string{"other", "farm"}), "", ""},
			"just expired, within the leeway": {claims("exp", now.Add(-59*time.Second).Unix()), "", ""},
			"almost valid, within the leeway": {claims("nbf", now.Add(59*time.Second).Unix()), "", ""},
			"fractions of seconds":            {claims("iat", float64(now.UnixMilli())/1000), "", ""},
			"no key id, one matching key":     {rs.Sign(t, map[string]any{"alg": "RS256"}, payload), "", ""},

			"no key id, two matching keys":     {es.Sign(t, map[string]any{"alg": "ES256"}, payload), unauthenticated, invalid},
			"none":                             {unsigned(t, "none", text), unauthenticated, "The token is signed with an algorithm that is not accepted. Accepted are ES256, RS256, EdDSA."},
			"NONE":                             {unsigned(t, "NONE", text), unauthenticated, "The token is signed with an algorithm that is not accepted. Accepted are ES256, RS256, EdDSA."},
			"no signature":                     {good[:strings.LastIndex(good, ".")+1], unauthenticated, invalid},
			"the public key as a secret":       {testkit.SharedKey("k1", es.Public()).Sign(t, head("HS256", "k1"), payload), unauthenticated, "The token is signed with an algorithm that is not accepted. Accepted are ES256, RS256, EdDSA."},
			"signed with another key":          {stranger.Sign(t, head("ES256", "k1"), payload), unauthenticated, invalid},
			"with a key in its header":         {stranger.Sign(t, map[string]any{"alg": "ES256", "jwk": json.RawMessage(stranger.Public())}, payload), unauthenticated, invalid},
			"the id of another key":            {es.Sign(t, head("ES256", "k2"), payload), unauthenticated, invalid},
			"another algorithm than the key's": {rs.Sign(t, head("ES256", "k2"), payload), unauthenticated, invalid},
			"a key that is too small":          {weak.Sign(t, head("RS256", "k5"), payload), unauthenticated, invalid},
			"an unknown key":                   {es.Sign(t, head("ES256", "k9"), payload), unauthenticated, invalid},
			"an unknown critical header":       {es.Sign(t, map[string]any{"alg": "ES256", "kid": "k1", "crit": []string{"x"}, "x": 1}, payload), unauthenticated, invalid},
			"a repeated member in the header":  {es.SignRaw(t, []byte(`{"alg":"ES256","kid":"k1","kid":"k2"}`), payload), unauthenticated, invalid},
			"a repeated claim":                 {es.Sign(t, head("ES256", "k1"), []byte(strings.Replace(text, "{", `{"sub":"bob",`, 1))), unauthenticated, invalid},
			"a list as claims":                 {es.Sign(t, head("ES256", "k1"), []byte(`[]`)), unauthenticated, invalid},
			"changed claims":                   {good[:40] + "A" + good[41:], unauthenticated, invalid},
			"three empty objects":              {"e30.e30.e30", unauthenticated, "The token is signed with an algorithm that is not accepted. Accepted are ES256, RS256, EdDSA."},
			"a huge token":                     {claims("pad", strings.Repeat("x", 20<<10)), unauthenticated, "The token is larger than the 16384 bytes that are allowed."},
			"opaque":                           {"abcdef", unauthenticated, invalid},

			"another issuer":            {claims("iss", "https://evil.example"), unauthenticated, "The token comes from an issuer that is not accepted here."},
			"no issuer":                 {claims("iss", nil), unauthenticated, "The token comes from an issuer that is not accepted here."},
			"another audience":          {claims("aud", "other"), unauthenticated, "The token is not for the audience farm."},
			"no audience":               {claims("aud", nil), unauthenticated, "The token is not for the audience farm."},
			"no expiry":                 {claims("exp", nil), unauthenticated, invalid},
			"expiry in words":           {claims("exp", "tomorrow"), unauthenticated, invalid},
			"expiry far away":           {claims("exp", 1e300), unauthenticated, invalid},
			"expired":                   {claims("exp", now.Add(-61*time.Second).Unix()), recourse.KindTokenExpired, "The token expired at " + clock(now.Add(-61*time.Second)) + "; the gateway's clock says " + clock(now) + "."},
			"not valid yet":             {claims("nbf", now.Add(61*time.Second).Unix()), unauthenticated, "The token is not valid before " + clock(now.Add(61*time.Second)) + ", and the gateway's clock says " + clock(now) + ": the clocks of the gateway and the token's issuer differ by at least 1m1s."},
			"clocks that differ":        {claims("iat", now.Add(time.Hour).Unix()), unauthenticated, "The token is not valid before " + clock(now.Add(time.Hour)) + ", and the gateway's clock says " + clock(now) + ": the clocks of the gateway and the token's issuer differ by at least 1h0m0s."},
			"no subject":                {claims("sub", nil), unauthenticated, invalid},
			"a subject with a line end": {claims("sub", "ann\nbob"), unauthenticated, invalid},
			"a list as org":             {claims("org", []string{"a"}), unauthenticated, invalid},
		} {
			// An address is locked out after 25 failures, so each test has its own.
			d := d
			if test.kind != "" {
				d = tokenDoor(t, issuer)
			}
			a := echoed(t, d.with(t, test.token))
			if test.kind == "" {
				if !wasCalled(a) {
					t.Errorf("%s: got HTTP %d %s", name, a.Status, a.Body)
				}
				continue
			}
			if e := gatewaytest.Record(t, a); a.Status != http.StatusUnauthorized || e.Kind != test.kind || e.Message != test.message {
				t.Errorf("%s: got HTTP %d, %s: %s", name, a.Status, e.Kind, e.Message)
			}
			want := `resource_metadata="` + strings.Replace(d.URL, "/farm/mcp", "/.well-known/oauth-protected-resource/farm/mcp", 1) + `"`
			if challenge := a.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, want) || !strings.Contains(challenge, `error="invalid_token"`) {
				t.Errorf("%s: got challenge %s", name, challenge)
			}
			if last := test.token[strings.LastIndex(test.token, ".")+1:]; len(last) > 20 && strings.Contains(d.Log.String(), last) {
				t.Errorf("%s: the token is in the log: %s", name, d.Log)
			}
		}
	})
}

func unsigned(tb testing.TB, alg, payload string) string {
	tb.Helper()
	signed := strings.Split(testkit.SharedKey("", nil).Sign(tb, map[string]any{"alg": alg}, []byte(payload)), ".")
	return signed[0] + "." + signed[1] + "."
}

// A session belongs to the verified caller: it continues with a refreshed token, and is unknown to others.
func TestVerifiedSessions(t *testing.T) {
	t.Parallel()
	for _, forward := range []string{"forward: []", "forward: [authorization]"} {
		testkit.Virtual(t, forward, func(t *testing.T) {
			issuer := testkit.NewIssuer(t)
			d := openDoor(t, staff(issuer), "access: [staff]", forward)
			c := d.As(t, testkit.Legacy, "Authorization", "Bearer "+issuer.Token(t, nil))
			if a := echoed(t, c); !wasCalled(a) {
				t.Fatalf("got HTTP %d %s", a.Status, a.Body)
			}
			for name, test := range map[string]struct {
				claims map[string]any
				status int
			}{
				"refreshed":       {map[string]any{"jti": "2"}, http.StatusOK},
				"another subject": {map[string]any{"sub": "bob"}, http.StatusNotFound},
				"another org":     {map[string]any{"org": "other"}, http.StatusNotFound},
				"expired":         {map[string]any{"exp": 1}, http.StatusUnauthorized},
			} {
				session, c := c.Session, c.Clone(t)
				c.Session = session
				c.Header = http.Header{"Authorization": {"Bearer " + issuer.Token(t, test.claims)}}
				a, err := c.Call(t.Context(), testkit.Echo, `{"message":"x"}`)
				if err != nil {
					t.Fatal(err)
				}
				if a.Status != test.status {
					t.Errorf("%s: got HTTP %d %s", name, a.Status, a.Body)
				}
			}
		})
	}
}

// The keys of an issuer are fetched once for many calls. New keys are found, removed keys are dropped soon, and tokens with
// invented key ids cause at most one fetch.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer := testkit.NewIssuer(t)
		d := tokenDoor(t, issuer)
		old := issuer.Token(t, nil)
		for range 20 {
			if a := echoed(t, d.with(t, old)); !wasCalled(a) {
				t.Fatalf("got HTTP %d %s", a.Status, a.Body)
			}
		}
		if n := issuer.Fetches(); n != 1 {
			t.Errorf("got %d fetches of the keys", n)
		}
		time.Sleep(11 * time.Second)
		issuer.SetKeys(testkit.NewSigningKey(t, "new", "ES256"))
		if a := echoed(t, d.with(t, issuer.Token(t, nil))); !wasCalled(a) {
			t.Errorf("a new key: got HTTP %d %s", a.Status, a.Body)
		}
		if n := issuer.Fetches(); n != 2 {
			t.Errorf("got %d fetches of the keys", n)
		}
		time.Sleep(time.Minute)
		if a := echoed(t, d.with(t, old)); a.Status != http.StatusUnauthorized {
			t.Errorf("the old key: got HTTP %d %s", a.Status, a.Body)
		}
		late := issuer.Token(t, map[string]any{"exp": time.Now().Add(time.Hour).Unix()})
		issuer.SetKeys(testkit.NewSigningKey(t, "newer", "ES256"))
		time.Sleep(11 * time.Minute)
		echoed(t, d.with(t, late)) // makes the gateway fetch the keys in the background
		time.Sleep(2 * time.Minute)
		if a := echoed(t, d.with(t, late)); a.Status != http.StatusUnauthorized {
			t.Errorf("a removed key: got HTTP %d %s", a.Status, a.Body)
		}
		fetched := issuer.Fetches()
		for i := range 20 {
			key := testkit.NewSigningKey(t, fmt.Sprint("invented-", i), "ES256")
			payload, _ := json.Marshal(issuer.Claims(nil))
			if a := echoed(t, d.with(t, key.Sign(t, map[string]any{"alg": "ES256", "kid": key.ID}, payload))); a.Status != http.StatusUnauthorized {
				t.Errorf("got HTTP %d %s", a.Status, a.Body)
			}
		}
		if n := issuer.Fetches() - fetched; n > 1 {
			t.Errorf("20 invented keys: got %d fetches", n)
		}
	})
}

// While an issuer is down, its last keys are used for four hours. After that no caller can be verified, and the answer is
// 503, which does not blame the caller.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	const noKey = "the key set has no public key for signatures"
	text := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	tests := map[string]struct {
		answer func(good string) http.HandlerFunc // good is the key that verifies the token
		cause  string
	}{
		"500": {func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		}, "HTTP status 500"},
		"huge": {func(good string) http.HandlerFunc {
			return text(`{"keys":[` + good + `]}` + strings.Repeat(" ", 512<<10))
		}, "the answer has more than 524288 bytes"},
		"endless": {func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte(strings.Repeat(" ", 600<<10)))
					time.Sleep(time.Second)
				}
			}
		}, "the answer has more than 524288 bytes"},
		"HTML":     {func(string) http.HandlerFunc { return text("<html>") }, "the key set has no list of keys"},
		"no keys":  {func(string) http.HandlerFunc { return text(`{"keys":[]}`) }, noKey},
		"a secret": {func(string) http.HandlerFunc { return text(`{"keys":[{"kty":"oct","kid":"k1","k":"c2VjcmV0"}]}`) }, noKey},
		"a key for another use": {func(good string) http.HandlerFunc {
			return text(`{"keys":[` + strings.Replace(good, `"sig"`, `"enc"`, 1) + `]}`)
		}, noKey},
		"elsewhere":  {func(string) http.HandlerFunc { return redirect("http://192.0.2.1/keys") }, "HTTP status 302"},
		"in circles": {func(string) http.HandlerFunc { return redirect("/keys") }, "HTTP status 302"},
		"many keys": {func(good string) http.HandlerFunc {
			return text(`{"keys":[` + strings.Repeat(good+",", 200) + good + `]}`)
		}, "the key set has more than 200 keys"},
		"a hang": {func(string) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "context deadline exceeded"},
	}
	for name, test := range tests {
		testkit.Virtual(t, name, func(t *testing.T) {
			issuer := testkit.NewIssuer(t)
			answer := test.answer(string(issuer.Key().Public()))
			d := tokenDoor(t, issuer)
			good := func() string { return issuer.Token(t, nil) }
			if a := echoed(t, d.with(t, good())); !wasCalled(a) {
				t.Fatalf("got HTTP %d %s", a.Status, a.Body)
			}
			issuer.Answer(answer)
			for range 3 {
				time.Sleep(time.Hour)
				if a := echoed(t, d.with(t, good())); !wasCalled(a) {
					t.Fatalf("got HTTP %d %s", a.Status, a.Body)
				}
			}
			time.Sleep(2 * time.Hour)
			down(t, d, good())

			late := tokenDoor(t, issuer) // never had the keys
			down(t, late, good())
			if !strings.Contains(late.Log.String(), test.cause) {
				t.Errorf("no cause in the log: %s", late.Log)
			}
			for range 30 { // an outage does not count as the caller's failure
				down(t, late, good())
			}
			issuer.Answer(nil)
			time.Sleep(time.Minute)
			for _, d := range []*door{d, late} {
				if a := echoed(t, d.with(t, good())); !wasCalled(a) {
					t.Fatalf("afterwards: got HTTP %d %s", a.Status, a.Body)
				}
			}
		})
	}
}

// Keys are only taken from the issuer's own metadata, and over https.
func TestInvalidMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ metadata, cause string }{
		"another issuer":      {`{"issuer":"https://other.example","jwks_uri":"ISSUER/keys"}`, `they are those of the issuer "https://other.example"`},
		"no issuer":           {`{"jwks_uri":"ISSUER/keys"}`, `they are those of the issuer ""`},
		"an extra slash":      {`{"issuer":"ISSUER/","jwks_uri":"ISSUER/keys"}`, `they are those of the issuer "ISSUER/"`},
		"keys in plain text":  {`{"issuer":"ISSUER","jwks_uri":"http://keys.example/keys"}`, `jwks_uri is not an https URL: "http://keys.example/keys"`},
		"keys in a file":      {`{"issuer":"ISSUER","jwks_uri":"file:///etc/keys"}`, `jwks_uri is not an https URL: "file:///etc/keys"`},
		"keys without a host": {`{"issuer":"ISSUER","jwks_uri":"https:///keys"}`, `jwks_uri is not an https URL: "https:///keys"`},
		"no keys":             {`{"issuer":"ISSUER"}`, `jwks_uri is not an https URL: ""`},
		"HTML":                {`<html>`, "metadata of ISSUER: "},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			issuer := testkit.NewIssuer(t)
			issuer.SetMetadata(strings.ReplaceAll(test.metadata, "ISSUER", issuer.URL))
			d := tokenDoor(t, issuer)
			down(t, d, issuer.Token(t, nil))
			cause := strings.ReplaceAll(strings.ReplaceAll(test.cause, "ISSUER", issuer.URL), `"`, `\"`)
			if log := d.Log.String(); !strings.Contains(log, cause) {
				t.Errorf("no cause in the log: %s", log)
			}
			if n := issuer.Fetches(); n > 0 {
				t.Errorf("got %d fetches of the keys", n)
			}
			issuer.SetMetadata("")
			time.Sleep(time.Minute)
			if a := echoed(t, d.with(t, issuer.Token(t, nil))); !wasCalled(a) {
				t.Fatalf("afterwards: got HTTP %d %s", a.Status, a.Body)
			}
		})
	}
}

// down checks a call while the issuer's keys are not available.
func down(tb testing.TB, d *door, token string) {
	tb.Helper()
	a := echoed(tb, d.with(tb, token))
	e := gatewaytest.Record(tb, a)
	if a.Status != http.StatusServiceUnavailable || e.Kind != recourse.KindUnavailable || e.Origin != recourse.OriginGateway ||
		a.Took > 10*time.Second || a.Header.Get("Retry-After") != "5" || e.RetryAfter != 5*time.Second || a.Header.Get("WWW-Authenticate") != "" {
		tb.Errorf("got HTTP %d %s: %s", a.Status, a.Header, a.Body)
	}
}

// A hundred concurrent calls that need the keys share one fetch.
func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer := testkit.NewIssuer(t)
		begun := make(chan struct{})
		issuer.Answer(func(w http.ResponseWriter, r *http.Request) {
			<-begun
			issuer.Answer(nil)
			http.Redirect(w, r, issuer.URL+"/keys", http.StatusFound)
		})
		d := tokenDoor(t, issuer)
		token := issuer.Token(t, nil)
		done := make(chan bool)
		for range 100 {
			go func() { done <- wasCalled(echoed(t, d.with(t, token))) }()
		}
		gone, leave := context.WithCancel(t.Context()) // a call that its client gives up
		left := make(chan error)
		go func() {
			_, err := d.with(t, token).Call(gone, testkit.Echo, `{"message":"x"}`)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; err == nil {
			t.Error("got an answer to the cancelled call")
		}
		close(begun)
		for range 100 {
			if !<-done {
				t.Error("a call was refused")
			}
		}
		synctest.Wait() // until the gateway is done with the cancelled call, too

		if n := issuer.Fetches(); n != 2 { // with the redirect
			t.Errorf("got %d fetches of the keys", n)
		}
	})
}

// A verified token is accepted without another check for a minute, but not beyond its expiry.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issuer := testkit.NewIssuer(t)
		d := tokenDoor(t, issuer, "leeway: 0s")
		c := d.with(t, issuer.Token(t, map[string]any{"exp": time.Now().Add(10 * time.Second).Unix()}))
		for range 9 {
			if a := echoed(t, c); !wasCalled(a) {
				t.Fatalf("got HTTP %d %s", a.Status, a.Body)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		if e := gatewaytest.Record(t, echoed(t, c)); e.Kind != recourse.KindTokenExpired {
			t.Errorf("expired token: got %s", e.Kind)
		}
	})
}
