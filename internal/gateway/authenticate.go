package gateway

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// A caller is who calls, found out once.
type caller struct {
	user string // that the path names
	// id tells callers apart by the credentials that they send to the server, and by the
	// user. Callers of whom nothing goes on are one. Nothing is taken out of credentials
	// that nobody has verified.
	id credentials
	// program tells the clients of a program apart, which sees nothing of it. The host of a
	// wrapper needs no credentials: there is one.
	program []string
}

// credentials are those of a caller, hashed.
type credentials [sha256.Size]byte

// authenticate checks what the contract and the path ask of a request before anything in it
// is read: that the credentials are there, then that the user is, then that it can be one.
// Whether both are valid is the server's to say; see [call.at].
func authenticate(c *call, next next) error {
	asked := c.on.asked
	missing := slices.IndexFunc(asked, func(name string) bool { return c.req.http.Header.Get(name) == "" })
	switch user := c.req.user; {
	case missing >= 0:
		return refuseAt(contract.AtCredentialsMissing, http.StatusUnauthorized, recourse.Unauthenticated().
			WithMessage("The header %s is missing.", asked[missing]))
	case c.on.userParam != "" && user == "":
		return refuseAt(contract.AtUserMissing, http.StatusNotFound, recourse.Missing(c.on.userParam).
			WithMessage("The path lacks the %s.", c.on.userParam))
	case c.on.userParam != "" && !isUser(user):
		return refuseAt(contract.AtUserInvalid, http.StatusNotFound, recourse.New(recourse.KindNotFound, "").
			WithMessage("The %s in the path cannot be one.", c.on.userParam))
	}
	c.who = c.caller()
	return next(c)
}

// caller finds out who calls.
func (c *call) caller() caller {
	header, who := c.req.http.Header, caller{user: c.req.user}
	if len(c.on.forward) > 0 || who.user != "" {
		sum := sha256.New()
		_, _ = sum.Write([]byte(who.user + "\x00")) // never fails
		for _, name := range c.on.forward {
			for _, value := range header[name] {
				_, _ = sum.Write([]byte(name + "\x00" + value + "\x00")) // never fails
			}
		}
		who.id = credentials(sum.Sum(nil))
	}
	if len(c.to.Command) == 0 {
		return who
	}
	who.program = header["Authorization"]
	if c.req.stdio {
		who.program = append(slices.Clip(who.program), "the host")
	}
	if who.user != "" {
		who.program = append(slices.Clip(who.program), "user "+who.user)
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
