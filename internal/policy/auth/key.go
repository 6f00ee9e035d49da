package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"
)

// A Key is an API key as it is stored: without its secret.
type Key struct {
	ID      string // "" for keys of the configuration
	Name    string // of the caller; several keys may have it, while one replaces another
	Org     string
	Roles   []string
	Hash    Hash
	Expires time.Time // zero: never
	Revoked time.Time // zero: it is not revoked
}

// A Hash is the SHA-256 of a whole key. A key is 256 random bits, so a slower hash is not needed.
type Hash [sha256.Size]byte

// HashOf returns the hash of a key.
func HashOf(key string) Hash { return sha256.Sum256([]byte(key)) }

// hashPrefix names the algorithm in a written hash.
const hashPrefix = "sha256:"

// String returns the hash as written in configurations.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// ParseHash reads what String returns.
func ParseHash(text string) (h Hash, ok bool) {
	digits, ok := strings.CutPrefix(text, hashPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(h)) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(digits))
	return h, err == nil
}

const (
	keyPrefix   = "rk_"
	idLength    = 12 // characters
	secretBytes = 32
)

var keyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewKey returns a new key of the form rk_ID_SECRET, and its id.
func NewKey() (key, id string) {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	id = strings.ToLower(rand.Text()[:idLength])
	return keyPrefix + id + "_" + keyEncoding.EncodeToString(random[:]), id
}

// KeyID returns the id in a key from NewKey.
func KeyID(key string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(key, keyPrefix)
	id, secret, _ := strings.Cut(rest, "_")
	return id, ok && len(id) == idLength && len(secret) == keyEncoding.EncodedLen(secretBytes)
}
