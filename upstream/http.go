// Package upstream sends messages to MCP servers. What comes back is the raw
// answer, or an Error that tells whether the message can have been carried out.
package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// HTTP is an MCP server over Streamable HTTP. It follows no redirects and repeats
// nothing. It is safe for concurrent use.
type HTTP struct {
	url       *url.URL
	name      string
	header    http.Header
	transport *http.Transport
}

const (
	// dialTimeout bounds the making of a connection, so that an address that
	// swallows packets is told from a server that is slow.
	dialTimeout = 5 * time.Second
	// idleConnections bounds the connections that are kept for later calls.
	idleConnections = 512
	idleTimeout     = 60 * time.Second
	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
)

// NewHTTP returns the server at endpoint, which people call name. The headers go
// with every message. Close it when it is not needed any more.
func NewHTTP(name, endpoint string, headers map[string]string) (*HTTP, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("url of server %s: %w", name, err)
	}
	h := &HTTP{url: u, name: name, header: http.Header{}}
	for key, value := range headers {
		h.header.Set(key, value)
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	h.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // answers are looked into, and passed on as they are
	}
	return h, nil
}

// Close ends the connections that are idle.
func (h *HTTP) Close() { h.transport.CloseIdleConnections() }

// Name returns what people call the server.
func (h *HTTP) Name() string { return h.name }

// Send sends a request and returns the answer, whatever its status; closing its
// body is left to the caller. The headers are sent beside the server's own, which
// win.
//
// The error is an [*recourse.Error] of origin gateway: cancelled or timeout when
// ctx ended, else unreachable. It states recourse.EffectNone when no connection
// was made, and no effect when the message may have arrived.
func (h *HTTP) Send(ctx context.Context, method string, header http.Header, body *Body) (*http.Response, error) {
	maps.Copy(header, h.header)
	r := (&http.Request{
		Method: method, URL: h.url, Host: h.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		r.ContentLength = int64(len(body.text))
		r.Body = body.open()
		// The transport repeats a request on a fresh connection only when nothing of
		// it was written to the stale one.
		r.GetBody = func() (io.ReadCloser, error) { return body.open(), nil }
	}
	resp, err := h.transport.RoundTrip(r)
	if err != nil {
		return nil, h.Broken(ctx, err)
	}
	return resp, nil
}

// Broken turns an error of the transport, while sending or while reading the
// answer, into the Error that it means.
func (h *HTTP) Broken(ctx context.Context, err error) *recourse.Error {
	e := recourse.From(err)
	if cause := context.Cause(ctx); cause != nil {
		if own, ok := errors.AsType[*recourse.Error](cause); ok {
			e = own
		} else {
			e = recourse.From(cause)
		}
	}
	switch {
	case e.Kind == recourse.KindCancelled, e.Kind == recourse.KindTimeout && e.Message != "" && e.Provider != "":
	case e.Kind == recourse.KindTimeout:
		e = recourse.Timeout(h.name, 0)
	case e.Effect == recourse.EffectNone:
		e = recourse.Unreachable(h.name).WithEffect(recourse.EffectNone)
	default:
		e = recourse.Unreachable(h.name).WithMessage("The connection to %s broke before the answer was complete.", h.name)
	}
	return e.WithOrigin(recourse.OriginGateway).WithProvider(h.name).CausedBy(err)
}

// Answer is the answer to a request, as a whole.
type Answer struct {
	Status int
	Header http.Header
	Result []byte // the member result
	Error  []byte // the member error
	Body   []byte // with a status other than 200, in place of the two
}

// Ask sends a request whose answer the caller needs for itself, such as
// initialize or tools/list, and reads it to its end, up to limit bytes. What else
// the server says meanwhile is dropped. The error is that of [HTTP.Send], or
// bad_response of origin server.
func (h *HTTP) Ask(ctx context.Context, header http.Header, body []byte, id wire.ID, limit int64) (*Answer, error) {
	resp, err := h.Send(ctx, http.MethodPost, header, NewBody(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	limited := &io.LimitedReader{R: resp.Body, N: limit + 1}
	answer := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		answer.Body, _ = io.ReadAll(limited) // a broken body says no more than the status
		return answer, nil
	}
	switch err := answer.read(limited, id); {
	case err == nil:
		return answer, nil
	case limited.N <= 0:
		return nil, h.bad(fmt.Errorf("the answer is larger than %d bytes", limit))
	case isBroken(err):
		return nil, h.Broken(ctx, err)
	default:
		return nil, h.bad(err)
	}
}

func (h *HTTP) bad(err error) *recourse.Error {
	return recourse.BadResponse(h.name).WithOrigin(recourse.OriginServer).CausedBy(err)
}

// errNoAnswer says that an answer holds none to the request.
var errNoAnswer = errors.New("no answer with the id of the request")

func isBroken(err error) bool {
	_, syntax := errors.AsType[*wire.SyntaxError](err)
	return !syntax && !errors.Is(err, errNoAnswer)
}

// read finds the answer to id in a JSON body or an event stream.
func (a *Answer) read(body io.Reader, id wire.ID) error {
	if !wire.IsMediaType(a.Header.Get("Content-Type"), wire.TypeEventStream) {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		if ok, err := a.take(text, id); ok || err != nil {
			return err
		}
		return errNoAnswer
	}
	events := wire.NewEventReader(body, 0)
	var data []byte
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, wire.ErrUnfinishedEvent) {
			return errNoAnswer
		}
		if err != nil {
			return err
		}
		if event.First {
			data = data[:0]
		}
		data = append(data, event.Data...)
		if !event.Complete || len(data) == 0 {
			continue
		}
		if ok, err := a.take(data, id); ok || err != nil {
			return err
		}
	}
}

// take stores the answer that text is, and reports whether it is one to id.
func (a *Answer) take(text []byte, id wire.ID) (bool, error) {
	var scan wire.Scanner
	if _, err := scan.Write(text); err != nil {
		return false, err
	}
	if err := scan.Close(); err != nil {
		return false, err
	}
	signs := scan.Signs()
	if signs.Message() != wire.Response || !signs.ID.Equal(id) {
		return false, nil
	}
	if signs.Error.IsZero() {
		a.Result = bytes.Clone(signs.Result.Of(text))
	} else {
		a.Error = bytes.Clone(signs.Error.Of(text))
	}
	return true, nil
}
