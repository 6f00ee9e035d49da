package contract

import (
	"bytes"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// maxUpstreamBody bounds how much of an answer FromHTTP reads, in bytes.
const maxUpstreamBody = 64 << 10

// FromHTTP turns an HTTP answer with a status of 400 or more, of what the server
// itself calls, into an Error as [recourse.FromHTTP] does; it is nil for any other.
// What the contract says of such bodies (`upstream`) is taken from the body besides:
// a word of the other side that is one of the contract's codes, or is read as one,
// goes before the status. The body is read up to 64 KiB; closing it is left to the
// caller.
func (c *Contract) FromHTTP(provider string, resp *http.Response) *recourse.Error {
	if resp.StatusCode < http.StatusBadRequest || c.upstream == nil || resp.Body == nil {
		return recourse.FromHTTP(provider, resp)
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxUpstreamBody)) // a broken body says no more than the status
	again := *resp
	again.Body = io.NopCloser(bytes.NewReader(body))
	e := recourse.FromHTTP(provider, &again)
	var members map[string]json.Value
	if json.UnmarshalLenient(body, &members) == nil {
		c.readUpstream(e, members)
	}
	return e
}

// readUpstream adds to e, which the status has given, what the body says.
func (c *Contract) readUpstream(e *recourse.Error, members map[string]json.Value) {
	said := *e
	if c.upstream.places("upstream.code") { // then it stands nowhere else
		e.Upstream.Code = ""
	}
	d := newDraft()
	d.e = e
	c.upstream.read(members, d.base(), d)
	e.Message = cut(e.Message)
	e.RetryAfter = max(e.RetryAfter, said.RetryAfter) // each is a minimum
	if len(e.Upstream.Code) > maxCode {
		e.Upstream.Code = ""
	}
	if en, ok := c.byCode[e.Upstream.Code]; ok {
		e.Kind = en.kind
		for _, k := range en.set {
			k.path.set(d.base(), k.value)
		}
		if e.Kind != said.Kind && e.Message == said.Message {
			e.Message = "" // it was the status's
		}
	}
	if retryable, ok := d.said[e]; ok {
		sayRetryable(e, retryable)
	}
}
