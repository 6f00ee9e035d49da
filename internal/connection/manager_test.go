package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

const secret = "a secret for tests, of more than 32 characters"

// An issuer is a token endpoint whose refresh tokens can be used once: using one twice revokes the whole family.
type issuer struct {
	mu       sync.Mutex
	lifetime time.Duration
	current  map[string]string // the valid refresh token of each family
	used     map[string]string // used refresh tokens, with their families
	revoked  []string
	issued   int
	lapse    time.Duration // how long refresh tokens live; 0: nobody says
	slow     func() time.Duration
	fault    func(n int) (status int, body string) // of the nth request; 0 means none
	requests int
}

func newIssuer(lifetime time.Duration) *issuer {
	return &issuer{lifetime: lifetime, current: map[string]string{}, used: map[string]string{}, slow: func() time.Duration { return 0 }}
}

// first returns the first token of a family.
func (i *issuer) first(family string) connection.Token {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.issued++
	i.current[family] = fmt.Sprintf("refresh-%s-%d", family, i.issued)
	return connection.Token{
		Access: fmt.Sprintf("access-%s-%d", family, i.issued), Refresh: i.current[family],
		Expires: time.Now().Add(i.lifetime).UTC(), Scopes: []string{"read"},
	}
}

// asked returns the number of requests.
func (i *issuer) asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

// fails makes requests fail from now on; nil means no more failures.
func (i *issuer) fails(fault func(n int) (status int, body string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault = fault
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	status, body := i.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	if i.slow != nil {
		select {
		case <-time.After(i.slow()):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return w.Result(), nil
}

func (i *issuer) answer(r *http.Request) (int, string) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.requests++
	if i.fault != nil {
		if status, body := i.fault(i.requests); status != 0 {
			return status, body
		}
	}
	if form.Get("grant_type") == "client_credentials" {
		i.issued++
		return http.StatusOK, fmt.Sprintf(`{"access_token":"access-own-%d","token_type":"Bearer","expires_in":%d}`, i.issued, int(i.lifetime.Seconds()))
	}
	if strings.HasSuffix(form.Get("grant_type"), ":token-exchange") {
		i.issued++
		return http.StatusOK, fmt.Sprintf(`{"access_token":"access-for-%s-%d","token_type":"Bearer","expires_in":%d}`,
			form.Get("subject_token"), i.issued, int(i.lifetime.Seconds()))
	}
	token := form.Get("refresh_token")
	if family, used := i.used[token]; used {
		i.revoked = append(i.revoked, family)
		delete(i.current, family)
		return http.StatusBadRequest, `{"error":"invalid_grant","error_description":"` + token + ` was used before"}`
	}
	for family, current := range i.current {
		if current != token {
			continue
		}
		i.issued++
		i.used[token], i.current[family] = family, fmt.Sprintf("refresh-%s-%d", family, i.issued)
		answer := map[string]any{
			"access_token": fmt.Sprintf("access-%s-%d", family, i.issued), "refresh_token": i.current[family],
			"token_type": "Bearer", "expires_in": int(i.lifetime.Seconds()),
		}
		if i.lapse > 0 {
			answer["refresh_token_expires_in"] = int(i.lapse.Seconds())
		}
		text, _ := json.Marshal(answer)
		return http.StatusOK, string(text)
	}
	return http.StatusBadRequest, `{"error":"invalid_grant"}`
}

var deere = &connection.Provider{
	Name: "deere", Title: "John Deere", Flow: connection.AuthorizationCode, TokenURL: "https://provider.test/token",
	ClientID: "recourse", ClientSecret: "hunter2", Header: "Authorization", Prefix: "Bearer ",
}

// open opens the store in a folder, like a process.
func open(t *testing.T, dir string) *store.Connections {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "recourse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Connections()
}

func manager(t *testing.T, s connection.Vault, i http.RoundTripper) *connection.Manager {
	t.Helper()
	client := connection.NewClient()
	client.Transport = i
	m := connection.NewManager(s, seal.New(secret), client, slog.New(slog.DiscardHandler))
	t.Cleanup(m.Close)
	return m
}

// connect stores the first token of an owner.
func connect(t *testing.T, m *connection.Manager, i *issuer, owner string) {
	t.Helper()
	if err := m.Connect(t.Context(), deere, owner, "ada", i.first(owner)); err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, want recourse.Kind) {
	t.Helper()
	e, ok := errors.AsType[*recourse.Error](err)
	if !ok || e.Kind != want {
		t.Fatalf("%v, want %s", err, want)
	}
	if e.Effect == recourse.EffectUnknown || e.Effect == recourse.EffectApplied {
		t.Errorf("got effect %s", e.Effect)
	}
	if strings.Contains(e.Error(), "refresh-") || strings.Contains(e.Error(), "hunter2") {
		t.Errorf("the error shows a secret: %v", e)
	}
}

// Two processes with many callers keep refreshing tokens that can be used once: no family is revoked, nobody has to
// sign in again, and every credential is valid when it is returned.
func TestExpiries(t *testing.T) {
	t.Parallel()
	expire(t, 50)
}

// The same a thousand times.
func TestLongThousandExpiries(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	expire(t, 1000)
}

// expire lets the tokens of ten owners expire, times in total.
func expire(t *testing.T, times int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		i := newIssuer(6 * time.Minute)
		i.slow = func() time.Duration { return time.Duration(rand.IntN(3000)) * time.Millisecond }
		first, second := manager(t, open(t, dir), i), manager(t, open(t, dir), i)
		const owners = 10
		rounds := times / owners
		for n := range owners {
			connect(t, first, i, fmt.Sprintf("owner-%d", n))
		}
		for range rounds {
			time.Sleep(90 * time.Second) // less than 5 minutes are left
			var callers sync.WaitGroup
			for n := range owners {
				for _, m := range []*connection.Manager{first, second, first, second} {
					callers.Go(func() {
						owner := fmt.Sprintf("owner-%d", n)
						c, err := m.Credential(t.Context(), deere, owner)
						if err != nil || !strings.HasPrefix(c.Value, "Bearer access-"+owner+"-") {
							t.Errorf("%s: %+v, %v", owner, c, err)
						}
					})
				}
			}
			callers.Wait()
			time.Sleep(10 * time.Second) // until the refreshes have ended
		}
		if len(i.revoked) > 0 || i.asked() < owners*rounds*9/10 || i.asked() > owners*rounds {
			t.Errorf("%d refreshes, revoked: %v", i.asked(), i.revoked)
		}
		t.Logf("%d refreshes", i.asked())
	})
}

// A provider that says how long its refresh tokens live tells when an account has to be connected again. One that says nothing for a new
// token leaves that unknown.
func TestAccessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		for _, lapse := range []time.Duration{90 * 24 * time.Hour, 0} {
			i.lapse = lapse
			time.Sleep(2 * time.Hour)
			if _, err := m.Credential(t.Context(), deere, "ada"); err != nil {
				t.Fatal(err)
			}
			var want time.Time
			if lapse > 0 {
				want = time.Now().Add(lapse).UTC().Truncate(time.Second)
			}
			accounts, err := m.List(t.Context())
			if err != nil || len(accounts) != 1 || !accounts[0].Ends.Equal(want) {
				t.Errorf("the list has %+v, %v: want the end %s", accounts, err, want)
			}
			if access, err := m.Access(t.Context(), deere, "ada"); err != nil || !access.Ends.Equal(want) {
				t.Errorf("got %+v, %v: want the end %s", access, err, want)
			}
		}
	})
}

// After the expiry, all callers wait for one refresh.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		i.slow = func() time.Duration { return time.Second }
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		time.Sleep(2 * time.Hour)
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if c, err := m.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-2" {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
		callers.Wait()
		if i.asked() != 1 {
			t.Errorf("%d refreshes", i.asked())
		}
	})
}

// If a process dies between redeeming and storing a token, the account has to be connected again, and no requests
// repeat.
func TestCrashWhileRefreshing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		i := newIssuer(time.Hour)
		s := open(t, dir)
		m := manager(t, s, i)
		connect(t, m, i, "ada")
		c, err := s.Get(t.Context(), "deere", "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if err := s.Lease(t.Context(), c, "a process that is gone", time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, err = m.Credential(t.Context(), deere, "ada")
		wantKind(t, err, recourse.KindTokenExpired)
		_, err = m.Credential(t.Context(), deere, "ada")
		wantKind(t, err, recourse.KindTokenExpired)
		if i.asked() != 0 {
			t.Errorf("redeemed the token %d times", i.asked())
		}
		connect(t, m, i, "ada") // repairs the connection
		if _, err := m.Credential(t.Context(), deere, "ada"); err != nil {
			t.Error(err)
		}
	})
}

// If a process was taken for dead but then stores its redeemed token, the connection is restored.
func TestSlowProcessIsNotDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		i := newIssuer(time.Hour)
		s := open(t, dir)
		stuck := &stuckStore{Connections: s}
		slow, other := manager(t, stuck, i), manager(t, open(t, dir), i)
		connect(t, slow, i, "ada")
		time.Sleep(2 * time.Hour)
		stuck.hold = 75 * time.Second // longer than the lease
		var both sync.WaitGroup
		both.Go(func() {
			if c, err := slow.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-2" {
				t.Errorf("%+v, %v", c, err)
			}
		})
		time.Sleep(time.Second)
		both.Go(func() {
			_, err := other.Credential(t.Context(), deere, "ada")
			wantKind(t, err, recourse.KindTokenExpired)
		})
		both.Wait()
		time.Sleep(time.Minute)
		if c, err := other.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-2" {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A stuckStore delays each swap.
type stuckStore struct {
	*store.Connections

	hold time.Duration
}

func (s *stuckStore) Swap(ctx context.Context, c *store.Connection) error {
	time.Sleep(s.hold)
	s.hold = 0
	return s.Connections.Swap(context.WithoutCancel(ctx), c)
}

// The provider's answer to a refresh decides about the connection.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		status     int
		want       recourse.Kind
		state      string
	}{
		{"revoked", `{"error":"invalid_grant"}`, 400, recourse.KindTokenRevoked, connection.ReconnectNeeded},
		{"lapsed", `{"error":"invalid_token"}`, 401, recourse.KindTokenExpired, connection.ReconnectNeeded},
		{"server failure", `<html>oops`, 503, recourse.KindUnavailable, connection.Connected},
		{"temporarily unavailable", `{"error":"temporarily_unavailable"}`, 400, recourse.KindUnavailable, connection.Connected},
		{"rate limit", ``, 429, recourse.KindRateLimited, connection.Connected},
		{"wrong client secret", `{"error":"invalid_client","error_description":"hunter2 is wrong"}`, 401, recourse.KindPermissionDenied, connection.Connected},
		{"no token", `{"token_type":"Bearer"}`, 200, recourse.KindUnavailable, connection.Connected},
		{"HTML", `<html>hello`, 200, recourse.KindUnavailable, connection.Connected},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(time.Hour)
				s := open(t, t.TempDir())
				m := manager(t, s, i)
				connect(t, m, i, "ada")
				time.Sleep(2 * time.Hour)
				i.fails(func(int) (int, string) { return test.status, test.body })
				for range 3 {
					_, err := m.Credential(t.Context(), deere, "ada")
					wantKind(t, err, test.want)
				}
				c, err := s.Get(t.Context(), "deere", "ada")
				if err != nil || c.State != test.state || c.Lease != "" {
					t.Fatalf("%+v, %v", c, err)
				}
				if i.asked() != 1 { // a failing provider gets no requests for a while
					t.Errorf("%d requests", i.asked())
				}
				if test.state == connection.ReconnectNeeded {
					return
				}
				i.fails(nil)
				time.Sleep(2 * time.Minute)
				if c, err := m.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-2" {
					t.Errorf("%+v, %v", c, err)
				}
			})
		})
	}
}

// While the old token is valid, a provider's failures have no effect.
func TestTroubleBeforeExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		i.fails(func(int) (int, string) { return 503, "" })
		time.Sleep(56 * time.Minute)
		for range 10 {
			if c, err := m.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-1" {
				t.Fatalf("%+v, %v", c, err)
			}
			time.Sleep(20 * time.Second)
		}
		if i.asked() > 8 {
			t.Errorf("%d requests in 200 s", i.asked())
		}
	})
}

// A missing key and manipulated rows lead to clear errors.
func TestSealed(t *testing.T) {
	t.Parallel()
	i := newIssuer(time.Hour)
	s := open(t, t.TempDir())
	m := manager(t, s, i)
	connect(t, m, i, "ada")
	c, err := s.Get(t.Context(), "deere", "ada")
	if err != nil || strings.Contains(c.Sealed, "access") || c.KeyID != seal.KeyID(secret) {
		t.Fatalf("%+v, %v", c, err)
	}
	stranger := connection.NewManager(s, seal.New("another secret, of more than 32 characters"), nil, slog.New(slog.DiscardHandler))
	defer stranger.Close()
	_, err = stranger.Credential(t.Context(), deere, "ada")
	wantKind(t, err, recourse.KindInternal)
	c.Owner = "eve" // a row copied from another owner
	if err := s.Put(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, err = m.Credential(t.Context(), deere, "eve")
	wantKind(t, err, recourse.KindInternal)

	both := seal.New("another secret, of more than 32 characters", secret)
	c, err = s.Get(t.Context(), "deere", "ada")
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := connection.Rekey(t.Context(), s, c, both); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if c, err := stranger.Credential(t.Context(), deere, "ada"); err != nil || c.Value != "Bearer access-ada-1" {
		t.Log("the row is cached for a few seconds:", err)
	}
}

func TestNotConnected(t *testing.T) {
	t.Parallel()
	m := manager(t, open(t, t.TempDir()), newIssuer(time.Hour))
	_, err := m.Credential(t.Context(), deere, "ada")
	wantKind(t, err, recourse.KindNotConnected)
}

// Client credentials need no account.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		own := *deere
		own.Name, own.Flow = "own", connection.ClientCredentials
		for range 3 {
			if c, err := m.Credential(t.Context(), &own, ""); err != nil || c.Value != "Bearer access-own-1" {
				t.Fatalf("%+v, %v", c, err)
			}
		}
		time.Sleep(2 * time.Hour)
		if c, err := m.Credential(t.Context(), &own, ""); err != nil || c.Value != "Bearer access-own-2" {
			t.Fatalf("%+v, %v", c, err)
		}
		if all, err := m.List(t.Context()); err != nil || len(all) != 1 || !all[0].Ends.IsZero() { // nobody has to connect it again
			t.Errorf("%+v, %v", all, err)
		}
	})
}
