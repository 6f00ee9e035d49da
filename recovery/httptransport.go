package recovery

import (
	"bytes"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// NewHTTPTransport returns a transport that repeats requests to an HTTP API by the retry rule of c, as a [Client] repeats
// calls. GET, HEAD and OPTIONS only read; PUT, DELETE and requests with an Idempotency-Key may be made twice; any other
// request is repeated only if it was not carried out. If all attempts fail, the last answer or error is returned unchanged.
// provider is the API's display name. Only the options for budget, time, randomness and reporting have an effect. base makes
// the requests; nil means http.DefaultTransport.
func NewHTTPTransport(base http.RoundTripper, provider string, c *contract.Contract, options ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &httpTransport{base: base, provider: provider, engine: newEngine(c, options)}
}

// wholeServer stands for the tool of a request, since there are as many paths as requests.
const wholeServer = ""

type httpTransport struct {
	base     http.RoundTripper
	provider string
	engine   *engine
}

// RoundTrip implements [http.RoundTripper].
func (t *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	report, _ := r.Context().Value(reportKey{}).(*Report)
	x := &errand{engine: t.engine, ctx: r.Context(), tool: r.Method + " " + r.URL.Path, report: report}
	x.ends = x.now().Add(x.options.timeLeft(r.Context()))
	nature := natureOfRequest(r)
	t.engine.options.server.budget.Call()
	var before *http.Response // the answer to the attempt before this one, and its error
	var failed error
	for {
		if e := x.admitted(wholeServer); e != nil {
			if x.attempt > 0 {
				return before, failed
			}
			return nil, x.given(e)
		}
		if before != nil {
			_ = before.Body.Close() // it was read
		}
		x.attempt++
		began := x.now()
		resp, err := t.base.RoundTrip(r)
		e := t.failure(resp, err)
		t.engine.options.server.learn(x.now(), wholeServer, outcomeOf(r, resp, err), e, x.since(began))
		x.note(Step{Action: ActionCall, Began: began, Took: x.since(began), Failure: e})
		if e == nil {
			return resp, nil
		}
		next, ok := again(r)
		if !ok || !x.again(Settle(t.engine.contract, e, nature), nature) {
			return resp, err
		}
		r, before, failed = next, resp, err
	}
}

// outcomeOf returns what an attempt says about the server.
func outcomeOf(r *http.Request, resp *http.Response, err error) health {
	switch {
	case err != nil && r.Context().Err() != nil:
		return untold
	case err != nil || isGatewayStatus(resp.StatusCode):
		return unreached
	}
	return answered
}

// failure returns an attempt's failure, nil for a success. The answer's body can still be read.
func (t *httpTransport) failure(resp *http.Response, err error) *recourse.Error {
	if err != nil {
		return recourse.From(err).WithProvider(t.provider)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPBody))
	rest := io.MultiReader(bytes.NewReader(head), resp.Body)
	if err != nil {
		rest = io.MultiReader(bytes.NewReader(head), brokenBody{err})
	}
	e := t.engine.contract.FromHTTP(t.provider, &http.Response{
		StatusCode: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(head)), Request: resp.Request,
	})
	resp.Body = struct {
		io.Reader
		io.Closer
	}{rest, resp.Body}
	return e
}

// A brokenBody is what follows a body that broke off.
type brokenBody struct{ err error }

// Read implements [io.Reader].
func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// again returns the request in a form that can be sent again.
func again(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	next := r.Clone(r.Context())
	next.Body = body
	return next, true
}

// natureOfRequest returns what a request does to the world (RFC 9110, sections 9.2.1 and 9.2.2).
func natureOfRequest(r *http.Request) retry.Nature {
	switch {
	case r.Method == http.MethodGet, r.Method == "", r.Method == http.MethodHead, r.Method == http.MethodOptions:
		return retry.Reads
	case r.Method == http.MethodPut, r.Method == http.MethodDelete, r.Header.Get("Idempotency-Key") != "":
		return retry.Idempotent
	default:
		return retry.Writes
	}
}
