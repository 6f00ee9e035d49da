package upstream

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/http1"
)

// HTTP is an MCP server over Streamable HTTP. It follows no redirects and repeats nothing: a
// message leaves at most once, even where net/http would send it again.
type HTTP struct {
	url       *url.URL
	name      string
	header    http.Header
	transport *http.Transport
	client    *http1.Transport // before it
}

const (
	// dialTimeout tells an address that swallows packets from a server that is slow.
	dialTimeout     = 5 * time.Second
	idleConnections = 512
	idleTimeout     = 60 * time.Second
	maxHeader       = 64 << 10 // of an answer
)

// NewTransport returns how servers are reached over HTTP. A nil dial is the operating system's.
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

// NewHTTP returns the server at endpoint, which people call name. The headers go with every
// message. A nil dial is the operating system's.
func NewHTTP(name, endpoint string, headers map[string]string, dial Dial) (*HTTP, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("url of server %s: %w", name, err)
	}
	h := &HTTP{url: u, name: name, header: http.Header{}}
	for key, value := range headers {
		h.header.Set(key, value)
	}
	h.transport = NewTransport(dial)
	h.transport.WriteBufferSize = 16 << 10 // most messages fit in it
	h.transport.DisableCompression = true  // answers are looked into, and passed on as they are
	h.client = http1.NewTransport(h.transport)
	return h, nil
}

// Close ends the connections that are idle.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

// Name returns what people call the server.
func (h *HTTP) Name() string { return h.name }

// Do implements [Connection]. The server's own headers win over those of the request.
func (h *HTTP) Do(ctx context.Context, req *Request) (*http.Response, error) {
	header := req.Header
	maps.Copy(header, h.header)
	withoutReplay(header)
	r := &http.Request{
		Method: cmp.Or(req.Method, http.MethodPost), URL: h.url, Host: h.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	var over *overTLS
	if h.url.Scheme == "https" {
		over = new(overTLS)
		r = r.WithContext(over.traced(ctx))
	} else {
		r = r.WithContext(ctx)
	}
	if body := req.text(); len(body) > 0 {
		// The transport knows this reader, and writes the header and the body at once.
		open := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
		r.ContentLength = int64(len(body))
		r.Body = open()
		r.GetBody = func() (io.ReadCloser, error) { return open(), over.mayRepeat() }
	}
	resp, err := h.client.RoundTrip(r)
	if err != nil {
		e := Broken(ctx, h.name, err)
		if over.unsent() {
			e = e.WithEffect(recourse.EffectNone)
		}
		return nil, e
	}
	return resp, nil
}
