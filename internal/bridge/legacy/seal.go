package legacy

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
)

// A seal makes texts that only its bridge can have made, and that tell their bearer
// nothing. Its key is random and lasts as long as the bridge.
type seal struct{ aead cipher.AEAD }

func newSeal() *seal {
	key := make([]byte, 32)
	_, _ = rand.Read(key)                          // never fails
	block, _ := aes.NewCipher(key)                 // fails for other lengths only
	aead, _ := cipher.NewGCMWithRandomNonce(block) // fails for other blocks than those of AES only
	return &seal{aead: aead}
}

// close returns the sealed text, which opens for the same purpose only.
func (s *seal) close(text, purpose []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, purpose)) //nolint:gosec // the nonce is its own
}

var errSeal = errors.New("it was sealed elsewhere or for another purpose")

// open returns the text that was sealed for that purpose.
func (s *seal) open(sealed string, purpose []byte) ([]byte, error) {
	const most = 4 << 10
	raw, err := base64.RawURLEncoding.DecodeString(sealed[:min(len(sealed), most)])
	if err != nil {
		return nil, errSeal
	}
	text, err := s.aead.Open(nil, nil, raw, purpose)
	if err != nil {
		return nil, errSeal
	}
	return text, nil
}
