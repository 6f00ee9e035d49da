package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// minRSA is the minimum size of an RSA key, in bits (RFC 7518, section 3.3).
const minRSA = 2048

// A verifier checks the tokens of an issuer.
type verifier struct {
	rule       TokenRule
	algorithms []jose.SignatureAlgorithm
	keys       *KeySet
}

func newVerifier(rule TokenRule, keys *KeySet) verifier {
	v := verifier{rule: rule, keys: keys}
	for _, name := range rule.Algorithms {
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(name))
	}
	return v
}

// verify checks a token: first that it is from this issuer, then its signature, then its claims.
func (v *verifier) verify(ctx context.Context, token string) (*claims, error) {
	if len(token) > maxToken {
		e := recourse.Unauthenticated().WithMessage("The token is larger than the %d bytes that are allowed.", maxToken)
		return nil, invalid(e)
	}
	signed, err := jose.ParseSignedCompact(token, v.algorithms)
	if err != nil {
		return nil, v.malformed(token, err)
	}
	claims, err := parseClaims(signed.UnsafePayloadWithoutVerification())
	if err != nil {
		return nil, forged(err)
	}
	if claims.Issuer != v.rule.Issuer {
		e := recourse.Unauthenticated().WithMessage("The token comes from an issuer that is not accepted here.")
		return nil, unknown(e.CausedBy(fmt.Errorf("the issuer is %.200q, not %q", claims.Issuer, v.rule.Issuer)))
	}
	header := signed.Signatures[0].Protected
	key, err := v.keys.key(ctx, header.KeyID, header.Algorithm)
	switch {
	case errors.Is(err, ErrUnavailable):
		e := recourse.New(recourse.KindUnavailable,
			"The gateway cannot check tokens now, since the keys of their issuer cannot be fetched. Try again later.").
			WithOrigin(recourse.OriginGateway).WithRetryAfter(unavailableWait).CausedBy(err)
		return nil, &Refusal{Record: e, At: contract.AtSession}
	case err != nil:
		return nil, forged(fmt.Errorf("%w: %.100q for %s", err, header.KeyID, header.Algorithm))
	}
	if _, err := signed.Verify(key); err != nil {
		return nil, forged(err)
	}
	if err := claims.check(&v.rule, time.Now()); err != nil {
		return nil, err
	}
	return claims, nil
}

// malformed is the refusal of a text that is not a token, or of a token with an unaccepted kind of
// signature.
func (v *verifier) malformed(token string, err error) error {
	if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		e := recourse.Unauthenticated().WithMessage("The token is signed with an algorithm that is not accepted. Accepted are %s.",
			strings.Join(v.rule.Algorithms, ", "))
		return unknown(e.CausedBy(err))
	}
	return forged(fmt.Errorf("a token of %d bytes: %w", len(token), err))
}

// forged is the refusal of a token that cannot be trusted at all.
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
			return nil // a token that names no key must be signed by the only one
		default:
			found = key.Key
		}
	}
	return found
}

// fits reports whether a key is for an algorithm: a token's own header cannot change that.
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
