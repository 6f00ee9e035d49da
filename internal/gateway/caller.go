package gateway

import (
	"slices"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A caller is who calls: determined when a call is let in, and once more for each server of an endpoint with several, since
// each is forwarded other headers. An account at a provider is added later; see [caller.withAccount]. Nothing is taken from
// unverified credentials.
type caller struct {
	user string // named by the path
	// verified is the caller that access control found, or zero if the endpoint has none.
	verified authn.Identity
	// id tells callers apart by what is forwarded to the server: their credentials, and the user. Callers of
	// whom nothing is forwarded share one id.
	id upstream.Caller
	// server tells the caller apart from others at the server. A program sees no credentials, but its clients
	// may have to be kept apart all the same; a wrapper's host needs no id, since there is only one.
	server upstream.Caller
	// owner is whose session it is. A verified caller remains the same with new credentials, such as a
	// refreshed token.
	owner upstream.Caller
}

// caller finds out who calls; who is the caller that access control found.
func (c *call) caller(who *authn.Identity) caller {
	var user, sent []string
	if c.req.user != "" {
		user = []string{"user", c.req.user}
	}
	verified := wordsOf(who)
	proved := false // only verified facts are forwarded
	for _, name := range c.on.forward {
		if slices.Contains(who.Headers, name) {
			proved = true
			continue
		}
		for _, value := range c.req.forwarded(name) {
			sent = append(sent, name, value)
		}
	}
	var room [8]string
	known := append(append(append(room[:0], verified...), sent...), user...)
	found := caller{user: c.req.user, verified: *who, owner: upstream.CallerOf(known...)}
	if found.id = found.owner; !proved {
		found.id = upstream.CallerOf(slices.Concat(sent, user)...)
	}
	if found.server = found.id; c.on.many != nil { // whose servers may tell callers apart
		found.server = found.owner
	}
	if len(c.to.Command) > 0 {
		if sent = verified; sent == nil {
			sent = c.req.http.Header["Authorization"]
		}
		if c.req.stdio {
			sent = append(slices.Clip(sent), "the host")
		}
		found.server = upstream.CallerOf(append(slices.Clip(sent), user...)...)
	}
	return found
}

// wordsOf returns what tells a verified caller from others, or nil if there is none.
func wordsOf(who *authn.Identity) []string {
	if !who.Known() {
		return nil
	}
	return []string{"verified", who.Access, who.Method, who.Name, who.Org}
}
