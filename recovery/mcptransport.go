package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
)

// maxHTTPBody bounds how much of a failed HTTP answer is read, in bytes.
const maxHTTPBody = 64 << 10

// maxAnswer bounds how much of an answer is read in advance, in bytes.
const maxAnswer = 4 << 20

// NewMCPTransport returns a transport for the http.Client of an SDK's MCP client. It hands a failed HTTP answer to the
// [Client] whose call it answers, which reads it by its contract. To the SDK it becomes a JSON-RPC error with the failure,
// as the built-in contracts read it, as its data: SDKs pass that on, and keep their session. The same goes for an answer
// that breaks off. A lost session (404) and an authentication challenge (WWW-Authenticate) are passed on unchanged, since
// SDKs act on them. base makes the requests; nil means http.DefaultTransport.
func NewMCPTransport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &mcpTransport{base: base, reader: contract.Reader{Contracts: contract.Builtin().All(), Trusted: true}}
}

type mcpTransport struct {
	base   http.RoundTripper
	reader contract.Reader
}

type httpAnswerKey struct{}

// An httpAnswer is where the transport leaves an HTTP answer for the call that its context belongs to, since some SDKs lose
// the data of errors.
type httpAnswer struct{ said atomic.Pointer[httpFailure] }

type httpFailure struct {
	status int
	header http.Header
	body   []byte
}

func (a *httpAnswer) get() *httpFailure { return a.said.Load() }

// RoundTrip implements [http.RoundTripper].
func (t *mcpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	id := requestID(r)
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusBadRequest {
		return t.whole(r, id, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPBody))
	_ = resp.Body.Close() // what is left of it is not wanted
	if err != nil {
		body = nil
	}
	if said, ok := r.Context().Value(httpAnswerKey{}).(*httpAnswer); ok && id != nil {
		said.said.Store(&httpFailure{status: resp.StatusCode, header: resp.Header, body: body})
	}
	lost := resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != ""
	if id == nil || lost || resp.Header.Get("WWW-Authenticate") != "" || isRPCAnswer(body) {
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.ContentLength = int64(len(body))
		return resp, nil
	}
	e := t.reader.HTTP(resp.StatusCode, resp.Header, body).Error()
	if e == nil {
		e = recourse.FromStatus("", resp.StatusCode)
	}
	return answerWith(r, id, e)
}

// whole turns an answer that breaks off into a failure, since an SDK would end its session over it. JSON is read in advance,
// and events one by one.
func (t *mcpTransport) whole(r *http.Request, id json.RawMessage, resp *http.Response) (*http.Response, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil, id == nil:
		return resp, nil
	case kind == "text/event-stream":
		resp.Body = newWholeEvents(r.Context(), id, resp.Body)
		return resp, nil
	case kind != "application/json":
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if len(body) == maxAnswer { // the SDK reads on
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return resp, nil
	}
	_ = resp.Body.Close() // it was read
	switch {
	case r.Context().Err() != nil:
		return nil, context.Cause(r.Context())
	case err != nil:
		return answerWith(r, id, recourse.From(err))
	case !json.Valid(body):
		return answerWith(r, id, recourse.BadResponse("").WithOrigin(recourse.OriginServer))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// requestID returns the id of the JSON-RPC request in r; nil if there is none, or if the body cannot be read twice.
func requestID(r *http.Request) json.RawMessage {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil || lookup(raw, "/method") == nil {
		return nil
	}
	return lookup(raw, "/id")
}

func isRPCAnswer(body []byte) bool {
	return internaljson.Lookup(body, "/error/code").Kind() == '0' && internaljson.Lookup(body, "/jsonrpc") != nil
}

// answerWith returns the answer to a request that failed with e.
func answerWith(r *http.Request, id json.RawMessage, e *recourse.Error) (*http.Response, error) {
	body, err := errorMessage(id, e)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body))),
		ContentLength: int64(len(body)), Request: r,
	}, nil
}

// errorMessage returns the JSON-RPC message that says that the request with that id failed with e. An effect that e does not
// state is unknown: a record that only says that the same call may succeed would also say that repeating is safe.
func errorMessage(id json.RawMessage, e *recourse.Error) ([]byte, error) {
	if e.Effect == "" {
		e = e.WithEffect(recourse.EffectUnknown)
	}
	data, err := e.MarshalJSON()
	if err != nil {
		return nil, err
	}
	const internalError = -32603
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{
		"code": internalError, "message": e.Sentence(), "data": json.RawMessage(data),
	}})
	if err != nil {
		return nil, fmt.Errorf("recovery: write the failure: %w", err)
	}
	return message, nil
}
