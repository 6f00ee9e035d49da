package mcptool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
	"github.com/recoursehq/recourse/retry"
)

const (
	// maxErrorBody bounds how much of a failed answer is read, in bytes.
	maxErrorBody = 64 << 10
	// maxInspected bounds the answers that are examined for a failure although their
	// status says success.
	maxInspected = 1 << 20
)

// Transport returns a RoundTripper that turns every failure of base into an Error, for
// the http.Client with which a tool calls provider (a display name). A nil base means
// http.DefaultTransport. The error that the client returns wraps a *recourse.Error
// (errors.As, recourse.From), which the tool can return as it is:
//
//   - an answer with a status of 400 or more, as recourse.FromHTTP reads it: kind by
//     status and error code, wait by Retry-After or the reset headers;
//   - no answer: unreachable or timeout;
//   - an answer that breaks off while its body is read.
//
// The effect follows from the request: it is none for GET, HEAD, OPTIONS and TRACE, none
// where nothing was sent or the request was refused, else unknown. Up to 512 bytes of a
// failed answer's body are in the private cause.
//
// Bound the time of a request with its context: http.Client.Timeout replaces the error
// with a text. The RoundTripper is safe for concurrent use.
func Transport(base http.RoundTripper, provider string, options ...TransportOption) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &serverTransport{base: base, provider: provider}
	for _, o := range options {
		o(t)
	}
	return t
}

// TransportOption changes how a Transport reads answers.
type TransportOption func(t *serverTransport)

// WithUpstream reads answers as c describes the provider's error bodies, for example
// where the error code is; a code listed in the contract takes precedence over the
// status. The default is [recourse.FromHTTP].
func WithUpstream(c *contract.Contract) TransportOption {
	return func(t *serverTransport) { t.contract = c }
}

// WithErrorCode says that the provider's own error code, a string or a number, is at
// pointer (RFC 6901) in the JSON body of a failure, whatever its Content-Type. kinds maps
// codes to kinds and may be nil; for other codes, the status decides.
func WithErrorCode(pointer string, kinds map[string]recourse.Kind) TransportOption {
	return func(t *serverTransport) { t.code, t.kinds = json.Pointer(pointer), kinds }
}

// WithFailure says that an answer with a status below 400 is a failure if the value at
// pointer (RFC 6901) in its JSON body is one of values, such as false or "error"; without
// values, if it is anything but null, false, "" and 0. Its kind is that of its error
// code, or else unknown. Answers of more than 1 MiB are not examined.
func WithFailure(pointer string, values ...any) TransportOption {
	return func(t *serverTransport) {
		sign := failureSign{at: json.Pointer(pointer), any: len(values) == 0}
		for _, v := range values {
			if raw, err := json.Marshal(v); err == nil { // what has no JSON form is in no body
				sign.values = append(sign.values, string(raw))
			}
		}
		t.signs = append(t.signs, sign)
	}
}

// WithMediaType says that an answer with a body and a status below 400 is a bad response
// if its Content-Type is none of types: a proxy's page where JSON was expected. The
// suffix +json counts as application/json. By default every type is accepted.
func WithMediaType(types ...string) TransportOption {
	return func(t *serverTransport) { t.mediaTypes = types }
}

type serverTransport struct {
	base       http.RoundTripper
	provider   string
	contract   *contract.Contract // nil: the statuses alone
	code       json.Pointer
	kinds      map[string]recourse.Kind
	signs      []failureSign
	mediaTypes []string
}

var _ http.RoundTripper = (*serverTransport)(nil)

// A failureSign marks a failure in an answer that says it succeeded.
type failureSign struct {
	at     json.Pointer
	any    bool
	values []string // JSON texts
}

// RoundTrip sends the request.
func (t *serverTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &roundTrip{t: t, nature: natureOf(req.Method)}
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), x.trace())))
	if err != nil {
		return nil, x.broken(err)
	}
	if e := x.read(resp); e != nil {
		_ = resp.Body.Close() // what it says is known
		return nil, e
	}
	if x.nature != retry.Reads {
		handler.Wrote(req.Context())
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body is a connection
		resp.Body = &watchedBody{ReadCloser: resp.Body, x: x}
	}
	return resp, nil
}

// CloseIdleConnections closes the connections of base that are not in use, for
// http.Client.CloseIdleConnections.
func (t *serverTransport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// natureOf returns what a method does to the world (RFC 9110, section 9.2).
func natureOf(method string) retry.Nature {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return retry.Reads
	case http.MethodPut, http.MethodDelete:
		return retry.Idempotent
	default:
		return retry.Writes
	}
}

// A roundTrip is one request and its answer.
type roundTrip struct {
	t      *serverTransport
	nature retry.Nature
	asked  atomic.Bool // base tells how far it comes
	sent   atomic.Bool // at least the headers
}

func (x *roundTrip) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:      func(string) { x.asked.Store(true) },
		WroteHeaders: func() { x.sent.Store(true) },
	}
}

// broken returns the failure of a request without an answer.
func (x *roundTrip) broken(err error) *recourse.Error {
	e := recourse.From(err)
	if e.Kind == recourse.KindInternal { // whatever it was, no answer came
		e = recourse.Unreachable("").CausedBy(err)
	}
	if e.Provider == "" && e.Kind != recourse.KindCancelled {
		e = x.named(e)
	}
	if x.asked.Load() && !x.sent.Load() {
		e = e.WithEffect(recourse.EffectNone)
	}
	return x.settle(e)
}

// named returns e with a message that names the provider.
func (x *roundTrip) named(e *recourse.Error) *recourse.Error {
	named := recourse.Unreachable(x.t.provider)
	if e.Kind == recourse.KindTimeout {
		named = recourse.Timeout(x.t.provider, 0)
	}
	return named.WithEffect(e.Effect).CausedBy(e.Cause())
}

// settle completes a failure with what is known about the request.
func (x *roundTrip) settle(e *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		c.Effect = retry.Effect(e, x.nature)
		if c.Origin == "" {
			c.Origin = recourse.OriginProvider
		}
	})
}

// read returns the failure in an answer, or nil. The body of a success can still be read
// in full.
func (x *roundTrip) read(resp *http.Response) *recourse.Error {
	if resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // if reading fails, the status still counts
		return x.settle(x.t.failure(resp, text))
	}
	if !hasBody(resp) {
		return nil
	}
	if !x.t.expects(resp.Header.Get("Content-Type")) {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // for the log
		return x.settle(recourse.BadResponse(x.t.provider).WithOrigin(recourse.OriginProvider).
			WithUpstream(recourse.Upstream{RequestID: resp.Header.Get("X-Request-Id")}).CausedBy(fmt.Errorf("HTTP %d, Content-Type %q: %s",
			resp.StatusCode, excerpt(resp.Header.Get("Content-Type")), excerpt(string(text)))))
	}
	if len(x.t.signs) == 0 || resp.ContentLength > maxInspected {
		return nil
	}
	text, isWhole := peek(resp)
	if !isWhole || !x.t.isFailure(text) {
		return nil
	}
	return x.settle(x.t.failureInSuccess(resp, text))
}

// peek reads the body of an answer so that it can be read again, and reports whether
// that was all of it.
func peek(resp *http.Response) (text []byte, isWhole bool) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxInspected+1))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = errorReader{err}
	}
	resp.Body = &replayed{Reader: io.MultiReader(bytes.NewReader(text), rest), Closer: resp.Body}
	return text, err == nil && len(text) <= maxInspected
}

func hasBody(resp *http.Response) bool {
	return resp.Body != nil && resp.Body != http.NoBody && resp.ContentLength != 0 &&
		resp.StatusCode >= http.StatusOK && resp.StatusCode != http.StatusNoContent && resp.StatusCode < http.StatusMultipleChoices
}

// failure returns the failure of an answer with a status of 400 or more.
func (t *serverTransport) failure(resp *http.Response, text []byte) *recourse.Error {
	again := *resp
	again.Body = io.NopCloser(bytes.NewReader(text))
	if t.contract != nil {
		return t.coded(t.contract.FromHTTP(t.provider, &again), text)
	}
	return t.coded(recourse.FromHTTP(t.provider, &again), text)
}

// failureInSuccess returns the failure in an answer with a successful status.
func (t *serverTransport) failureInSuccess(resp *http.Response, text []byte) *recourse.Error {
	again := *resp
	again.StatusCode = http.StatusInternalServerError
	e := t.failure(&again, text)
	if e.Kind == recourse.KindServerError { // that only comes from the status set above
		e = recourse.New(recourse.KindUnknown, t.provider+" answered that it failed.").WithProvider(t.provider).
			WithOrigin(recourse.OriginProvider).WithUpstream(e.Upstream).WithRetryAfter(e.RetryAfter).CausedBy(e.Cause())
	}
	e = e.With(func(c *recourse.Error) { c.Upstream.Status = 0 }) // the status of a success does not describe a failure
	return e.CausedBy(fmt.Errorf("HTTP %d with a failure in its body: %s", resp.StatusCode, excerpt(string(text))))
}

// coded adds the provider's error code to e, and the code's kind if it is listed.
func (t *serverTransport) coded(e *recourse.Error, text []byte) *recourse.Error {
	code := t.codeIn(text)
	if code == "" {
		return e
	}
	kind, listed := t.kinds[code]
	return e.With(func(c *recourse.Error) {
		c.Upstream.Code = code
		if listed && kind != c.Kind {
			c.Kind, c.Message = kind, ""
		}
	})
}

// codeIn returns the error code in a body.
func (t *serverTransport) codeIn(text []byte) string {
	if t.code == "" {
		return ""
	}
	raw := json.Lookup(text, t.code)
	switch raw.Kind() {
	case '"':
		var code string
		if json.Unmarshal(raw, &code) == nil && len(code) <= maxCode && !strings.ContainsAny(code, " \t\r\n") {
			return code
		}
	case '0':
		if len(raw) <= maxCode {
			return string(raw)
		}
	default:
	}
	return ""
}

// maxCode bounds an error code, in bytes.
const maxCode = 128

// expects reports whether an answer may have that Content-Type.
func (t *serverTransport) expects(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return t.mediaTypes == nil || err == nil && slices.ContainsFunc(t.mediaTypes, func(want string) bool {
		return strings.EqualFold(media, want) || want == "application/json" && strings.HasSuffix(media, "+json")
	})
}

// isFailure reports whether a body says that it is a failure.
func (t *serverTransport) isFailure(text []byte) bool {
	return slices.ContainsFunc(t.signs, func(sign failureSign) bool {
		raw := string(json.Lookup(text, sign.at))
		if sign.any {
			return raw != "" && !slices.Contains([]string{"null", "false", `""`, "0"}, raw)
		}
		return slices.Contains(sign.values, raw)
	})
}

// excerpt bounds what goes into the log.
func excerpt(s string) string {
	const most = 512
	return s[:min(len(s), most)]
}

// A watchedBody is an answer's body: if it breaks off, the request has failed.
type watchedBody struct {
	io.ReadCloser

	x *roundTrip
}

// Read reads the next piece.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, http.ErrBodyReadAfterClose) {
		return n, err
	}
	return n, b.x.broken(err)
}

// replayed is a body whose beginning has been read.
type replayed struct {
	io.Reader
	io.Closer
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
