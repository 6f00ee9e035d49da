package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/seal"
)

func TestSealer(t *testing.T) {
	t.Parallel()
	older, newer := strings.Repeat("o", seal.MinSecret), strings.Repeat("n", seal.MinSecret)
	text, purpose := []byte("what a session is"), []byte("session farm")
	sealed := seal.New(older).Seal(text, purpose)
	for _, test := range []struct {
		name    string
		by      *seal.Sealer
		sealed  string
		purpose string
		opens   bool
	}{
		{"the same key", seal.New(older), sealed, "session farm", true},
		{"a key that was added", seal.New(newer, older), sealed, "session farm", true},
		{"another key", seal.New(newer), sealed, "session farm", false},
		{"a random key", seal.New(), sealed, "session farm", false},
		{"another purpose", seal.New(older), sealed, "session shop", false},
		{"changed", seal.New(older), sealed[:20] + flip(sealed[20]) + sealed[21:], "session farm", false},
		{"cut off", seal.New(older), sealed[:len(sealed)-4], "session farm", false},
		{"empty", seal.New(older), "", "session farm", false},
		{"invalid base64url", seal.New(older), "/" + sealed[1:], "session farm", false},
	} {
		got, err := test.by.Open(test.sealed, []byte(test.purpose))
		if (err == nil) != test.opens || err == nil && !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	if again := seal.New(older).Seal(text, purpose); again == sealed {
		t.Error("sealing twice gave the same result")
	}
}

func flip(letter byte) string {
	if letter == 'A' {
		return "B"
	}
	return "A"
}
