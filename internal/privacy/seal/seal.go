// Package seal makes texts that their holder can neither read nor change, such as the ids of sessions and the state of
// a question that a client carries to the next request. Anyone with the same keys can open them: a gateway after a
// restart, and every replica.
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

// MinSecret is the minimum length of a secret, in bytes.
const MinSecret = 32

// A Sealer seals with its first key and opens with all of them. It is safe for concurrent use.
type Sealer struct {
	keys  []cipher.AEAD
	keyID string // of the first
}

// New returns a sealer with these secrets, the newest first. Without any it has a random key, and nobody else can open
// what it seals.
func New(secrets ...string) *Sealer {
	if len(secrets) == 0 {
		secrets = []string{rand.Text() + rand.Text()}
	}
	s := &Sealer{keys: make([]cipher.AEAD, len(secrets)), keyID: KeyID(secrets[0])}
	for i, secret := range secrets {
		key, _ := hkdf.Key(sha256.New, []byte(secret), nil, "recourse seal v1", 32) // only fails for keys longer than SHA-256 can make
		block, _ := aes.NewCipher(key)                                              // only fails for keys of other lengths
		s.keys[i], _ = cipher.NewGCMWithRandomNonce(block)                          // only fails for ciphers other than AES
	}
	return s
}

// KeyID returns a name for the key of a secret. It reveals nothing about the secret.
func KeyID(secret string) string {
	sum := sha256.Sum256([]byte("recourse key id v1 " + secret))
	return hex.EncodeToString(sum[:4])
}

// KeyID returns the name of the key that Seal seals with.
func (s *Sealer) KeyID() string { return s.keyID }

// Seal returns the sealed text in base64url. It can only be opened for the same purpose.
func (s *Sealer) Seal(text, purpose []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.keys[0].Seal(nil, nil, text, purpose)) //nolint:gosec // the nonce is its own
}

// ErrForeign is returned by [Sealer.Open] for a text that none of its keys has sealed for that purpose.
var ErrForeign = errors.New("it was sealed with another key or for another purpose")

// Open returns the text that was sealed for that purpose. The error is [ErrForeign].
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
