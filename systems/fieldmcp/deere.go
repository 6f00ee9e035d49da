package fieldmcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/retry"
)

// providerName is the provider's name in messages.
const providerName = "John Deere"

// scopes are the scopes requested when an account is connected: fields (ag1), operations (ag2) and equipment
// (ag3).
const scopes = "ag1 ag2 ag3"

// refreshBefore is how long before its expiry an access token is refreshed.
const refreshBefore = 5 * time.Minute

// deere calls the provider on behalf of organisations. Its errors are records.
type deere struct {
	base    string
	brought bool // callers bring access tokens, which identify them
	http    *http.Client
	timeout time.Duration
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error

	patience time.Duration

	mu          sync.Mutex
	connections map[string]*connection // by organisation
}

// A connection is an organisation's access to the provider.
type connection struct {
	refreshToken string

	mu          sync.Mutex
	accessToken string
	expires     time.Time
}

// patient is how requests to the provider are repeated before a failure is reported.
var patient = retry.Policy{Attempts: 3, Start: 200 * time.Millisecond, Factor: 2, Jitter: 0.2}

func newDeere(base string, o Options) *deere {
	d := &deere{
		base: base, brought: o.Provider != "", timeout: o.Timeout, patience: o.Patience, now: o.Now, sleep: o.sleep,
		http:        &http.Client{Transport: mcptool.Transport(&http.Transport{}, providerName, mcptool.WithMediaType("application/json"))},
		connections: map[string]*connection{},
	}
	return d
}

// connect stores an organisation's grant.
func (d *deere) connect(organisation, refreshToken string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connections[organisation] = &connection{refreshToken: refreshToken}
}

func (d *deere) disconnect(organisation string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.connections, organisation)
}

// A tokenSource returns an access token other than the refused one.
type tokenSource func(ctx context.Context, refused string) (string, error)

// source returns the source of a caller's tokens; nil: the caller has no account.
func (d *deere) source(caller string) tokenSource {
	if d.brought {
		if caller == "" {
			return nil
		}
		return func(_ context.Context, refused string) (string, error) {
			if refused != "" { // the gateway has another one, or will say who must act
				return "", recourse.TokenExpired(providerName)
			}
			return caller, nil
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.connections[caller]
	if !ok {
		return nil
	}
	return func(ctx context.Context, refused string) (string, error) { return d.token(ctx, c, refused) }
}

// get reads a resource of the provider into out, on behalf of a caller. If it does not exist, the error names
// the thing by type and id; with "", the provider's answer decides.
func (d *deere) get(ctx context.Context, caller, path, resourceType, id string, out any) error {
	tokens := d.source(caller)
	if tokens == nil {
		return recourse.NotConnected(providerName)
	}
	for attempt, waited := 1, time.Duration(0); ; attempt++ {
		err := d.try(ctx, tokens, path, out)
		if err == nil {
			return nil
		}
		e := recourse.From(err)
		if e.Kind == recourse.KindNotFound && resourceType != "" {
			return recourse.NotFound(resourceType, id).WithUpstream(e.Upstream).CausedBy(err)
		}
		if e.Kind == recourse.KindTimeout && e.Upstream.Status == 0 { // its time is used up
			return e
		}
		again := patient.Decide(e, retry.Reads, attempt, d.patience-waited)
		waited += again.Wait
		if !again.Repeat || d.sleep(ctx, again.Wait) != nil {
			return e
		}
	}
}

// try makes one request. If the token is refused, it is refreshed and the request repeated: the farmer may
// have changed something in the provider's own account.
func (d *deere) try(ctx context.Context, tokens tokenSource, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	token, err := tokens(ctx, "")
	if err != nil {
		return err
	}
	err = d.read(ctx, token, path, out)
	if !errors.Is(err, recourse.ClassAuth) || errors.Is(err, recourse.KindMissingScope) {
		return err
	}
	if token, err = tokens(ctx, token); err != nil {
		return err
	}
	return d.read(ctx, token, path, out)
}

// token returns an access token that is valid for long enough, and is not the refused one.
func (d *deere) token(ctx context.Context, c *connection, refused string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accessToken != "" && c.accessToken != refused && c.expires.Sub(d.now()) >= refreshBefore {
		return c.accessToken, nil
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.refreshToken}, "scope": {scopes}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var granted struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
		ExpiresIn    int    `json:"expires_in"` // seconds
	}
	if err := d.do(req, &granted); err != nil {
		return "", err
	}
	c.accessToken, c.expires = granted.AccessToken, d.now().Add(time.Duration(granted.ExpiresIn)*time.Second)
	if granted.RefreshToken != "" { // the previous one is used up
		c.refreshToken = granted.RefreshToken
	}
	return c.accessToken, nil
}

func (d *deere) read(ctx context.Context, token, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return d.do(req, out)
}

func (d *deere) do(req *http.Request, out any) error {
	resp, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return recourse.BadResponse(providerName).CausedBy(err)
	}
	return nil
}
