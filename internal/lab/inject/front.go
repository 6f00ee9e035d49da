package inject

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"syscall"
	"time"
)

// Front returns a handler in front of the server at target, which is reached through t. An MCP server keeps
// its path; an HTTP API is found below target's path. User and password in target are for requests without
// credentials of their own. Serve it with [Server], since resets need the connection.
func Front(t *Transport, target *url.URL) http.Handler {
	return front(t, target, t.traffic == API)
}

// Pass returns a handler that passes everything on to the MCP server at target through t, as [Front] does.
func Pass(t http.RoundTripper, target *url.URL) http.Handler { return front(t, target, false) }

func front(t http.RoundTripper, target *url.URL, api bool) http.Handler {
	return proxy(t, func(r *httputil.ProxyRequest) {
		if target.User != nil && r.Out.Header.Get("Authorization") == "" {
			password, _ := target.User.Password()
			r.Out.SetBasicAuth(target.User.Username(), password)
		}
		if api {
			r.SetURL(target)
			return
		}
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, ""
		if r.Out.URL.RawQuery == "" {
			r.Out.URL.RawQuery = target.RawQuery
		}
	})
}

// Forward returns the handler of a forward proxy: for requests to http URLs, and for tunnels to https URLs.
func Forward(t *Transport) http.Handler {
	forward := proxy(t, func(*httputil.ProxyRequest) {})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			t.tunnel(w, r)
		case !r.URL.IsAbs() || r.URL.Scheme != "http":
			http.Error(w, "recourse inject is a proxy for http URLs", http.StatusBadRequest)
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// forwarded are headers that a ReverseProxy drops unless told otherwise.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

func proxy(t http.RoundTripper, rewrite func(*httputil.ProxyRequest)) http.Handler {
	return &httputil.ReverseProxy{
		Transport:     t,
		FlushInterval: -1, // each byte when it comes
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also what cannot be parsed
			rewrite(r)
			for _, name := range forwarded {
				if values, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = values
				}
			}
			if _, ok := r.Out.Header["User-Agent"]; !ok {
				r.Out.Header.Set("User-Agent", "") // otherwise net/http would add its own
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode != http.StatusSwitchingProtocols {
				resp.Body = &watched{resp.Body, resp.Request.Context()}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			switch {
			case errors.Is(err, syscall.ECONNRESET):
				reset(r.Context())
				abort()
			case errors.Is(err, errRefused), r.Context().Err() != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
				abort()
			default:
				http.Error(w, "recourse: the server cannot be reached: "+err.Error(), http.StatusBadGateway)
			}
		},
	}
}

// abort ends the connection without another byte.
func abort() {
	panic(http.ErrAbortHandler)
}

// watched is a body that resets the client's connection if the server's is reset.
type watched struct {
	io.ReadCloser

	client context.Context
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		reset(w.client)
	}
	return n, err
}

// connKey is the context key of a client's connection.
type connKey struct{}

// reset makes closing the client's connection reset it.
func reset(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(interface{ SetLinger(sec int) error }); ok {
		_ = conn.SetLinger(0) // fails only on a connection that is gone already
	}
}

// Server returns the server for a handler of this package.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
	}
}
