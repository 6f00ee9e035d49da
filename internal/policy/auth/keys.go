package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/recent"
)

// A KeyStore finds the keys that are not in the configuration. It is safe for concurrent use.
type KeyStore interface {
	// Key returns the key with that id, or nil if there is none.
	Key(ctx context.Context, id string) (*Key, error)
	// Note records that a key has let a caller in. It does not block.
	Note(id string)
}

// Keys are the API keys of an access entry: those in the configuration, and those in a store.
type Keys struct {
	access string
	fixed  map[Hash]*Key
	stored *storedKeys // nil: no store
}

// NewKeys returns the keys of an access entry; store may be nil.
func NewKeys(access string, fixed []*Key, store KeyStore) *Keys {
	keys := &Keys{access: access, fixed: make(map[Hash]*Key, len(fixed))}
	for _, key := range fixed {
		keys.fixed[key.Hash] = key
	}
	if store != nil {
		keys.stored = newStoredKeys(store)
	}
	return keys
}

// BearerKeys verifies callers by a key in Authorization: Bearer.
type BearerKeys struct{ *Keys }

var _ authn.Authenticator = BearerKeys{}

// Authenticate implements [authn.Authenticator].
func (b BearerKeys) Authenticate(r *http.Request) (authn.Identity, error) {
	text, err := Bearer(r.Header)
	if err != nil {
		return authn.Identity{}, err
	}
	key, err := b.find(r.Context(), text)
	if err != nil {
		return authn.Identity{}, err
	}
	return b.identity(key, MethodKey, authorization), nil
}

func (k *Keys) identity(key *Key, by string, headers ...string) authn.Identity {
	return authn.Identity{
		Access: k.access, Method: by, Name: key.Name, Org: key.Org, Roles: key.Roles, Expires: key.Expires, Headers: headers,
	}
}

// errNoKey is the cause of a refusal in the log.
var errNoKey = errors.New("there is no such API key")

// find returns the key that a caller has sent, if it is valid.
func (k *Keys) find(ctx context.Context, text string) (*Key, error) {
	hash := HashOf(text)
	key := k.fixed[hash] // found by a hash: the time this takes reveals nothing about the keys
	if id, ok := KeyID(text); ok && key == nil && k.stored != nil {
		var err error
		if key, err = k.stored.get(ctx, id); err != nil {
			e := recourse.New(recourse.KindUnavailable, "The gateway cannot check API keys now. Try again later.").
				WithOrigin(recourse.OriginGateway).WithRetryAfter(unavailableWait).CausedBy(err)
			return nil, &Refusal{Record: e, At: contract.AtSession}
		}
	}
	if key == nil || subtle.ConstantTimeCompare(key.Hash[:], hash[:]) != 1 {
		return nil, unknown(recourse.Unauthenticated().WithMessage("The API key is not valid.").CausedBy(errNoKey))
	}
	switch {
	case !key.Revoked.IsZero():
		return nil, invalid(recourse.New(recourse.KindTokenRevoked, "The API key was revoked."))
	case !key.Expires.IsZero() && !time.Now().Before(key.Expires):
		return nil, invalid(recourse.New(recourse.KindTokenExpired, "").
			WithMessage("The API key expired at %s.", key.Expires.UTC().Format(time.RFC3339)))
	}
	if key.ID != "" {
		k.stored.store.Note(key.ID)
	}
	return key, nil
}

const (
	// unavailableWait is the Retry-After for callers whose credentials cannot be checked.
	unavailableWait = 5 * time.Second
	// keyFresh is how long a stored key is used before it is looked up again, and keyStale how long it may be
	// used if the store does not answer.
	keyFresh = 2 * time.Second
	keyStale = time.Minute
	// maxStoredKeys limits the keys that are remembered, including those that do not exist.
	maxStoredKeys = 10_000
	// lookupTimeout limits one query to the store.
	lookupTimeout = 5 * time.Second
)

// storedKeys remembers the store's answers for a short time.
type storedKeys struct {
	store KeyStore

	mu    sync.Mutex
	known *recent.Map[string, *storedKey]
}

// A storedKey is the store's answer about an id. Only one caller looks it up at a time.
type storedKey struct {
	looking chan struct{} // holds a token while nobody looks it up

	mu      sync.Mutex
	key     *Key // nil: there is none
	fetched time.Time
}

func newStoredKeys(store KeyStore) *storedKeys {
	return &storedKeys{store: store, known: recent.New[string, *storedKey](recent.Bounds{Most: maxStoredKeys, Idle: keyStale})}
}

func (s *storedKeys) slot(id string) *storedKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known.Get(id); ok {
		return k
	}
	s.known.Trim(1, nil)
	k := &storedKey{looking: make(chan struct{}, 1)}
	k.looking <- struct{}{}
	s.known.Put(id, k, 0)
	return k
}

// within returns the key if it was looked up no longer ago than age.
func (k *storedKey) within(age time.Duration) (key *Key, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.key, !k.fetched.IsZero() && time.Since(k.fetched) < age
}

// get returns the key with that id; nil: there is none.
func (s *storedKeys) get(ctx context.Context, id string) (*Key, error) {
	k := s.slot(id)
	if key, ok := k.within(keyFresh); ok {
		return key, nil
	}
	select {
	case <-k.looking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { k.looking <- struct{}{} }()
	if key, ok := k.within(keyFresh); ok { // another caller has looked it up
		return key, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	asked := time.Now()
	key, err := s.store.Key(ctx, id)
	if err != nil {
		if stale, ok := k.within(keyStale); ok && stale != nil {
			return stale, nil
		}
		return nil, err
	}
	if key != nil { // it is shared from now on
		key.Roles = slices.Clone(key.Roles)
	}
	k.mu.Lock()
	k.key, k.fetched = key, asked
	k.mu.Unlock()
	return key, nil
}
