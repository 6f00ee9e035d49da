package gateway

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A caller is who calls, found out once. Nothing is taken out of credentials that nobody has
// verified.
type caller struct {
	user string // that the path names
	// verified is the caller as access control found it: zero if the endpoint has none.
	verified auth.Identity
	// id tells callers apart by the credentials that they send to the server, and by the
	// user. Callers of whom nothing goes on are one.
	id upstream.Caller
	// server is the caller as the server is to tell it from others. A program sees no credentials, but its
	// clients may have to be kept apart all the same; the host of a wrapper needs none,
	// since there is one.
	server upstream.Caller
}

// authenticate checks what the contract and the path ask of a request before anything in it
// is read: that the credentials are there, then that the user is, then that it can be one.
// Whether both are valid is the server's to say; see [call.at].
func authenticate(c *call, next next) error {
	missing := door.Missing(c.req.http.Header, c.on.asked)
	switch user := c.req.user; {
	case missing != "":
		return refuseAt(contract.AtCredentialsMissing, recourse.Unauthenticated().
			WithMessage("The header %s is missing.", missing))
	case c.on.userParam != "" && user == "":
		return refuseAt(contract.AtUserMissing, recourse.Missing(c.on.userParam).
			WithMessage("The path lacks the %s.", c.on.userParam))
	case c.on.userParam != "" && !isUser(user):
		return refuseAt(contract.AtUserInvalid, recourse.New(recourse.KindNotFound, "").
			WithMessage("The %s in the path cannot be one.", c.on.userParam))
	}
	c.who = c.caller()
	return next(c)
}

// caller finds out who calls.
func (c *call) caller() caller {
	var user, sent []string
	if c.req.user != "" {
		user = []string{"user", c.req.user}
	}
	for _, name := range c.on.forward {
		for _, value := range c.forwarded(name) {
			sent = append(sent, name, value)
		}
	}
	who := caller{user: c.req.user, id: upstream.CallerOf(append(sent, user...)...)}
	if who.server = who.id; len(c.to.Command) > 0 {
		sent = c.req.http.Header["Authorization"]
		if c.req.stdio {
			sent = append(slices.Clip(sent), "the host")
		}
		who.server = upstream.CallerOf(append(slices.Clip(sent), user...)...)
	}
	return who
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
