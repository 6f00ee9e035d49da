package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// idleConnections is how many connections to the server a proxy keeps: as many as the gateway.
const idleConnections = 512

// writeBuffer is the size of a connection's write buffer: the gateway's.
const writeBuffer = 16 << 10

// newProxy returns a reverse proxy to the server at address that only passes on. Its transport is tuned like the
// gateway's: with the default of two idle connections it would spend its time connecting.
func newProxy(address string, buffers httputil.BufferPool) http.Handler {
	target := &url.URL{Scheme: "http", Host: address}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConns:        idleConnections,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
			WriteBufferSize:     writeBuffer,
		},
		BufferPool: buffers,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise net/http closes the request's body with the first byte of the answer, while the transport may still
		// be reading the end of it, and the call is lost.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1.1 can
		proxy.ServeHTTP(w, r)
	})
}

// A bufferPool keeps the buffers of a reverse proxy, of the size that it uses without a pool.
type bufferPool struct{ pool sync.Pool }

var _ httputil.BufferPool = (*bufferPool)(nil)

const copyBuffer = 32 << 10

// Get returns a buffer of 32 KiB.
func (p *bufferPool) Get() []byte {
	if buffer, ok := p.pool.Get().(*[copyBuffer]byte); ok {
		return buffer[:]
	}
	return make([]byte, copyBuffer)
}

// Put takes back a buffer that Get has returned.
func (p *bufferPool) Put(buffer []byte) { p.pool.Put((*[copyBuffer]byte)(buffer)) }
