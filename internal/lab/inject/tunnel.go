package inject

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// patience is how long connecting to a server may take.
const patience = 30 * time.Second

// tunnel opens the connection that a CONNECT requests, and passes bytes both ways until one side ends. They
// are usually encrypted, so that nothing can be read or changed: the transport's faults apply to the tunnel
// as a whole.
func (t *Transport) tunnel(w http.ResponseWriter, r *http.Request) {
	c := &intercept{method: r.Method, path: r.Host, caller: r.UserAgent(), http: true, tunnel: true}
	todo := t.injector.take(c)
	defer todo.end()
	if todo.fault != nil && todo.effect == Before {
		switch todo.fault.Name {
		case resetBefore:
			reset(r.Context())
		case hang:
			<-r.Context().Done()
		}
		abort()
	}
	server, err := t.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, "recourse inject: the server cannot be reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	t.injector.reached(c, 1)
	client, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(r.Context(), func() { // the proxy ends
		_ = errors.Join(client.Close(), server.Close()) // they may have ended already
	})()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, sent) // the end of the connection shows who has gone
		endWriting(server)
		if todo.fault != nil && todo.fault.Name == hang {
			cancel()
		}
	})
	if _, err := io.Copy(client, todo.fromTunnel(ctx, server)); errors.Is(err, syscall.ECONNRESET) {
		reset(r.Context())
		_ = client.Close() // so that the other direction ends, too
	}
	endWriting(client)
	both.Wait()
}

// dial connects to a server as the base transport does.
func (t *Transport) dial(ctx context.Context, address string) (net.Conn, error) {
	dial := (&net.Dialer{Timeout: patience}).DialContext
	if base, ok := t.base.(*http.Transport); ok && base.DialContext != nil {
		dial = base.DialContext
	}
	return dial(ctx, "tcp", address)
}

// endWriting tells the other side that nothing more will come.
func endWriting(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it may have ended already
		return
	}
	_ = conn.Close() // as above
}

// fromTunnel returns the reader from which the client gets what the server sends.
func (t *treatment) fromTunnel(ctx context.Context, server io.Reader) io.Reader {
	switch {
	case t.fault == nil:
		return server
	case t.fault.Name == drip:
		return &dripping{ctx: ctx, from: server, gap: t.fault.Gap}
	}
	return &tunnelled{ctx: ctx, from: server, fault: t.fault}
}

// tunnelled is a server's side of a tunnel, with a fault. It has no message to break off in the middle, so the first
// piece that arrives is used instead.
type tunnelled struct {
	ctx   context.Context
	from  io.Reader
	fault *Fault

	last error // that ends the tunnel
}

// Read implements [io.Reader].
func (t *tunnelled) Read(p []byte) (int, error) {
	if t.last != nil {
		pause.For(t.ctx, handover)
		return 0, t.last
	}
	n, err := t.from.Read(p)
	switch t.fault.Name {
	case resetBefore:
		return 0, errReset
	case hang:
		<-t.ctx.Done()
		return 0, context.Cause(t.ctx)
	case resetWithin:
		t.last = errReset
		return n / 2, nil
	case truncate:
		t.last = io.EOF
		return n / 2, nil
	case resetAfter:
		if errors.Is(err, io.EOF) {
			err, t.last = nil, errReset
		}
	}
	return n, err
}
