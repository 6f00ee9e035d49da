package auth

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/recent"
)

// Algorithms are the signature algorithms that may be accepted. Those with a shared secret, and "none", are
// excluded.
func Algorithms() []string {
	return []string{string(jose.ES256), string(jose.RS256), string(jose.EdDSA)}
}

// A TokenRule says whose tokens are accepted, and which claims describe the caller. A claim is a name, or a
// JSON Pointer if it begins with a slash.
type TokenRule struct {
	Access     string
	Issuer     string   // the required iss
	Audiences  []string // aud must name one of these
	Algorithms []string
	Leeway     time.Duration // between the clocks
	Scopes     []string      // required of every token

	NameClaim, OrgClaim, RolesClaim string
	UsersClaim                      string // "": tokens name no users
}

const (
	// maxToken limits a token, in bytes.
	maxToken = 16 << 10
	// A verified token is trusted for tokenFresh, and up to maxTokens of them are remembered.
	tokenFresh = time.Minute
	maxTokens  = 10_000
)

// JWT verifies callers by a signed token (RFC 7519) in Authorization: Bearer.
type JWT struct {
	verifier

	mu    sync.Mutex
	known *recent.Map[[sha256.Size]byte, knownToken] // by hash
}

type knownToken struct {
	authn.Identity

	until time.Time
}

var _ authn.Authenticator = (*JWT)(nil)

// NewJWT returns an authenticator for tokens that are signed with one of the keys.
func NewJWT(rule TokenRule, keys *KeySet) *JWT {
	return &JWT{
		verifier: newVerifier(rule, keys),
		known:    recent.New[[sha256.Size]byte, knownToken](recent.Bounds{Most: maxTokens, Idle: tokenFresh}),
	}
}

// Authenticate implements [authn.Authenticator].
func (j *JWT) Authenticate(r *http.Request) (authn.Identity, error) {
	token, err := Bearer(r.Header)
	if err != nil {
		return authn.Identity{}, err
	}
	if !isJWT(token) {
		return authn.Identity{}, unknown(recourse.Unauthenticated().WithMessage("The token is not valid."))
	}
	hash := sha256.Sum256([]byte(token))
	who, ok := j.recall(hash)
	if !ok {
		claims, err := j.verify(r.Context(), token)
		if err != nil {
			return authn.Identity{}, err
		}
		if who, err = claims.identity(&j.rule); err != nil {
			return authn.Identity{}, err
		}
		j.remember(hash, who)
	}
	if lacks := without(who.Scopes, j.rule.Scopes); len(lacks) > 0 {
		return authn.Identity{}, MissingScope(j.rule.Scopes, lacks)
	}
	return who, nil
}

// MissingScope is the refusal of a caller whose token lacks some of the required scopes.
func MissingScope(needs, lacks []string) *Refusal {
	e := recourse.New(recourse.KindMissingScope, "").WithMessage("The token lacks the scope %s.", strings.Join(lacks, ", ")).
		With(func(e *recourse.Error) { e.MissingScopes = lacks })
	return &Refusal{Record: e, At: contract.AtSession, Scopes: needs}
}

// without returns the wanted ones that are missing.
func without(there, wanted []string) []string {
	var lacks []string
	for _, name := range wanted {
		if !slices.Contains(there, name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

func (j *JWT) recall(hash [sha256.Size]byte) (authn.Identity, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	known, ok := j.known.Get(hash)
	if !ok {
		return authn.Identity{}, false
	}
	if !time.Now().Before(known.until) {
		j.known.Remove(hash)
		return authn.Identity{}, false
	}
	return known.Identity, true
}

func (j *JWT) remember(hash [sha256.Size]byte, who authn.Identity) {
	until := time.Now().Add(tokenFresh)
	if ends := who.Expires.Add(j.rule.Leeway); ends.Before(until) {
		until = ends
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, twice := j.known.Peek(hash); twice {
		return
	}
	j.known.Keep(hash, knownToken{who, until}, 0)
}
