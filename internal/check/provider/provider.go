// Package provider stands where the services are that a server calls over HTTP, and answers for them: with failures, one sort at
// a time.
//
// A server finds it by the variables in [Proxy.Env], which most HTTP clients go by. What is encrypted ends here, with a
// certificate that is made for the run.
//
//	server  --HTTP_PROXY, HTTPS_PROXY-->  Proxy  --no fault-->  the service itself
//	                                        |
//	                                        +-- Fault: a status, a body, a cut connection
package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Fault is what the service answers.
type Fault struct {
	Name   string
	Status int // 0: the connection is cut
	Head   http.Header
	Body   string
	Shows  string // what a tool that shows pages passes on of the body; empty: nothing that it may
	Cut    bool   // the body ends in the middle
	Hang   bool   // there is no answer at all
}

// A Request is what a service was asked. Two that are the same are one request made twice.
type Request struct {
	Method, URL string
	Body        [sha256.Size]byte
}

// Writes reports whether it writes.
func (r *Request) Writes() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// Faults are the failures of a service, in the order in which they are tried.
var Faults = []Fault{
	{Name: "401", Status: http.StatusUnauthorized, Body: `{"error":"invalid_token"}`, Head: jsonHead},
	{Name: "403", Status: http.StatusForbidden, Body: `{"error":"forbidden"}`, Head: jsonHead},
	{Name: "404", Status: http.StatusNotFound, Body: `{"error":"not_found"}`, Head: jsonHead},
	{Name: "409", Status: http.StatusConflict, Body: `{"error":"conflict"}`, Head: jsonHead},
	{Name: "429", Status: http.StatusTooManyRequests, Body: `{"error":"too_many_requests"}`, Head: waitHead},
	{Name: "503", Status: http.StatusServiceUnavailable, Body: `{"error":"unavailable"}`, Head: jsonHead},
	{
		Name: "a page instead of JSON", Status: http.StatusOK, Head: pageHead,
		Body: "<html><body><h1>502 Bad Gateway</h1></body></html>", Shows: "502 Bad Gateway",
	},
	{Name: "half a JSON text", Status: http.StatusOK, Body: `{"items":[{"id":"1","na`, Head: jsonHead, Cut: true},
	{Name: "a connection that is cut"},
	{Name: "no answer", Hang: true},
}

// Wait is the Retry-After of the fault 429, in seconds: a number that stands in no other answer.
const Wait = "37"

var (
	jsonHead = http.Header{"Content-Type": {"application/json"}}
	waitHead = http.Header{"Content-Type": {"application/json"}, "Retry-After": {Wait}}
	pageHead = http.Header{"Content-Type": {"text/html"}}
)

// A Proxy answers for services.
type Proxy struct {
	// Dial connects to the services themselves; nil means the operating system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Tape keeps what services answer, or answers for them; nil: neither.
	Tape *Tape

	listener  net.Listener
	server    *http.Server
	authority *authority
	folder    string
	transport *http.Transport

	mu      sync.Mutex
	fault   *Fault
	seen    []Request     // since Set, with a fault
	release chan struct{} // closed by the next Set: what hangs is cut off
}

// Start starts a proxy on this machine.
func (p *Proxy) Start() (err error) {
	if p.authority, err = newAuthority(); err != nil {
		return err
	}
	if p.folder, err = os.MkdirTemp("", "recourse-check-"); err != nil {
		return err
	}
	if err := os.WriteFile(p.certificates(), p.authority.pem, 0o600); err != nil {
		return err
	}
	if p.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	p.transport = &http.Transport{DialContext: p.Dial, Proxy: nil}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: silent}
	go func() { _ = p.server.Serve(p.listener) }() // it ends with Close
	return nil
}

// Close ends the proxy.
func (p *Proxy) Close() {
	_ = p.server.Close() // nothing is left to lose
	if p.Tape != nil {
		_ = p.Tape.file.Close() // each line was written as it came
	}
	p.transport.CloseIdleConnections()
	_ = os.RemoveAll(p.folder) // the system clears it up otherwise
}

// silent is the log of servers whose client breaks off because it is made to.
var silent = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

func (p *Proxy) certificates() string { return filepath.Join(p.folder, "certificate.pem") }

// Env returns the variables by which a program finds the proxy and trusts it: those of curl, Go, Node, Python's requests and
// OpenSSL.
func (p *Proxy) Env() []string {
	url, file := "http://"+p.listener.Addr().String(), p.certificates()
	return []string{
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "http_proxy=" + url, "https_proxy=" + url, "NO_PROXY=", "no_proxy=",
		"NODE_USE_ENV_PROXY=1", "NODE_EXTRA_CA_CERTS=" + file,
		"SSL_CERT_FILE=" + file, "REQUESTS_CA_BUNDLE=" + file, "CURL_CA_BUNDLE=" + file,
	}
}

// Set sets what services answer from now on; nil: what they answer themselves. It returns the requests that got the fault that was
// set before.
func (p *Proxy) Set(fault *Fault) (seen []Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.release != nil {
		close(p.release)
	}
	p.release = make(chan struct{})
	seen, p.seen, p.fault = p.seen, nil, fault
	return seen
}

// ServeHTTP takes a request, or a tunnel in which requests come.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	p.mu.Lock()
	fault, release := p.fault, p.release
	p.mu.Unlock()
	if fault == nil {
		p.pass(w, r)
		return
	}
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20)) // what was sent has arrived, as far as the client knows
	p.mu.Lock()
	if p.fault == fault {
		p.seen = append(p.seen, Request{r.Method, r.URL.String(), sha256.Sum256(body)})
	}
	p.mu.Unlock()
	fault.answer(w, r, release)
}

// answer answers for the service.
func (f *Fault) answer(w http.ResponseWriter, r *http.Request, release <-chan struct{}) {
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-release:
		}
		panic(http.ErrAbortHandler)
	case f.Status == 0:
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), f.Head)
	if f.Cut {
		w.Header().Set("Content-Length", "100000")
	}
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Body) // if it is gone, nobody needs it
	if f.Cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// pass asks the service itself, or the tape that has its answers.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	var request *recorded
	if p.Tape != nil {
		sent, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "recourse check: "+err.Error(), http.StatusBadGateway)
			return
		}
		request = requestOf(r, sent)
		if p.Tape.playing {
			p.Tape.play(w, request)
			return
		}
		out.Body = io.NopCloser(bytes.NewReader(sent))
		out.Header.Del("Accept-Encoding") // what is kept can be read
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, "recourse check: the service cannot be reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if request == nil {
		_, _ = io.Copy(w, resp.Body) // a cut answer is cut here, too
		return
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	_, _ = w.Write(body) // if it is gone, the answer is kept all the same
	if err != nil || len(body) > maxBody || p.Tape.keep(request, resp, body) != nil {
		panic(http.ErrAbortHandler) // a run that is recorded in part is no use
	}
}

// tunnel answers a CONNECT, and speaks TLS in the tunnel as the host that it names.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = client.Close()
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	inside := tls.Server(client, &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.authority.certificate(host) },
		NextProtos:     []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
	})
	once := &single{conn: inside, closed: make(chan struct{})}
	of := r.Host
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "https", of
		p.ServeHTTP(w, r)
	})
	server := &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: silent, Handler: handler}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			once.end()
		}
	}
	_ = server.Serve(once) // it ends with the connection
}

// single is a listener with one connection.
type single struct {
	mu     sync.Mutex
	conn   net.Conn
	closed chan struct{}
	ended  sync.Once
}

func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) end() { s.ended.Do(func() { close(s.closed) }) }

// Close implements [net.Listener].
func (s *single) Close() error { s.end(); return nil }

// Addr implements [net.Listener].
func (*single) Addr() net.Addr { return &net.TCPAddr{} }
