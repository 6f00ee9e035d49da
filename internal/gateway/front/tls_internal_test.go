package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// secure serves a handler over TLS in memory until the test ends or end is called. It returns the URL and a transport to it.
func secure(t *testing.T, h *HTTP) (url string, client *http.Transport, end context.CancelFunc) {
	t.Helper()
	certificate := testkit.NewCertificate(t, -time.Hour, 1000*time.Hour)
	h.TLS, h.Log, h.Drain = certificate.Server(t), slog.New(slog.DiscardHandler), func() {}
	ln, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = h.Serve(ctx, ln, time.Second) })
	client = &http.Transport{DialContext: testkit.Dial, TLSClientConfig: certificate.Client(), ForceAttemptHTTP2: true}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		end()
		serving.Wait()
	})
	return "https://" + ln.Addr().String(), client, end
}

func open(t *testing.T, client *http.Transport, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// An unread stream of HTTP/2 is ended after a minute, even if the client reads others.
func TestStreamsAreGivenTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		url, client, _ := secure(t, &HTTP{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/short" {
				_, _ = io.WriteString(w, "short")
				return
			}
			_, err := w.Write(make([]byte, 64<<20))
			ended <- err
		})})
		began := time.Now()
		long := open(t, client, url+"/long")
		defer long.Body.Close()
		if long.ProtoMajor != 2 {
			t.Fatalf("got %s, want HTTP/2", long.Proto)
		}
		for alive := true; alive; {
			short := open(t, client, url+"/short")
			if text, err := io.ReadAll(short.Body); err != nil || string(text) != "short" {
				t.Fatalf("got %q, %v", text, err)
			}
			select {
			case err := <-ended:
				if err == nil {
					t.Error("64 MiB were written to a client that reads nothing")
				}
				alive = false
			case <-time.After(20 * time.Second):
			}
		}
		if took := time.Since(began); took < writeTimeout || took > 2*writeTimeout {
			t.Errorf("the stream was held for %s", took)
		}
	})
}

// A slow reader of a stream gets all of it.
func TestSlowStreamsAreServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 32 << 20
		url, client, _ := secure(t, &HTTP{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, err := w.Write(make([]byte, size)); err != nil {
				t.Error(err)
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * writeTimeout) // a pause without writes does not count
			_, _ = io.WriteString(w, "end")
		})})
		resp := open(t, client, url)
		defer resp.Body.Close()
		got := 0
		for {
			n, err := io.CopyN(io.Discard, resp.Body, 1<<20)
			if got += int(n); errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		if got != size+len("end") {
			t.Errorf("got %d bytes", got)
		}
	})
}

// Old versions of TLS are refused, and a client that sends nothing is hung up on.
func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url, client, _ := secure(t, &HTTP{Handler: http.NotFoundHandler()})
		client.TLSClientConfig.MinVersion, client.TLSClientConfig.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
			t.Error("TLS 1.1 is accepted")
		}
		conn, err := testkit.Dial(t.Context(), "tcp", r.URL.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		_ = conn.SetReadDeadline(began.Add(time.Hour))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a silent client: got %v", err)
		}
		if took := time.Since(began); took > headerTimeout {
			t.Errorf("got the end after %s", took)
		}
	})
}

// Before the gateway ends, clients over TLS are asked to close their connections.
func TestClientsOverTLSAreAskedToLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url, client, end := secure(t, &HTTP{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }),
			Delay:   func() time.Duration { return time.Minute },
		})
		client.ForceAttemptHTTP2 = false // HTTP/1.1 asks in a header of the answer
		for _, leaving := range []bool{false, true} {
			resp := open(t, client, url)
			_ = resp.Body.Close()
			if resp.Close != leaving {
				t.Errorf("asked to close: got %t, want %t", resp.Close, leaving)
			}
			end()
			synctest.Wait()
		}
	})
}
