package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
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

// Algorithms are the signature algorithms that may be accepted. Those with a shared secret, and none, are not among them.
func Algorithms() []string {
	return []string{string(jose.ES256), string(jose.RS256), string(jose.EdDSA)}
}

// A TokenRule says whose tokens are accepted, and what their claims say of the caller. A claim is a name, or a JSON Pointer if
// it begins with a slash.
type TokenRule struct {
	Access     string
	Issuer     string   // what iss must be
	Audiences  []string // of which aud must name one
	Algorithms []string
	Leeway     time.Duration // between the clocks
	Scopes     []string      // that every token needs

	NameClaim, OrgClaim, RolesClaim string
}

const (
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
	// A token that was verified is believed for tokenFresh, and maxTokens of them are remembered.
	tokenFresh = time.Minute
	maxTokens  = 10_000
	// minRSA is the least size of an RSA key, in bits (RFC 7518, section 3.3).
	minRSA = 2048
)

// JWT verifies callers by a signed token (RFC 7519) in Authorization: Bearer.
type JWT struct {
	rule       TokenRule
	algorithms []jose.SignatureAlgorithm
	keys       *KeySet

	mu    sync.Mutex
	known *recent.Map[[sha256.Size]byte, knownToken] // by hash
}

type knownToken struct {
	authn.Identity

	until time.Time
}

var _ authn.Authenticator = (*JWT)(nil)

// NewJWT returns an authenticator for tokens that are signed by one of the keys.
func NewJWT(rule TokenRule, keys *KeySet) *JWT {
	j := &JWT{rule: rule, keys: keys, known: recent.New[[sha256.Size]byte, knownToken](recent.Bounds{Most: maxTokens, Idle: tokenFresh})}
	for _, name := range rule.Algorithms {
		j.algorithms = append(j.algorithms, jose.SignatureAlgorithm(name))
	}
	return j
}

// Authenticate implements [authn.Authenticator].
func (j *JWT) Authenticate(r *http.Request) (authn.Identity, error) {
	token, no := bearer(r.Header)
	if no != nil {
		return authn.Identity{}, no
	}
	if !isJWT(token) {
		return authn.Identity{}, unknown(recourse.Unauthenticated().WithMessage("The token is not valid."))
	}
	if len(token) > maxToken {
		e := recourse.Unauthenticated().WithMessage("The token is larger than the %d bytes that are allowed.", maxToken)
		return authn.Identity{}, invalid(e)
	}
	hash := sha256.Sum256([]byte(token))
	who, ok := j.recall(hash)
	if !ok {
		if who, no = j.verify(r.Context(), token); no != nil {
			return authn.Identity{}, no
		}
		j.remember(hash, who)
	}
	if lacks := without(who.Scopes, j.rule.Scopes); len(lacks) > 0 {
		return authn.Identity{}, NoScope(j.rule.Scopes, lacks)
	}
	return who, nil
}

// NoScope is the refusal of a caller whose token lacks some of the scopes that it needs.
func NoScope(needs, lacks []string) *Refusal {
	e := recourse.New(recourse.KindMissingScope, "").WithMessage("The token lacks the scope %s.", strings.Join(lacks, ", ")).
		With(func(e *recourse.Error) { e.MissingScopes = lacks })
	return &Refusal{Record: e, At: contract.AtSession, Scopes: needs}
}

// without returns the wanted ones that are not there.
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

// verify checks a token: first that it is this issuer's to check, then who has signed it, then what it says.
func (j *JWT) verify(ctx context.Context, token string) (authn.Identity, error) {
	signed, err := jose.ParseSignedCompact(token, j.algorithms)
	if err != nil {
		return authn.Identity{}, j.unreadable(token, err)
	}
	claims, err := parseClaims(signed.UnsafePayloadWithoutVerification())
	if err != nil {
		return authn.Identity{}, forged(err)
	}
	if claims.Issuer != j.rule.Issuer {
		e := recourse.Unauthenticated().WithMessage("The token comes from an issuer that is not accepted here.")
		return authn.Identity{}, unknown(e.CausedBy(fmt.Errorf("the issuer is %.200q, not %q", claims.Issuer, j.rule.Issuer)))
	}
	header := signed.Signatures[0].Protected
	key, err := j.keys.key(ctx, header.KeyID, header.Algorithm)
	switch {
	case errors.Is(err, ErrUnavailable):
		e := recourse.New(recourse.KindUnavailable,
			"The gateway cannot check tokens now, since the keys of their issuer cannot be fetched. Try again later.").
			WithOrigin(recourse.OriginGateway).WithRetryAfter(unavailableWait).CausedBy(err)
		return authn.Identity{}, &Refusal{Record: e, At: contract.AtSession}
	case err != nil:
		return authn.Identity{}, forged(fmt.Errorf("%w: %.100q for %s", err, header.KeyID, header.Algorithm))
	}
	if _, err := signed.Verify(key); err != nil {
		return authn.Identity{}, forged(err)
	}
	if no := claims.check(&j.rule, time.Now()); no != nil {
		return authn.Identity{}, no
	}
	return claims.identity(&j.rule)
}

// unreadable is the refusal of a token that is none, or that is signed in a way which is not accepted.
func (j *JWT) unreadable(token string, err error) error {
	if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		e := recourse.Unauthenticated().WithMessage("The token is signed with an algorithm that is not accepted. Accepted are %s.",
			strings.Join(j.rule.Algorithms, ", "))
		return unknown(e.CausedBy(err))
	}
	return forged(fmt.Errorf("a token of %d bytes: %w", len(token), err))
}

// forged is the refusal of a token of which nothing can be believed.
func forged(cause error) error {
	return invalid(recourse.Unauthenticated().WithMessage("The token is not valid.").CausedBy(cause))
}

// pick returns the key of a set with that id, or the only one for the algorithm if the token names none.
func pick(keys []jose.JSONWebKey, id, algorithm string) any {
	var found any
	for i := range keys {
		key := &keys[i]
		switch {
		case id != "" && key.KeyID != id, key.Algorithm != "" && key.Algorithm != algorithm, !fits(key.Key, algorithm):
		case id != "":
			return key.Key
		case found != nil:
			return nil // a token that names no key has to be signed by the only one
		default:
			found = key.Key
		}
	}
	return found
}

// fits reports whether a key is for an algorithm: what a token says of itself does not make another one of it.
func fits(key any, algorithm string) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return algorithm == string(jose.RS256) && key.N.BitLen() >= minRSA
	case *ecdsa.PublicKey:
		return algorithm == string(jose.ES256) && key.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	default:
		return false
	}
}
