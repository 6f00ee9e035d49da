package main

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// newProxy returns a reverse proxy to the server at address that only passes on. Its transport is tuned like the gateway's: with the
// default of two idle connections it would spend its time connecting.
func newProxy(address string, buffers httputil.BufferPool) http.Handler {
	target := &url.URL{Scheme: "http", Host: address}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConns:        512,
			MaxIdleConnsPerHost: 512,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
			WriteBufferSize:     16 << 10,
		},
		BufferPool: buffers,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise net/http closes the request's body with the first byte of the answer, while the transport may still be reading the
		// end of it, and the call is lost.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1.1 can
		proxy.ServeHTTP(w, r)
	})
}

// A bufferPool keeps the buffers of a reverse proxy, of the size that it uses without a pool.
type bufferPool struct{ pool sync.Pool }

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

// The configurations of the proxies that people run in front of servers.
var (
	//go:embed haproxy.cfg
	haproxyConfig string
	//go:embed nginx.conf
	nginxConfig string
)

// installed starts a proxy in front of the server, if it is installed. The name of a file with the configuration follows args.
func (all *processes) installed(ctx context.Context, o *options, server *process, name, config string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	address := freeAddress(ctx)
	file := filepath.Join(o.dir, name+".conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, address, server.address, o.dir), 0o600); err != nil {
		return err
	}
	_, err = all.listen(ctx, o, name, address, program, append(args, file)...)
	return err
}
