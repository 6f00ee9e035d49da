package fieldmcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
)

// Identity says whose tokens are accepted: JSON Web Tokens (RFC 7519), signed with
// ES256 (RFC 7518, section 3.4) by a key of the set, whose claim org names the
// organisation.
type Identity struct {
	JWKSURL  string // URL of the JSON Web Key Set (RFC 7517)
	Issuer   string // the required claim iss
	Audience string // the claim aud must be this or contain it
}

const (
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
	// keyLife is how long a key set is trusted, so that a revoked key stops working.
	keyLife = 10 * time.Minute
	// keyPause is the minimum time between two fetches, so that tokens with invented keys do not cause one
	// each.
	keyPause = time.Minute
	// maxToken and maxKeySet limit what is decoded, in bytes.
	maxToken  = 8 << 10
	maxKeySet = 64 << 10
)

// tokenVerifier checks tokens. It is safe for concurrent use.
type tokenVerifier struct {
	identity Identity
	now      func() time.Time
	http     *http.Client

	mu      sync.Mutex
	keys    map[string]*ecdsa.PublicKey // by key id
	fetched time.Time
}

func newTokenVerifier(identity Identity, now func() time.Time) *tokenVerifier {
	return &tokenVerifier{
		identity: identity, now: now,
		http: &http.Client{Transport: mcptool.Transport(&http.Transport{Proxy: http.ProxyFromEnvironment}, "The identity provider")},
	}
}

// organisation returns the organisation that a token names. What is wrong with a token is only logged.
func (v *tokenVerifier) organisation(ctx context.Context, token string) (string, error) {
	signed, signature, err := split(token)
	if err != nil {
		return "", recourse.Unauthenticated().CausedBy(err)
	}
	key, err := v.key(ctx, signed.header.KeyID)
	if err != nil {
		return "", err
	}
	const half = 32
	digest := sha256.Sum256([]byte(signed.text))
	r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return "", recourse.Unauthenticated().CausedBy(errors.New("the token's signature is wrong"))
	}
	if err := v.check(signed.claims); err != nil {
		return "", recourse.Unauthenticated().CausedBy(err)
	}
	return signed.claims.Organisation, nil
}

// A signedToken is the content of a token before it is verified.
type signedToken struct {
	text   string // the signed text
	header struct {
		Algorithm string          `json:"alg"`
		KeyID     string          `json:"kid"`
		Critical  json.RawMessage `json:"crit"`
	}
	claims claims
}

type claims struct {
	Issuer       string   `json:"iss"`
	Audience     audience `json:"aud"`
	Expires      *float64 `json:"exp"`
	NotBefore    *float64 `json:"nbf"`
	IssuedAt     *float64 `json:"iat"`
	Organisation string   `json:"org"`
}

// An audience is a string or a list of strings (RFC 7519, section 4.1.3).
type audience []string

// UnmarshalJSON reads either form.
func (a *audience) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(a))
}

// split takes a token apart. The algorithm is always ES256, even if the token names another.
func split(token string) (signed signedToken, signature []byte, err error) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return signed, nil, errors.New("the credential is neither an API key nor a token")
	}
	signed.text = parts[0] + "." + parts[1]
	if err := decode(parts[0], &signed.header); err != nil {
		return signed, nil, fmt.Errorf("the token's header: %w", err)
	}
	if signed.header.Algorithm != "ES256" || signed.header.Critical != nil {
		return signed, nil, fmt.Errorf("the token is signed with %q, or has critical extensions", signed.header.Algorithm)
	}
	if err := decode(parts[1], &signed.claims); err != nil {
		return signed, nil, fmt.Errorf("the token's claims: %w", err)
	}
	signature, err = base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return signed, nil, errors.New("the token's signature is not 64 bytes in base64url")
	}
	return signed, signature, nil
}

func decode(part string, v any) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// check checks the claims of a token whose signature is right.
func (v *tokenVerifier) check(c claims) error {
	now := v.now()
	switch {
	case c.Issuer != v.identity.Issuer:
		return errors.New("the token is of another issuer")
	case !slices.Contains(c.Audience, v.identity.Audience):
		return errors.New("the token is for another audience")
	case c.Expires == nil:
		return errors.New("the token never expires")
	case !now.Before(date(*c.Expires).Add(leeway)):
		return errors.New("the token has expired")
	case c.NotBefore != nil && now.Before(date(*c.NotBefore).Add(-leeway)):
		return errors.New("the token is not valid yet")
	case c.IssuedAt != nil && now.Before(date(*c.IssuedAt).Add(-leeway)):
		return errors.New("the token was issued in the future")
	case !slices.Contains(organisations, c.Organisation):
		return errors.New("the token names no organisation that is known")
	}
	return nil
}

// date returns the time of a NumericDate (RFC 7519, section 2), limited to valid times.
func date(seconds float64) time.Time {
	const most = 1 << 40
	return time.Unix(int64(max(min(seconds, most), -most)), 0)
}

// key returns the public key with that id. The set is fetched if it is too old, or if it lacks the key and
// may have changed.
func (v *tokenVerifier) key(ctx context.Context, id string) (*ecdsa.PublicKey, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	age := v.now().Sub(v.fetched)
	key, ok := v.keys[id]
	if v.keys == nil || age >= keyLife || !ok && age >= keyPause {
		keys, err := v.fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("fetch the key set: %w", err)
		}
		v.keys, v.fetched = keys, v.now()
		key, ok = keys[id]
	}
	if !ok {
		return nil, recourse.Unauthenticated().CausedBy(fmt.Errorf("the token's key %q is not in the set", id))
	}
	return key, nil
}

func (v *tokenVerifier) fetch(ctx context.Context) (map[string]*ecdsa.PublicKey, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.identity.JWKSURL, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := v.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var set struct {
		Keys []jsonWebKey `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxKeySet)).Decode(&set); err != nil {
		return nil, recourse.BadResponse("The identity provider").CausedBy(err)
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, k := range set.Keys {
		if key, ok := k.public(); ok { // a set may contain keys for other purposes
			keys[k.KeyID] = key
		}
	}
	return keys, nil
}

// A jsonWebKey is a key of the set (RFC 7517, section 4; RFC 7518, section 6.2).
type jsonWebKey struct {
	Type      string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// public returns the key if it can verify ES256.
func (k jsonWebKey) public() (*ecdsa.PublicKey, bool) {
	if k.Type != "EC" || k.Curve != "P-256" || k.Use != "" && k.Use != "sig" || k.Algorithm != "" && k.Algorithm != "ES256" {
		return nil, false
	}
	const size = 32
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	if errX != nil || errY != nil || len(x) != size || len(y) != size {
		return nil, false
	}
	const uncompressed = 4
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{uncompressed}, x, y))
	return key, err == nil
}
