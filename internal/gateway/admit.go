package gateway

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// bodyTimeout limits how long a client may take to send its message.
const bodyTimeout = 60 * time.Second

// admit decides whether the request is for a server at all, by its path, its Host and Origin, and its method.
func admit(c *call, next next) *failure {
	c.req.intake.Within(c.out.Began.Add(bodyTimeout))
	known := c.enter()
	if !known && !strings.HasPrefix(c.req.from.URL.EscapedPath(), access.MetadataPath) {
		return noServer()
	}
	host, origin := c.req.from.Host, c.req.header.Get("Origin")
	if !c.table.answersTo(host) { // answers may repeat it, metadata above all
		return answer.Refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin,
			"This Host is not allowed. Add it to `hosts` in the gateway's configuration."))
	}
	if !known {
		if done, f := c.table.describe(&c.req, &c.reply); done {
			return f
		}
		return noServer()
	}
	if origin != "" {
		if !c.table.origins[strings.ToLower(origin)] && !sameHost(origin, host) {
			return answer.Refuse(http.StatusForbidden, recourse.New(recourse.KindRefusedOrigin,
				"This Origin is not allowed. Add it to `origins` in the gateway's configuration."))
		}
		expose(c.reply.Header(), origin)
	}
	switch c.req.method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return next(c)
	case http.MethodOptions:
		if origin != "" && c.req.header.Get("Access-Control-Request-Method") != "" {
			preflight(c.reply.Header(), c.req.header.Get("Access-Control-Request-Headers"))
			c.reply.Empty()
			return nil
		}
	}
	c.reply.Header()["Allow"] = []string{"GET, POST, DELETE"}
	return answer.Refuse(http.StatusMethodNotAllowed,
		recourse.New(recourse.KindInvalidRequest, "An MCP endpoint accepts POST, GET and DELETE."))
}

func noServer() *failure {
	return answer.Refuse(http.StatusNotFound,
		recourse.New(recourse.KindInvalidRequest, "There is no MCP server at this path. Check the URL."))
}

// answersTo reports whether the gateway goes by that host name.
func (t *table) answersTo(host string) bool {
	host = strings.ToLower(host)
	if t.hosts[host] {
		return true
	}
	name := host
	if before, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 32); err == nil {
			name = before
		}
	}
	return t.hosts[strings.Trim(name, "[]")]
}

// expose lets a page of another origin read the answer (Fetch standard, CORS).
func expose(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate, "+
		"RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset")
}

// preflight writes the answer to the request that browsers send before a call with those headers.
func preflight(h http.Header, headers string) {
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if headers != "" {
		h.Set("Access-Control-Allow-Headers", headers)
	}
	h.Set("Access-Control-Max-Age", "600")
}

// describe answers a request for an endpoint's metadata as a protected resource (RFC 9728). Without a path, this is the only endpoint
// with metadata. It reports false if the request is for something else.
func (t *table) describe(r *request, reply *answer.Reply) (done bool, f *failure) {
	path, ok := strings.CutPrefix(r.from.URL.EscapedPath(), access.MetadataPath)
	if !ok || path != "" && path[0] != '/' {
		return false, nil
	}
	r.from.Body = http.NoBody
	on := t.described(path)
	if on == nil {
		return false, nil
	}
	if path == "" || path == "/" {
		path = on.entry.Path
	}
	h := reply.Header()
	h.Set("Access-Control-Allow-Origin", "*") // they are public
	switch r.method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "*")
		reply.Empty()
		return true, nil
	default:
		h["Allow"] = []string{"GET, OPTIONS"}
		return true, answer.Refuse(http.StatusMethodNotAllowed,
			recourse.New(recourse.KindInvalidRequest, "The metadata of a protected resource take GET."))
	}
	text, err := on.access.Metadata(r.base()+path, on.entry.Title, on.entry.Grants)
	if err != nil {
		return true, answer.Settled(recourse.From(err))
	}
	h["Content-Type"] = []string{wire.TypeJSON}
	h["Cache-Control"] = []string{"max-age=300"}
	reply.Send(http.StatusOK, text)
	return true, nil
}

// described returns the endpoint at a path whose tokens have an issuer, or nil.
func (t *table) described(path string) (found *endpoint) {
	if path != "" && path != "/" {
		plain, err := url.PathUnescape(path)
		on, _, ok := t.find(&url.URL{Path: plain, RawPath: path})
		if err != nil || !ok || !on.access.HasIssuer() {
			return nil
		}
		return on
	}
	for _, on := range t.endpoints {
		if on.access.HasIssuer() {
			if found != nil {
				return nil
			}
			found = on
		}
	}
	return found
}

// sameHost reports whether an origin is the gateway itself, whose Host has already been checked.
func sameHost(origin, host string) bool {
	_, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(authority, host)
}
