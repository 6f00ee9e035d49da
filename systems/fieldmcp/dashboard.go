package fieldmcp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// Connect connects an organisation's account at the provider, and replaces an earlier connection, as its
// farmer does in the dashboard. No scopes means ag1, ag2 and ag3.
func (s *System) Connect(organisation string, scopes ...string) {
	if len(scopes) == 0 {
		scopes = allScopes()
	}
	s.deere.connect(organisation, s.provider.connect(organisation, scopes))
}

// Disconnect forgets an organisation's connection.
func (s *System) Disconnect(organisation string) { s.deere.disconnect(organisation) }

// Lapse expires the access that an organisation has granted, as happens when it was not used for 90 days.
func (s *System) Lapse(organisation string) error { return s.provider.Lapse(organisation) }

// Revoke revokes the access that an organisation has granted, as its farmer does in the account at the
// provider.
func (s *System) Revoke(organisation string) error { return s.provider.Revoke(organisation) }

// Narrow limits an organisation's access to these scopes.
func (s *System) Narrow(organisation string, scopes ...string) error {
	return s.provider.change(organisation, func(a *account) { a.scopes = slices.Clone(scopes) })
}

func allScopes() []string { return strings.Fields(scopes) }

// dashboard lets a farmer change the connection of the organisation whose API key the request has, at any
// time: POST /dashboard/connect, disconnect, lapse, revoke or narrow, the first and the last with
// ?scopes=ag1,ag2.
func (s *System) dashboard(w http.ResponseWriter, r *http.Request) {
	who, err := s.auth.Authenticate(r)
	switch {
	case errors.Is(err, recourse.ClassPermission):
		loopback.Refuse(w, http.StatusForbidden, "suspended")
		return
	case err != nil:
		loopback.Refuse(w, http.StatusUnauthorized, "unauthenticated")
		return
	}
	wanted := strings.FieldsFunc(r.FormValue("scopes"), func(c rune) bool { return c == ',' || c == ' ' })
	if i := slices.IndexFunc(wanted, func(scope string) bool { return !slices.Contains(allScopes(), scope) }); i >= 0 {
		loopback.Refuse(w, http.StatusBadRequest, fmt.Sprintf("there is no scope %q", wanted[i]))
		return
	}
	if err := s.Change(who.Org, r.PathValue("action"), wanted...); err != nil {
		loopback.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	loopback.Answer(w, http.StatusOK, map[string]string{"organisation": who.Org, "done": r.PathValue("action")})
}

// Change makes one of the changes above by its name: connect, disconnect, lapse, revoke or
// narrow.
func (s *System) Change(organisation, action string, scopes ...string) error {
	switch action {
	case "connect":
		s.Connect(organisation, scopes...)
		return nil
	case "disconnect":
		s.Disconnect(organisation)
		return nil
	case "lapse":
		return s.Lapse(organisation)
	case "revoke":
		return s.Revoke(organisation)
	case "narrow":
		return s.Narrow(organisation, scopes...)
	default:
		return fmt.Errorf("there is nothing to do that is called %q: there are connect, disconnect, lapse, revoke and narrow", action)
	}
}
