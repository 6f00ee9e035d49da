package connection

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/store"
)

// With the device flow (RFC 8628) a person enters a code at the provider, on any device, and the gateway asks
// the provider until they have done so. The code is kept in a link in the store, without a page of its own,
// so that every process shows the same one. The process that was last called for the account does the asking;
// if several do, the provider gives the token to one of them.

const (
	// deviceMark is the prefix of the state of such a link.
	deviceMark = "device "
	// deviceAgain is how long a code must still be valid to be shown again.
	deviceAgain = time.Minute
	// maxDeviceTime limits how long the provider is asked about a code, whatever the provider says.
	maxDeviceTime = 30 * time.Minute
	// maxInterval limits the time between two requests, which doubles while the provider is in trouble.
	maxInterval = 60
	maxDevice   = 64 << 10 // bytes of an answer
	// claimTime limits how long other processes wait for the one that gets a code.
	claimTime = redeemTimeout + 5*time.Second
)

// A device is a device authorisation in progress. It is stored sealed.
type device struct {
	Code     string `json:"code"` // by which the gateway asks
	User     string `json:"user"` // the code for the person
	URL      string `json:"url"`  // where to enter it
	Complete string `json:"complete,omitempty"`
	Interval int64  `json:"interval"`
	By       Person `json:"by"`
}

// invitation returns what the person needs.
func (d *device) invitation(hash string) Invitation {
	return Invitation{ID: idOf(hash), URL: d.URL, Direct: cmp.Or(d.Complete, d.URL), Code: d.User}
}

// authorizeDevice asks the provider for a code.
func (p *Provider) authorizeDevice(ctx context.Context, client *http.Client, scopes []string) (*oauth2.DeviceAuthResponse, error) {
	form := url.Values{"client_id": {p.ClientID}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	if p.style() == oauth2.AuthStyleInParams && p.ClientSecret != "" {
		form.Set("client_secret", p.ClientSecret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.DeviceURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if p.style() == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.ClientSecret))
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDevice))
	if err != nil {
		return nil, err
	}
	var refusal struct {
		Error string `json:"error"`
	}
	answer := new(oauth2.DeviceAuthResponse)
	if resp.StatusCode != http.StatusOK {
		_ = json.Unmarshal(text, &refusal) // otherwise only the status is known
		return nil, &oauth2.RetrieveError{Response: resp, ErrorCode: refusal.Error}
	}
	if json.Unmarshal(text, answer) != nil || !usable(answer) {
		return nil, recourse.BadResponse(p.Title)
	}
	return answer, nil
}

// usable reports whether the provider's answer has what a person needs.
func usable(d *oauth2.DeviceAuthResponse) bool {
	const most = 2048
	odd := func(c rune) bool { return c <= ' ' || c > '~' }
	isURL := func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && len(text) <= most && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
			!strings.ContainsFunc(text, odd)
	}
	return d.DeviceCode != "" && d.UserCode != "" && len(d.UserCode) <= 64 && !strings.ContainsFunc(d.UserCode, odd) &&
		isURL(d.VerificationURI) && (d.VerificationURIComplete == "" || isURL(d.VerificationURIComplete))
}

// pendingDevice returns the code with which an account can be connected, or nil.
func (m *Manager) pendingDevice(ctx context.Context, ask LinkRequest, scopes []string) (*store.Link, *device, error) {
	pending, err := m.store.Devices(ctx)
	if err != nil {
		return nil, nil, m.storeFailed(ctx, err)
	}
	for _, l := range pending {
		lacks := func(scope string) bool { return !slices.Contains(l.Scopes, scope) }
		if l.Provider != ask.Provider.Name || l.Owner != ask.Owner || time.Until(l.Expires) < deviceAgain ||
			slices.ContainsFunc(scopes, lacks) {
			continue
		}
		if d, ok := m.deviceOf(l); ok {
			return l, d, nil
		}
	}
	return nil, nil, nil
}

// inviteDevice returns the code for connecting the account: the current one, or a new one.
func (m *Manager) inviteDevice(ctx context.Context, ask LinkRequest, at accountKey) (Invitation, error) {
	scopes := m.scopes(ctx, ask.Provider, ask.Owner, ask.Scopes)
	l, d, err := m.pendingDevice(ctx, ask, scopes)
	if err == nil && l == nil {
		end, claimErr := m.claimDevice(ctx, at)
		if claimErr != nil {
			return Invitation{}, claimErr
		}
		defer end()
		if l, d, err = m.pendingDevice(ctx, ask, scopes); err == nil && l == nil {
			l, d, err = m.newDevice(ctx, ask, scopes)
		}
	}
	if err != nil {
		return Invitation{}, err
	}
	m.poll(ask.Provider, l, d)
	return d.invitation(l.Hash), nil
}

// newDevice gets a new code.
func (m *Manager) newDevice(ctx context.Context, ask LinkRequest, scopes []string) (*store.Link, *device, error) {
	asking, cancel := context.WithTimeout(ctx, redeemTimeout)
	defer cancel()
	answer, err := ask.Provider.authorizeDevice(asking, m.client, scopes)
	if err != nil {
		return nil, nil, ask.Provider.failure(err)
	}
	expires := time.Now().Add(maxDeviceTime)
	if !answer.Expiry.IsZero() && answer.Expiry.Before(expires) {
		expires = answer.Expiry
	}
	d := &device{
		answer.DeviceCode, answer.UserCode, answer.VerificationURI, answer.VerificationURIComplete, max(answer.Interval, 0), ask.By,
	}
	l := &store.Link{
		Hash: hash(rand.Text()), Provider: ask.Provider.Name, Owner: ask.Owner,
		Access: ask.By.Access, Name: ask.By.Name, Server: ask.Server, Scopes: scopes, Expires: expires,
	}
	text, _ := json.Marshal(d)
	if err = m.store.PutLink(ctx, l); err == nil {
		l.StateHash, l.Sealed = deviceMark+l.Hash, m.sealer.Seal(text, []byte(deviceMark+l.Hash))
		err = m.store.BeginLink(ctx, l.Hash, l.StateHash, l.Sealed)
	}
	if err != nil {
		return nil, nil, m.storeFailed(ctx, err)
	}
	return l, d, nil
}

// claimDevice waits until no other process is getting a code for the same account, and returns a function
// that ends the claim.
func (m *Manager) claimDevice(ctx context.Context, at accountKey) (end func(), err error) {
	claim := hash(deviceMark + at.provider + "\x00" + at.owner)
	for {
		err := m.store.PutLogin(ctx, &store.Login{StateHash: claim, Link: claim, Expires: time.Now().Add(claimTime)})
		switch {
		case err == nil:
			return func() { _, _ = m.store.TakeLogin(context.WithoutCancel(ctx), claim) }, nil // otherwise it expires
		case !errors.Is(err, store.ErrConflict):
			return nil, m.storeFailed(ctx, err)
		}
		if !pause.For(ctx, leasePoll) {
			return nil, m.storeFailed(ctx, ctx.Err())
		}
	}
}

func (m *Manager) deviceOf(l *store.Link) (*device, bool) {
	d := new(device)
	text, err := m.sealer.Open(l.Sealed, []byte(deviceMark+l.Hash))
	return d, err == nil && json.Unmarshal(text, d) == nil
}

// poll asks the provider until the person has entered the code; in each process, only once per code.
func (m *Manager) poll(p *Provider, l *store.Link, d *device) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.polling[l.Hash] {
		return
	}
	m.polling[l.Hash] = true
	m.work.Go(func() {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.polling, l.Hash)
		}()
		ctx, cancel := context.WithDeadline(m.withClient(m.life), l.Expires)
		defer cancel()
		issued, err := m.awaitDevice(ctx, p, l, d)
		if ctx.Err() != nil {
			return // the code has expired, or another process continues
		}
		var t Token
		if err = safe(err); err == nil {
			t, err = newToken(issued, l.Scopes)
		}
		if err == nil { // it is issued only once: this process keeps it
			err = m.keepNew(ctx, p, l.Owner, d.By.Name, t)
		}
		if _, endErr := m.store.EndLink(ctx, l.StateHash); err == nil { // the code is no longer valid, whatever happened
			err = endErr
		}
		if err != nil {
			m.log.LogAttrs(ctx, slog.LevelWarn, connectFailed, slog.String("provider", p.Name), slog.String("cause", err.Error()))
		}
	})
}

// awaitDevice returns the token. It keeps asking while the provider is in trouble, less and less often.
func (m *Manager) awaitDevice(ctx context.Context, p *Provider, l *store.Link, d *device) (*oauth2.Token, error) {
	config := p.config("", nil)
	asked := &oauth2.DeviceAuthResponse{DeviceCode: d.Code, Expiry: l.Expires, Interval: d.Interval}
	for {
		issued, err := config.DeviceAccessToken(ctx, asked)
		if err == nil || ctx.Err() != nil || judge(err) != passing {
			return issued, err
		}
		asked.Interval = min(max(asked.Interval, 5)*2, maxInterval)
	}
}
