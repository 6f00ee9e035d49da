package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

const (
	userAgent = "recourse"
	// maxRedirects limits the redirects of one request.
	maxRedirects = 5
)

// tracing are headers that are always forwarded.
var tracing = []string{"Traceparent", "Tracestate", "Baggage", wire.HeaderRequestID}

// call sends the request for a tool call, and returns the result.
func (c *Adapter) call(ctx context.Context, r *upstream.Request, t *openapi.Offer, arguments []byte) ([]byte, error) {
	request, err := t.Request(arguments)
	if err != nil {
		return nil, err
	}
	user, _, err := c.User.Of(r.Header)
	if err != nil {
		return nil, err
	}
	base, err := c.User.URL(strings.TrimSuffix(c.API.Base, "/"), user)
	var u *url.URL
	if err == nil {
		u, err = url.Parse(base.String() + request.Target)
	}
	if err != nil {
		return nil, recourse.New(recourse.KindInvalidValue, "The arguments do not make a valid URL.").
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	query := c.query(user)
	addQuery(u, query)
	first := &http.Request{Method: request.Method, URL: u, Header: c.header(r, t, request.Header, user)}
	resp, err := c.follow(ctx, t, first, request.Body, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return c.read(ctx, t, resp)
}

// header returns the headers of a request. Those in the entry take precedence.
func (c *Adapter) header(r *upstream.Request, t *openapi.Offer, own http.Header, user string) http.Header {
	header := own
	for _, name := range slices.Concat(tracing, c.Forward) {
		if values := r.Header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	header.Set("User-Agent", userAgent)
	if key := r.Header.Get(once.KeyHeader); t.Keyed && key != "" {
		header.Set(once.KeyHeader, key)
	}
	for name, value := range c.Headers {
		header.Set(name, c.User.Text(value, user))
	}
	return header
}

// query returns the entry's query parameters for a user.
func (c *Adapter) query(user string) map[string]string {
	if c.User.Place == "" {
		return c.Query
	}
	query := make(map[string]string, len(c.Query))
	for name, value := range c.Query {
		query[name] = c.User.Text(value, user)
	}
	return query
}

func addQuery(u *url.URL, query map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(name) + "=" + url.QueryEscape(query[name])
	}
}

// follow sends a request, and again if the provider redirects it on the same host. A request that writes is sent once:
// only 303 says that it has been carried out, and where its answer is. query are the entry's parameters in it.
func (c *Adapter) follow(
	ctx context.Context, t *openapi.Offer, r *http.Request, body []byte, query map[string]string,
) (*http.Response, error) {
	written := false
	for range maxRedirects + 1 {
		resp, err := upstream.Send(ctx, c.Name(), c.transport, r, body)
		switch {
		case err != nil && written:
			return nil, recourse.From(err).WithEffect(recourse.EffectUnknown)
		case err != nil:
			return nil, err
		case resp.StatusCode < http.StatusMultipleChoices:
			return resp, nil
		case resp.StatusCode >= http.StatusBadRequest && !written:
			return resp, nil
		}
		_ = resp.Body.Close() // the text of a redirect is for browsers
		if resp.StatusCode >= http.StatusBadRequest {
			why := fmt.Errorf("it took the request (HTTP 303), but refuses its answer (HTTP %d)", resp.StatusCode)
			return nil, c.badResponse(resp, why)
		}
		next, err := redirected(r, resp)
		if err == nil && next.Method == r.Method && !t.ReadOnly && !written {
			to := next.URL.EscapedPath()
			err = fmt.Errorf("status %d redirects to %s, and a request that writes is not sent again", resp.StatusCode, to)
		}
		if err != nil {
			return nil, c.badResponse(resp, err)
		}
		if next.Method != r.Method {
			body = nil
		}
		written = !t.ReadOnly
		addMissing(next.URL, query)
		r = next
	}
	return nil, recourse.BadResponse(c.Name()).WithOrigin(recourse.OriginProvider).
		WithMessage("%s keeps redirecting the request.", c.Name())
}

// addMissing adds the entry's query parameters to a redirect that omits them.
func addMissing(u *url.URL, query map[string]string) {
	if len(query) > 0 {
		rest := u.Query()
		for name := range query {
			rest.Del(name)
		}
		u.RawQuery = rest.Encode()
		addQuery(u, query)
	}
}

// redirected returns the request that a redirect demands (RFC 9110, section 15.4): only to the same host, and
// only if its meaning is certain.
func redirected(r *http.Request, resp *http.Response) (*http.Request, error) {
	to, err := resp.Location()
	if err == nil {
		to = r.URL.ResolveReference(to)
	}
	if err != nil {
		return nil, fmt.Errorf("status %d without a valid Location", resp.StatusCode)
	}
	if to.Scheme != r.URL.Scheme || to.Host != r.URL.Host || to.User != nil {
		return nil, fmt.Errorf("it redirects to %s://%s: only redirects on the same host are followed", to.Scheme, to.Host)
	}
	method := r.Method
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusSeeOther:
		if method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusMovedPermanently, http.StatusFound:
		if method == http.MethodPost { // some clients send it on as a POST, and some as a GET
			return nil, fmt.Errorf("status %d to a POST does not say with which method to go on", resp.StatusCode)
		}
	default:
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	header := r.Header.Clone()
	if method != r.Method {
		header.Del("Content-Type")
	}
	return &http.Request{Method: method, URL: to, Header: header}, nil
}

// badResponse is the failure for an answer that does not fit the request.
func (c *Adapter) badResponse(resp *http.Response, why error) *recourse.Error {
	return recourse.BadResponse(c.Name()).WithOrigin(recourse.OriginProvider).
		WithMessage("%s sent an answer that cannot be used: %s.", c.Name(), why).
		WithUpstream(recourse.Upstream{Status: resp.StatusCode, RequestID: requestID(resp.Header)}).
		CausedBy(errors.New(resp.Header.Get("Content-Type")))
}

func requestID(h http.Header) string {
	return cmp.Or(h.Get(wire.HeaderRequestID), h.Get("Request-Id"), h.Get("X-Correlation-ID"), h.Get("X-Amzn-Requestid"))
}
