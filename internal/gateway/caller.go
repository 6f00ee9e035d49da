package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A userPath is the path of a server with a place for the user in it.
type userPath struct {
	before, after string // what stands around it, slashes included
	param         string // what the path calls it
	server        *server
}

// userPathOf takes a path of the configuration apart; ok is false where it has no
// place for a user.
func userPathOf(path string) (p userPath, ok bool) {
	p.before, path, ok = strings.Cut(path, "{")
	p.param, p.after, _ = strings.Cut(path, "}")
	return p, ok
}

// match returns the user in an escaped path, which is "" where there is nothing in
// its place.
func (p *userPath) match(path string) (user string, ok bool) {
	if path == strings.TrimSuffix(p.before, "/")+p.after {
		return "", true
	}
	if user, ok = strings.CutPrefix(path, p.before); !ok {
		return "", false
	}
	user, ok = strings.CutSuffix(user, p.after)
	if !ok || strings.Contains(user, "/") {
		return "", false
	}
	if plain, err := url.PathUnescape(user); err == nil {
		user = plain
	}
	return user, true
}

// find returns the server at the path of a URL, and the user that the path names. One
// that begins like the path of a server and goes on otherwise is the server's, too:
// the user in it is not one, which the server's contract has words for.
func (t *table) find(u *url.URL) (s *server, user string, ok bool) {
	escaped := u.EscapedPath()
	plain := !strings.Contains(u.Path, "{") && !strings.Contains(strings.ToLower(escaped), "%2f") // which divides nothing
	if s, ok = t.servers[u.Path]; ok && plain {
		return s, "", true
	}
	for i := range t.userPaths {
		if user, ok = t.userPaths[i].match(escaped); ok {
			return t.userPaths[i].server, user, true
		}
	}
	for i := range t.userPaths {
		if user, ok = strings.CutPrefix(escaped, t.userPaths[i].before); ok {
			return t.userPaths[i].server, user + "/", true
		}
	}
	return nil, "", false
}

// admitCaller checks what the contract and the path ask of a request before anything
// in it is read: that the credentials are there, then that the user is, then that it
// can be one. Whether both are valid is the server's to say; see [exchange.at]. It
// reports false when it has answered.
func (x *exchange) admitCaller() bool {
	path, forUsers := userPathOf(x.s.Path)
	missing := slices.IndexFunc(x.s.contract.Session.Credentials, func(name string) bool { return x.r.Header.Get(name) == "" })
	switch {
	case x.s.observes():
	case missing >= 0:
		x.refuseAt(contract.AtCredentialsMissing, http.StatusUnauthorized, recourse.Unauthenticated().
			WithMessage("The header %s is missing.", x.s.contract.Session.Credentials[missing]))
		return false
	case forUsers && x.user == "":
		x.refuseAt(contract.AtUserMissing, http.StatusNotFound, recourse.Missing(path.param).
			WithMessage("The path lacks the %s.", path.param))
		return false
	case forUsers && !isUser(x.user):
		x.refuseAt(contract.AtUserInvalid, http.StatusNotFound, recourse.New(recourse.KindNotFound, "").
			WithMessage("The %s in the path cannot be one.", path.param))
		return false
	}
	return true
}

// isUser reports whether a segment of a path can be the id of a user, and the value
// of a header.
func isUser(s string) bool {
	const most = 128
	return len(s) <= most && s != "." && s != ".." && strings.IndexFunc(s, func(r rune) bool {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("-_.~:@|+=", r)
	}) < 0
}

// addUser tells the server whose request it is, in the header that the contract
// names. One of the client's own does not go on.
func (x *exchange) addUser(header http.Header) {
	name := x.s.contract.Session.UserHeader
	if name == "" {
		return
	}
	header.Del(name)
	if x.user != "" {
		header.Set(name, x.user)
	}
}

// at returns where the call stood when it failed.
func (x *exchange) at(e *recourse.Error) contract.At {
	switch status := e.Upstream.Status; {
	case x.attempts == 0:
		return contract.AtArguments
	case x.answered && x.isCall():
		return contract.AtTool
	case status == http.StatusUnauthorized && x.s.forwardsCredentials():
		return contract.AtCredentialsInvalid
	case status == http.StatusForbidden && x.s.forwardsCredentials() && x.user != "":
		return contract.AtUserInvalid
	case errors.Is(e.Cause(), errOwnCredentials), errors.Is(e.Cause(), upstream.ErrNotStarted):
		return contract.AtUpstreamMisconfigured
	case !x.isCall():
		return contract.AtSession
	default:
		return contract.AtUpstream
	}
}

// forwardsCredentials reports whether the credentials that the contract asks clients
// for go on to the server, which then is the one that knows whether they are valid.
func (s *server) forwardsCredentials() bool {
	asked := s.contract.Session.Credentials
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(name string) bool {
		return !s.forwards(http.CanonicalHeaderKey(name))
	})
}
