package upstream

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/http1"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// HTTP is an MCP server over Streamable HTTP. It follows no redirects and repeats nothing: a message is sent
// at most once, even where net/http would send it again.
type HTTP struct {
	name      string
	header    http.Header
	request   *http.Request // what all requests have in common
	endpoint  string
	user      UserRule
	transport *http.Transport
	client    *http1.Transport // before it
}

const (
	// dialTimeout distinguishes an address that swallows packets from a slow server.
	dialTimeout     = 5 * time.Second
	idleConnections = 512
	idleTimeout     = 60 * time.Second
	maxHeader       = 64 << 10 // of an answer
)

// NewTransport returns the transport for servers over HTTP. If dial is nil, the operating system's is used.
func NewTransport(dial Dial) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// A Dial opens a connection as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewHTTP returns the server at endpoint; name is its display name. The headers are sent with every message, and user says where in
// them and in the endpoint the user stands. If dial is nil, the operating system's is used.
func NewHTTP(name, endpoint string, headers map[string]string, user UserRule, dial Dial) (*HTTP, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("url of server %s: %w", name, err)
	}
	h := &HTTP{name: name, header: http.Header{}, endpoint: endpoint, user: user, request: &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}}
	for key, value := range headers {
		h.header.Set(key, value)
	}
	h.transport = NewTransport(dial)
	h.transport.WriteBufferSize = 16 << 10 // most messages fit in it
	h.transport.DisableCompression = true  // answers are read, and passed on unchanged
	h.client = http1.NewTransport(h.transport)
	return h, nil
}

// Close closes idle connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

// Name returns the server's display name.
func (h *HTTP) Name() string { return h.name }

// Do implements [Connection]. The server's own headers take precedence over the request's.
func (h *HTTP) Do(ctx context.Context, req *Request) (*wire.Answer, error) {
	to, header, err := h.address(req.Header)
	if err != nil {
		return nil, err
	}
	withoutReplay(header)
	method, body := cmp.Or(req.Method, http.MethodPost), req.text()
	if h.request.URL.Scheme == "http" && (method == http.MethodPost && len(body) > 0 || method == http.MethodGet && len(body) == 0) {
		send := h.client.Post
		switch {
		case method == http.MethodGet:
			stream := *to
			stream.Method = method
			to, send = &stream, h.client.Open
		case header.Get(wire.HeaderMethod) == wire.MethodListen:
			send = h.client.Open
		}
		resp, err := send(ctx, to, header, body) //nolint:bodyclose // the answer has it
		if err != nil {
			return nil, Broken(ctx, h.name, err)
		}
		return wire.OverHTTP(resp), nil
	}
	r := *to
	r.Method, r.Header = method, header
	resp, err := Send(ctx, h.name, h.transport, &r, body) //nolint:bodyclose // the answer has it
	if err != nil {
		return nil, err
	}
	return wire.OverHTTP(resp), nil
}

// address returns what a request has in common with others, and its headers with the server's own ones: for its user.
func (h *HTTP) address(of http.Header) (*http.Request, http.Header, error) {
	user, header, err := h.user.Of(of)
	switch {
	case err != nil:
		return nil, nil, err
	case h.user.Place == "":
		maps.Copy(header, h.header)
		return h.request, header, nil
	}
	for name, values := range h.header {
		header[name] = []string{h.user.Text(values[0], user)}
	}
	r := *h.request
	if r.URL, err = h.user.URL(h.endpoint, user); err != nil {
		return nil, nil, recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	return &r, header, nil
}
