package gateway

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
)

// bodyTimeout bounds how long a client may take to send its message.
const bodyTimeout = 60 * time.Second

// admit decides whether the request comes to a server at all: its path, its Host and Origin,
// its method.
func admit(c *call, next next) error {
	c.hurry(c.out.began.Add(bodyTimeout))
	if !c.enter() {
		if done, err := c.describe(); done {
			return err
		}
		return refuse(http.StatusNotFound, recourse.New(recourse.KindInvalidRequest, "There is no MCP server at this path. Check the URL."))
	}
	host, origin := c.req.http.Host, c.req.http.Header.Get("Origin")
	if !c.table.answersTo(host) {
		return refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin,
			"This Host is not allowed. Add it to `hosts` in the gateway's configuration."))
	}
	if origin != "" {
		if !c.table.origins[strings.ToLower(origin)] && !sameHost(origin, host) {
			return refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin,
				"This Origin is not allowed. Add it to `origins` in the gateway's configuration."))
		}
		c.expose(origin)
	}
	switch c.req.http.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return next(c)
	case http.MethodOptions:
		if origin != "" && c.req.http.Header.Get("Access-Control-Request-Method") != "" {
			c.preflight()
			return nil
		}
	}
	c.reply.header()["Allow"] = allowed
	return refuse(http.StatusMethodNotAllowed, recourse.New(recourse.KindInvalidRequest, "An MCP endpoint accepts POST, GET and DELETE."))
}

var allowed = []string{"GET, POST, DELETE"}

// answersTo reports whether the gateway is called that.
func (t *table) answersTo(host string) bool {
	return t.hosts[hostName(host)] || t.hosts[strings.ToLower(host)]
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// expose lets a page of another origin read the answer (Fetch standard, CORS).
func (c *call) expose(origin string) {
	h := c.reply.header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate, "+
		"RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset")
}

// preflight answers what browsers ask before they call.
func (c *call) preflight() {
	h := c.reply.header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if headers := c.req.http.Header.Get("Access-Control-Request-Headers"); headers != "" {
		h.Set("Access-Control-Allow-Headers", headers)
	}
	h.Set("Access-Control-Max-Age", "600")
	c.reply.empty()
}

// sameHost reports whether an origin is that of the gateway itself, whose Host has
// been found to be one of its own.
func sameHost(origin, host string) bool {
	_, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(authority, host)
}
