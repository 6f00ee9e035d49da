package serve

import (
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/config"
)

// warningsOfUsers returns what an operator should know about paths that name the user: where callers may be anybody, and where
// everybody gets the same user's data.
func warningsOfUsers(r *load.Loaded) (warnings []string) {
	for _, s := range r.Config.Servers {
		paths := []string{s.Path}
		for _, e := range r.Config.Endpoints {
			if slices.ContainsFunc(e.Servers, func(m config.Member) bool { return m.Name == s.Name }) {
				paths = append(paths, e.Path)
			}
		}
		if slices.ContainsFunc(paths, namesUser) {
			warnings = append(warnings, warningsOfServer(r, s)...)
		}
		if namesUser(s.Path) && s.Users == nil && !asksItself(r, s) {
			warnings = append(warnings, "server "+s.Name+anybody)
		}
	}
	for _, e := range r.Config.Endpoints {
		ask := func(m config.Member) bool { return !asksItself(r, m.Server) }
		if namesUser(e.Path) && e.Users == nil && slices.ContainsFunc(e.Servers, ask) {
			warnings = append(warnings, "endpoint "+e.Name+anybody)
		}
	}
	return warnings
}

// warningsOfExchange returns which servers have callers without a token to exchange.
func warningsOfExchange(cfg *config.Config) (warnings []string) {
	for _, s := range cfg.Servers {
		p, _ := cfg.Provider(s.Connection)
		if without := cfg.LetsInWithoutToken(s); p.Flow == config.FlowTokenExchange && len(without) > 0 {
			warnings = append(warnings, "server "+s.Name+": its calls need a caller with a token (`jwt`), and fail for "+
				"those that are let in by "+strings.Join(without, ", "))
		}
	}
	return warnings
}

const anybody = ": its path names the user, and a caller may be any user: add `users` to say whom a caller may be"

func namesUser(path string) bool {
	_, ok := door.NewUserPath(path)
	return ok && path != config.PathNone
}

// asksItself reports whether a server gets the client's own credentials, with which it can decide itself.
func asksItself(r *load.Loaded, s *config.Server) bool {
	asked := slices.Concat(sessionOf(r, s).Credentials, []string{"Authorization"})
	return slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(s.Forward, http.CanonicalHeaderKey(name)) })
}

func sessionOf(r *load.Loaded, s *config.Server) contract.SessionRule {
	if c, ok := r.Contracts.Get(s.Contract); ok {
		return c.Session
	}
	return contract.SessionRule{}
}

// warningsOfServer returns whose data a server gives that is not told the user, or whose URL says another.
func warningsOfServer(r *load.Loaded, s *config.Server) (warnings []string) {
	session := sessionOf(r, s)
	for _, path := range []string{session.Path, s.Path} {
		if user := s.FixedUser(path); user != "" {
			return []string{"server " + s.Name + ": its `url` names the user " + user +
				", whichever user the path names: write the placeholder of `path` there"}
		}
	}
	if s.UserPlace == "" && session.UserHeader == "" {
		warnings = append(warnings, "server "+s.Name+": nothing tells it the user that the path names, so that every user gets the same: "+
			"write the placeholder of `path` in `url` or `headers`")
	}
	return warnings
}
