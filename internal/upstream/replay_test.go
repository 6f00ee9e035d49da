package upstream_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/upstream"
)

func newHTTP(tb testing.TB, url string) *upstream.HTTP {
	tb.Helper()
	h, err := upstream.NewHTTP("farm", url, nil, upstream.UserRule{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.Close)
	return h
}

// send sends a call and returns the failure.
func send(tb testing.TB, h *upstream.HTTP, header http.Header) *recourse.Error {
	tb.Helper()
	if header == nil {
		header = http.Header{}
	}
	resp, err := h.Do(tb.Context(), &upstream.Request{Header: header, Body: []byte(toolCall("say", 0))})
	if err != nil {
		return recourse.From(err)
	}
	_, _ = io.Copy(io.Discard, resp) // keeps the connection
	_ = resp.Close()
	return nil
}

// mayHaveRun checks that a failure leaves open whether the call was carried out.
func mayHaveRun(tb testing.TB, e *recourse.Error) {
	tb.Helper()
	if e == nil || e.Kind != recourse.KindUnreachable || e.Effect != "" {
		tb.Errorf("got %+v, want unreachable without an effect", e)
	}
}

// A call on a kept connection that breaks is sent once, even with a header that permits net/http to send it
// again. The server still gets the header.
func TestCallIsSentOnceOverABrokenConnection(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "Other-Key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls, keys atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.Header.Get(name) == "k-1" {
					keys.Add(1)
				}
				if calls.Add(1) > 1 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(http.StatusAccepted)
			}))
			defer srv.Close()
			h := newHTTP(t, srv.URL)
			if e := send(t, h, http.Header{name: {"k-1"}}); e != nil {
				t.Fatal(e)
			}
			mayHaveRun(t, send(t, h, http.Header{name: {"k-1"}}))
			if calls.Load() != 2 || keys.Load() != 2 {
				t.Errorf("got %d calls, %d with the key, want 2 each", calls.Load(), keys.Load())
			}
		})
	}
}

// If the route disappears while the server works, the call may have run: it is not a failed dial.
func TestRouteDisappearsDuringACall(t *testing.T) {
	t.Parallel()
	for _, number := range []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNREFUSED} {
		t.Run(number.Error(), func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) > 1 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(http.StatusAccepted)
			}))
			defer srv.Close()
			h := newHTTP(t, srv.URL)
			h.OnRead(func(int, error) error {
				return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", number)}
			})
			if e := send(t, h, nil); e != nil {
				t.Fatal(e)
			}
			mayHaveRun(t, send(t, h, nil))
			if calls.Load() != 2 {
				t.Errorf("got %d calls, want 2", calls.Load())
			}
		})
	}
}

// If the connection cannot be made, the call has no effect.
func TestNotSent(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	untrusted.StartTLS()
	defer untrusted.Close()
	hangsUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangsUp.Close()
	go func() {
		for {
			conn, err := hangsUp.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	for name, url := range map[string]string{
		"nobody listens":       "http://127.0.0.1:1",
		"plain HTTP":           "https://" + plain.Listener.Addr().String(),
		"unknown certificate":  untrusted.URL,
		"handshake breaks off": "https://" + hangsUp.Addr().String(),
	} {
		if e := send(t, newHTTP(t, url), nil); e == nil || e.Kind != recourse.KindUnreachable || e.Effect != recourse.EffectNone {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

// Over HTTP/2 a server can carry out a call and then reset it with REFUSED_STREAM, which says that it did not:
// the call is not sent again.
func TestResetStreamsAreNotRepeated(t *testing.T) {
	t.Parallel()
	const protocolError, refusedStream, internalError = 1, 7, 2
	for name, say := range map[string]func(w io.Writer, stream uint32){
		"protocol error": func(w io.Writer, stream uint32) { reset(w, stream, protocolError) },
		"refused stream": func(w io.Writer, stream uint32) { reset(w, stream, refusedStream) },
		"internal error": func(w io.Writer, stream uint32) { reset(w, stream, internalError) },
		"goaway":         func(w io.Writer, _ uint32) { goAway(w, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			h := newHTTP(t, serveHTTP2(t, func(w io.Writer, stream uint32) {
				calls.Add(1)
				say(w, stream)
			}))
			h.Trust()
			mayHaveRun(t, send(t, h, nil))
			if calls.Load() != 1 {
				t.Errorf("got %d calls, want 1", calls.Load())
			}
		})
	}
}

// serveHTTP2 runs a server that speaks HTTP/2 frame by frame, and returns its URL. It calls answer for each whole
// request.
func serveHTTP2(tb testing.TB, answer func(w io.Writer, stream uint32)) string {
	tb.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	tlsConfig := srv.TLS
	srv.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	tb.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = speakHTTP2(tls.Server(conn, tlsConfig), answer) // ends with the client
		}
	}()
	return "https://" + listener.Addr().String()
}

// speakHTTP2 serves one HTTP/2 connection (RFC 9113).
func speakHTTP2(conn net.Conn, answer func(w io.Writer, stream uint32)) error {
	defer conn.Close()
	const (
		preface           = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		data, settings    = 0, 4
		endStream, sendOK = 1, 1
	)
	if _, err := io.CopyN(io.Discard, conn, int64(len(preface))); err != nil {
		return err
	}
	writeFrame(conn, settings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, size); err != nil {
			return err
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == settings && flags&sendOK == 0:
			writeFrame(conn, settings, sendOK, 0, nil)
		case kind == data && flags&endStream != 0:
			answer(conn, stream)
		}
	}
}

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := []byte{0, 0, byte(len(payload)), kind, flags}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...)) // the client may have gone
}

func reset(w io.Writer, stream, code uint32) {
	writeFrame(w, 3, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

func goAway(w io.Writer, last uint32) {
	writeFrame(w, 7, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), 0))
}
