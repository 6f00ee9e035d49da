package recovery

import (
	"bytes"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// NewHTTPTransport returns a transport that repeats requests to an HTTP API by the retry rule of c, as a [Client] does calls.
// GET, HEAD and OPTIONS only read, PUT, DELETE and requests with an Idempotency-Key may be made twice, and any other
// is repeated only where it was not carried out. What fails in the end is returned as it came: the last answer or error. provider
// is what the API is called towards people. Of the options, those count that concern budget, time, randomness and reporting.
// base makes the requests; nil means http.DefaultTransport.
func NewHTTPTransport(base http.RoundTripper, provider string, c *contract.Contract, options ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &httpTransport{base: base, provider: provider, engine: newEngine(c, options)}
}

// wholeServer stands for the tool of a request: there are as many as paths.
const wholeServer = ""

type httpTransport struct {
	base     http.RoundTripper
	provider string
	engine   *engine
}

// RoundTrip implements [http.RoundTripper].
func (t *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	report, _ := r.Context().Value(reportKey{}).(*Report)
	x := &exchange{engine: t.engine, ctx: r.Context(), tool: r.Method + " " + r.URL.Path, report: report}
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

// outcomeOf returns what an attempt tells of the server.
func outcomeOf(r *http.Request, resp *http.Response, err error) outcome {
	switch {
	case err != nil && r.Context().Err() != nil:
		return untold
	case err != nil || isGatewayStatus(resp.StatusCode):
		return unreached
	}
	return answered
}

// failure returns what an attempt has failed with, nil for a success. The body of the answer can still be read.
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

// A brokenBody is the rest of a body that broke off.
type brokenBody struct{ err error }

// Read implements [io.Reader].
func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// again returns the request as it can be made once more.
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
