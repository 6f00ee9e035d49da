package connection_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
)

// A token that a server refuses and that cannot be refreshed ends the connection, for the reason that the provider
// gives.
func TestRejectedForGood(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]recourse.Kind{"invalid_grant": recourse.KindTokenRevoked, "expired_token": recourse.KindTokenExpired} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(time.Hour)
			m := manager(t, open(t, t.TempDir()), i)
			connect(t, m, i, "ada")
			c, err := m.Credential(t.Context(), deere, "ada")
			if err != nil {
				t.Fatal(err)
			}
			i.fails(func(int) (int, string) { return http.StatusBadRequest, `{"error":"` + code + `"}` })
			wantKind(t, m.Rejected(t.Context(), deere, "ada", c.Version), want)
		})
	}
}

// A token that a server refuses is refreshed once; a new token is not.
func TestRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		time.Sleep(10 * time.Minute)
		c, err := m.Credential(t.Context(), deere, "ada")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil { // another caller with the old token
			t.Fatal(err)
		}
		c, err = m.Credential(t.Context(), deere, "ada")
		if err != nil || c.Value != "Bearer access-ada-2" {
			t.Fatalf("%+v, %v", c, err)
		}
		wantKind(t, m.Rejected(t.Context(), deere, "ada", c.Version), recourse.KindTokenExpired)
		if i.asked() != 1 {
			t.Errorf("%d refreshes", i.asked())
		}
		connect(t, m, i, "ada") // a new account is refreshed once, too
		if c, err = m.Credential(t.Context(), deere, "ada"); err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil || i.asked() != 2 {
			t.Errorf("%d refreshes, %v", i.asked(), err)
		}
	})
}
