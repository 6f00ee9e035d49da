package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/testkit"
)

// An operator's link for an account leads to its page. There is none for an account that does not exist.
func TestConnectLink(t *testing.T) {
	t.Parallel()
	f := startWithAccounts(t, testkit.NewServer(t), "authorization_code", "public_url: https://tools.example.com")
	g := f.gateway
	for _, provider := range []string{"deere", "made-up"} {
		if _, err := g.ConnectLink(t.Context(), provider, connection.AnybodyOwner); !errors.Is(err, store.ErrConflict) {
			t.Errorf("without an account at %s: %v", provider, err)
		}
	}
	f.connect(t)
	link, err := g.ConnectLink(t.Context(), "deere", connection.AnybodyOwner)
	if err != nil || !strings.HasPrefix(link, "https://tools.example.com/connect/") {
		t.Errorf("%s, %v", link, err)
	}
}
