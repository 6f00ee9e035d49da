package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/work"
)

const (
	// setFresh is how long a key set is used before it is fetched again in the background, and setStale how
	// long it may be used if the issuer does not answer.
	setFresh = 10 * time.Minute
	setStale = 4 * time.Hour
	// setPause is the minimum time between two fetches, so that tokens with invented key ids do not cause one
	// each, and setRetry the minimum after one that failed.
	setPause = 10 * time.Second
	setRetry = 5 * time.Second
	// fetchTimeout limits one fetch, maxKeySet its documents and maxSetKeys its keys.
	fetchTimeout = 10 * time.Second
	maxKeySet    = 512 << 10
	maxSetKeys   = 200
)

// Issuers hold the key sets of token issuers. They survive a change of the configuration. Create them with
// [NewIssuers], and stop them with Close.
type Issuers struct {
	http *http.Client
	work *work.Group // fetches, which belong to no call

	mu   sync.Mutex
	sets map[[2]string]*KeySet
}

// NewIssuers returns issuers that are reached through transport.
func NewIssuers(transport http.RoundTripper) *Issuers {
	return &Issuers{
		http: &http.Client{Transport: transport, CheckRedirect: sameSecurity}, sets: map[[2]string]*KeySet{},
		work: work.New(),
	}
}

// sameSecurity follows a few redirects, but none to where keys could be changed on the way.
func sameSecurity(r *http.Request, via []*http.Request) error {
	const most = 3
	if len(via) > most || !IsSafeURL(r.URL.String()) {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close aborts the fetches in progress and waits for them.
func (s *Issuers) Close() {
	s.work.End()
	s.http.CloseIdleConnections()
}

// Keys returns the key set of an issuer: the one at a URL or, if that is "", the one that the issuer's metadata names.
func (s *Issuers) Keys(issuer, at string) *KeySet {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.sets[[2]string{issuer, at}]
	if set == nil {
		set = &KeySet{issuers: s, issuer: issuer, url: at}
		s.sets[[2]string{issuer, at}] = set
	}
	return set
}

// A KeySet is the public keys of an issuer (RFC 7517). They are fetched in the background, except for the
// first time and for an unknown key.
type KeySet struct {
	issuers     *Issuers
	issuer, url string

	mu       sync.Mutex
	keys     []jose.JSONWebKey
	fetched  time.Time // when the keys were fetched
	asked    time.Time // when a fetch was last tried
	failed   error     // the error of that fetch; nil: it succeeded
	fetching chan struct{}
}

// errUnknownKey says that an issuer has no such key.
var errUnknownKey = errors.New("the issuer has no such key")

// ErrUnavailable says that an issuer's keys cannot be fetched.
var ErrUnavailable = errors.New("the issuer's keys cannot be fetched")

// key returns the key with that id for an algorithm; "" means the only key for it.
func (s *KeySet) key(ctx context.Context, id, algorithm string) (any, error) {
	for waited := false; ; waited = true {
		key, done, err := s.look(id, algorithm, waited)
		if done == nil {
			return key, err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
	}
}

// look looks the key up. If that takes a fetch, done is closed when the fetch has ended.
func (s *KeySet) look(id, algorithm string, waited bool) (key any, done <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	usable := !s.fetched.IsZero() && time.Since(s.fetched) < setStale
	if usable {
		key = pick(s.keys, id, algorithm)
	}
	pause := setPause
	if s.failed != nil {
		pause = setRetry
	}
	may := s.asked.IsZero() || time.Since(s.asked) >= pause
	switch {
	case key != nil:
		if may && time.Since(s.fetched) >= setFresh {
			s.fetch()
		}
		return key, nil, nil
	case !waited && (s.fetching != nil || may):
		s.fetch()
		if s.fetching != nil {
			return nil, s.fetching, nil
		}
	}
	switch {
	case s.failed != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, s.failed)
	default:
		return nil, nil, errUnknownKey
	}
}

// Begin starts to fetch the keys, unless they are there, so that the first call need not wait for them.
func (s *KeySet) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() {
		s.fetch()
	}
}

// Fetch fetches the keys unless they are there, and returns the error if it fails.
func (s *KeySet) Fetch(ctx context.Context) error {
	s.mu.Lock()
	if !s.fetched.IsZero() {
		s.mu.Unlock()
		return nil
	}
	s.fetch()
	done := s.fetching
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fetch starts to fetch the keys, unless a fetch is in progress. The lock must be held.
func (s *KeySet) fetch() {
	if s.fetching != nil {
		return
	}
	s.asked, s.failed = time.Now(), nil
	if s.issuers.work.Go(s.renew) {
		s.fetching = make(chan struct{})
	} else {
		s.failed = s.issuers.work.Life().Err()
	}
}

// renew fetches the keys for everyone who waits for them.
func (s *KeySet) renew(life context.Context) {
	ctx, cancel := context.WithTimeout(life, fetchTimeout)
	defer cancel()
	keys, err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	if err == nil {
		s.keys, s.fetched = keys, time.Now()
	}
	close(s.fetching)
	s.fetching = nil
}

func (s *KeySet) load(ctx context.Context) ([]jose.JSONWebKey, error) {
	from := s.url
	if from == "" {
		var err error
		if from, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	text, _, err := s.issuers.get(ctx, from)
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}

// discover returns the URL of the keys from the issuer's metadata.
func (s *KeySet) discover(ctx context.Context) (string, error) {
	text, err := s.issuers.metadata(ctx, s.issuer)
	if err != nil {
		return "", err
	}
	var said struct {
		JWKSURI string `json:"jwks_uri"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return "", fmt.Errorf("metadata of %s: %w", s.issuer, err)
	case !IsSafeURL(said.JWKSURI):
		return "", fmt.Errorf("metadata of %s: jwks_uri is not an https URL: %.200q", s.issuer, said.JWKSURI)
	}
	return said.JWKSURI, nil
}

// parseKeys reads a key set. Keys of an unknown kind, or unfit for signatures, are left out.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	list := json.Lookup(text, "/keys")
	if list.Kind() != '[' {
		return nil, errors.New("the key set has no list of keys")
	}
	raw, more := json.Items(list, maxSetKeys)
	if more {
		return nil, fmt.Errorf("the key set has more than %d keys", maxSetKeys)
	}
	var keys []jose.JSONWebKey
	for _, item := range raw {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(item) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set has no public key for signatures")
	}
	return keys, nil
}
