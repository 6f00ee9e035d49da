package testkit

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An Issuer issues tokens and serves the keys with which they are signed, like an identity provider. It is
// safe for concurrent use.
type Issuer struct {
	URL string

	mu       sync.Mutex
	keys     []*SigningKey
	answer   http.HandlerFunc // nil: the keys
	metadata string           // "": those of the issuer
	fetches  atomic.Int64     // of the keys
}

// A SigningKey signs tokens with one algorithm.
type SigningKey struct {
	ID, Alg string
	private crypto.Signer
	secret  []byte // of HS256
}

// NewIssuer returns an issuer with a key for ES256 called "k1". It listens in memory.
func NewIssuer(tb testing.TB) *Issuer {
	tb.Helper()
	s := &Issuer{}
	s.keys = []*SigningKey{NewSigningKey(tb, "k1", "ES256")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.serveMetadata)
	mux.HandleFunc("GET /keys", s.serveKeys)
	s.URL = ServeInMemory(tb, mux)
	return s
}

func (s *Issuer) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	text := s.metadata
	s.mu.Unlock()
	if text == "" {
		text = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, s.URL, s.URL+"/keys")
	}
	_, _ = io.WriteString(w, text) // the client has gone
}

// SetMetadata replaces the metadata; "": those of the issuer again.
func (s *Issuer) SetMetadata(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metadata = text
}

func (s *Issuer) serveKeys(w http.ResponseWriter, r *http.Request) {
	s.fetches.Add(1)
	s.mu.Lock()
	answer, keys := s.answer, s.keys
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	list := []map[string]string{}
	for _, key := range keys {
		list = append(list, key.public())
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": list}) // the client has gone
}

// Fetches returns how often the keys were fetched.
func (s *Issuer) Fetches() int { return int(s.fetches.Load()) }

// SetKeys replaces the keys that are served.
func (s *Issuer) SetKeys(keys ...*SigningKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// Answer replaces the answer to requests for the keys; nil: the keys again.
func (s *Issuer) Answer(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Key returns the first key.
func (s *Issuer) Key() *SigningKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[0]
}

// Claims returns the claims of a valid token: subject "ann", audience "farm". change replaces claims; nil
// removes one.
func (s *Issuer) Claims(change map[string]any) map[string]any {
	now := time.Now().Unix()
	claims := map[string]any{"iss": s.URL, "sub": "ann", "aud": "farm", "iat": now, "exp": now + 600}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// Token returns a token with these claims, signed by the first key.
func (s *Issuer) Token(tb testing.TB, change map[string]any) string {
	tb.Helper()
	payload, err := json.Marshal(s.Claims(change))
	if err != nil {
		tb.Fatal(err)
	}
	key := s.Key()
	return key.Sign(tb, map[string]any{"alg": key.Alg, "kid": key.ID, "typ": "at+jwt"}, payload)
}

// NewSigningKey makes a key for ES256, RS256 or EdDSA.
func NewSigningKey(tb testing.TB, id, alg string) *SigningKey {
	tb.Helper()
	const bits = 2048
	var private crypto.Signer
	var err error
	switch alg {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "RS256":
		private, err = rsa.GenerateKey(rand.Reader, bits)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		tb.Fatalf("no key for %s", alg)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &SigningKey{ID: id, Alg: alg, private: private}
}

// NewWeakKey makes a key for RS256 that is smaller than allowed.
func NewWeakKey(tb testing.TB, id string) *SigningKey {
	tb.Helper()
	const bits = 1024
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		tb.Fatal(err)
	}
	return &SigningKey{ID: id, Alg: "RS256", private: private}
}

// SharedKey returns a key for HS256.
func SharedKey(id string, secret []byte) *SigningKey {
	return &SigningKey{ID: id, Alg: "HS256", secret: secret}
}

// Public returns the public key in the form that its issuer serves.
func (k *SigningKey) Public() []byte {
	text, _ := json.Marshal(k.public()) // it can always be written
	return text
}

func (k *SigningKey) public() map[string]string {
	encode := base64.RawURLEncoding.EncodeToString
	jwk := map[string]string{"kid": k.ID, "alg": k.Alg, "use": "sig"}
	switch key := k.private.Public().(type) {
	case *ecdsa.PublicKey:
		point, _ := key.Bytes() // it is on the curve
		jwk["kty"], jwk["crv"], jwk["x"], jwk["y"] = "EC", "P-256", encode(point[1:33]), encode(point[33:])
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes())
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", encode(key)
	}
	return jwk
}

// Sign returns a token with this header and payload, valid or not.
func (k *SigningKey) Sign(tb testing.TB, header map[string]any, payload []byte) string {
	tb.Helper()
	head, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return k.SignRaw(tb, head, payload)
}

// SignRaw is Sign with a header as it is written in the token.
func (k *SigningKey) SignRaw(tb testing.TB, header, payload []byte) string {
	tb.Helper()
	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(payload)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		const half = 32
		r, s, signErr := ecdsa.Sign(rand.Reader, private, digest[:])
		signature, err = make([]byte, 2*half), signErr
		if err == nil {
			r.FillBytes(signature[:half])
			s.FillBytes(signature[half:])
		}
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
	case ed25519.PrivateKey:
		signature = ed25519.Sign(private, []byte(text))
	default:
		mac := hmac.New(sha256.New, k.secret)
		_, _ = mac.Write([]byte(text)) // it never fails
		signature = mac.Sum(nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
