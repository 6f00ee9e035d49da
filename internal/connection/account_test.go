package connection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/store"
)

// Accounts are listed without their tokens, and can be disconnected; the manager forgets them immediately.
func TestAccounts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
	owner := connection.CallerOwner(ada)
	if err := s.Connect(t.Context(), s.key, owner, "ada", connection.Token{Access: "token-1", Scopes: []string{"read"}}); err != nil {
		t.Fatal(err)
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Owner != "caller team ada" || all[0].State != connection.Connected || all[0].By != "ada" {
		t.Errorf("got %v, %v", all, err)
	}
	if one, ok, err := s.Get(t.Context(), "leaf", owner); err != nil || !ok || fmt.Sprint(one) != fmt.Sprint(all[0]) ||
		strings.Contains(fmt.Sprint(one), "token-1") {
		t.Errorf("got %v, %v", one, err)
	}
	if _, err := s.Credential(t.Context(), s.key, owner); err != nil {
		t.Error(err)
	}
	if err := s.Disconnect(t.Context(), "leaf", owner); err != nil {
		t.Error(err)
	}
	if _, err := s.Credential(t.Context(), s.key, owner); err == nil {
		t.Error("the account still exists")
	}
	if err := s.Disconnect(t.Context(), "leaf", owner); !errors.Is(err, store.ErrConflict) {
		t.Errorf("second disconnect: %v", err)
	}
}

// An operator can make a link for an existing account; only its owner can use it.
func TestLinkForTheOwner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	owner := connection.OrgOwner("team", "north farm")
	if _, err := s.NewLink(t.Context(), s.key, owner); !errors.Is(err, store.ErrConflict) {
		t.Errorf("without an account: %v", err)
	}
	if err := s.Connect(t.Context(), s.key, owner, "ada", connection.Token{Access: "token-1"}); err != nil {
		t.Fatal(err)
	}
	path, err := s.NewLink(t.Context(), s.key, owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		key  string
		want string
	}{{"eve's key", "not the key of the caller"}, {"ada's key", "API key of Leaf"}} {
		got := s.browser().submit(gatewayURL+path, "step", "enter", "key", step.key)
		if !strings.Contains(got.text, step.want) {
			t.Errorf("with %s: %s", step.key, got.text)
		}
	}
	own := &connection.Provider{Name: "own", Title: "Own", Flow: connection.ClientCredentials}
	if _, err := s.NewLink(t.Context(), own, connection.GatewayOwner); err == nil {
		t.Error("got a link for a provider that nobody connects")
	}
}

// An account connected at one process works immediately at another one that has just looked for it.
func TestConnectedAtAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	other := s.process()
	_, err := other.Credential(t.Context(), s.key, "ada")
	wantKind(t, err, recourse.KindNotConnected)
	var last int64
	for _, entered := range []string{"leaf-1", "leaf-2"} {
		if err := s.Connect(t.Context(), s.key, "ada", "ada", connection.Token{Access: entered}); err != nil {
			t.Fatal(err)
		}
		if last != 0 && !other.IsOutdated(t.Context(), s.key, "ada", last) {
			t.Error("another process did not find the new key")
		}
		c, err := other.Credential(t.Context(), s.key, "ada")
		if err != nil || c.Value != entered {
			t.Fatalf("%+v, %v", c, err)
		}
		if last = c.Version; other.IsOutdated(t.Context(), s.key, "ada", last) {
			t.Error("the latest key counts as an old one")
		}
	}
}
