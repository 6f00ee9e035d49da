// Package seal makes texts that their bearer can neither read nor change, such as the ids of sessions and the state of a
// question that a client carries to the next request. Whoever has the same keys can open them: a gateway after a restart, and
// every replica.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// MinSecret is the length that a secret has at least, in bytes.
const MinSecret = 32

// A Sealer seals with its first key and opens with all of them. It is safe for concurrent use.
type Sealer struct {
	keys  []cipher.AEAD
	keyID string // of the first
}

// New returns the sealer with these secrets, the newest first. Without any it has a random key, and nobody else can open what
// it seals.
func New(secrets ...string) *Sealer {
	if len(secrets) == 0 {
		secrets = []string{rand.Text() + rand.Text()}
	}
	s := &Sealer{keys: make([]cipher.AEAD, len(secrets)), keyID: KeyID(secrets[0])}
	for i, secret := range secrets {
		key, _ := hkdf.Key(sha256.New, []byte(secret), nil, "recourse seal v1", 32) // fails for longer keys than SHA-256 can make
		block, _ := aes.NewCipher(key)                                              // fails for other lengths
		s.keys[i], _ = cipher.NewGCMWithRandomNonce(block)                          // fails for other blocks than those of AES
	}
	return s
}

// KeyID returns a name for the key of a secret, which tells nothing of it.
func KeyID(secret string) string {
	sum := sha256.Sum256([]byte("recourse key id v1 " + secret))
	return hex.EncodeToString(sum[:4])
}

// KeyID returns the name of the key that Seal seals with.
func (s *Sealer) KeyID() string { return s.keyID }

// Seal returns the sealed text, in the letters of base64url. It opens for the same purpose only.
func (s *Sealer) Seal(text, purpose []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.keys[0].Seal(nil, nil, text, purpose)) //nolint:gosec // the nonce is its own
}

// ErrForeign is the error of [Sealer.Open].
var ErrForeign = errors.New("it was sealed with another key or for another purpose")

// Open returns the text that was sealed for that purpose.
func (s *Sealer) Open(sealed string, purpose []byte) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrForeign
	}
	for _, key := range s.keys {
		if text, err := key.Open(nil, nil, raw, purpose); err == nil {
			return text, nil
		}
	}
	return nil, ErrForeign
}
