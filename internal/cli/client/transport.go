package client

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
)

// liveTransport adds headers to requests, and reads failures of which the SDK's client only reports the
// status.
type liveTransport struct {
	host    string // the server's name in messages
	headers http.Header

	mu    sync.Mutex
	last  *recourse.Error // from the latest unsuccessful answer
	clock time.Duration   // by how much the server's is ahead, by its latest answer
}

// refused returns the failure in the latest unsuccessful answer; nil if there was none.
func (t *liveTransport) refused() *recourse.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// ahead returns by how much the server's clock is ahead of ours; 0 if it has not said what time it is.
func (t *liveTransport) ahead() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock
}

// tellTime notes what time it is at the server.
func (t *liveTransport) tellTime(header http.Header) {
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.clock = at.Sub(time.Now().Truncate(time.Second))
	}
}

func (t *liveTransport) keep(e *recourse.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = e
}

// openFailure returns the failure of a session that could not be opened. The SDK only keeps the text of
// some causes.
func (t *liveTransport) openFailure(err error) error {
	if recourse.From(err).Kind != recourse.KindInternal {
		return err
	}
	if refused := t.refused(); refused != nil {
		return refused
	}
	if text := err.Error(); strings.Contains(text, "failed to decode") || strings.Contains(text, "unsupported content type") {
		return recourse.BadResponse("The server").CausedBy(err).WithHint(checkPath)
	}
	return fmt.Errorf("connect to the server: %w", err)
}

// maxRefusal limits how much of a failed answer is read.
const maxRefusal = 64 << 10

// RoundTrip sends the request with the headers.
func (t *liveTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.headers)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, t.sendFailure(err)
	}
	t.tellTime(resp.Header)
	if resp.StatusCode < http.StatusBadRequest {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/event-stream" {
			t.keep(recourse.BadResponse("The server").WithHint(checkPath)) // the SDK may only say that it is closing
		}
		return resp, nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status counts even if reading fails
	e := liveReader().HTTP(resp.StatusCode, resp.Header, body).Error()
	if e == nil {
		e = recourse.FromStatus("the server", resp.StatusCode)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && e.Kind == recourse.KindInvalidRequest: // a gateway has no server there
		e = e.With(func(r *recourse.Error) { r.Kind, r.Code, r.Hints = recourse.KindNotFound, "", []string{checkPath} })
	case e.Kind.Class() == recourse.ClassResource, resp.StatusCode == http.StatusMethodNotAllowed:
		e = e.WithHint(checkPath)
	case bytes.Contains(body, []byte("HTTP request to an HTTPS server")), // from Go's net/http
		bytes.Contains(body, []byte("plain HTTP request was sent to HTTPS port")): // from nginx
		e = e.WithHint("the server speaks TLS: write https:// in the URL")
	}
	if resp.StatusCode == http.StatusUnauthorized && t.headers.Get("Authorization") == "" {
		e = e.WithHint("give credentials with --header 'Authorization: Bearer TOKEN', or in the form that the server expects")
	}
	if refuses(resp.StatusCode) {
		_ = resp.Body.Close() // it has been read
		return nil, e
	}
	t.keep(e)
	resp.Body = readAgain{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return resp, nil
}

// checkPath is the advice for an address where something other than an MCP server answers.
const checkPath = "check the path of the URL: the endpoint of an MCP server often ends in /mcp"

// sendFailure returns the failure of a request that got no answer.
func (t *liveTransport) sendFailure(err error) *recourse.Error {
	e := recourse.From(err)
	if hint := tlsHint(err); hint != "" {
		return recourse.Unreachable("The server").WithEffect(recourse.EffectNone).CausedBy(err).
			WithMessage("No secure connection to the server could be made.").WithHint(hint)
	}
	if e.Kind != recourse.KindInternal && e.Kind != recourse.KindUnreachable {
		return e
	}
	e = Unreachable(e, t.host)
	if e.Effect != recourse.EffectNone {
		e = e.WithHint("check the log of the server: a call may have been carried out")
	}
	return e
}

// tlsHint returns the advice for a TLS failure; "" for any other failure.
func tlsHint(err error) string {
	if failed, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not trusted here (" + strings.TrimPrefix(failed.Err.Error(), "x509: ") +
			"): the variable SSL_CERT_FILE names a file of those that are"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "the server speaks HTTP without TLS: write http:// in the URL"
	}
	return ""
}

// Unreachable returns the failure of a connection to host; it depends on whether the connection was
// ever made.
func Unreachable(e *recourse.Error, host string) *recourse.Error {
	said := recourse.Unreachable("The server").WithEffect(e.Effect).CausedBy(e)
	if e.Effect == recourse.EffectNone {
		return said.WithHint("check that a server runs at " + host)
	}
	return said.WithMessage("The server closed the connection without answering.")
}

// readAgain is a body whose beginning has been read, and is read again.
type readAgain struct {
	io.Reader
	io.Closer
}

// refuses reports whether an answer with that status ends a request. With other statuses, a server may
// be saying which era of MCP it speaks.
func refuses(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}
