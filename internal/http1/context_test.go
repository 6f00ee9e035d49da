package http1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/http1"
)

// endable is the context of a request that its handler can end.
type endable interface {
	context.Context
	End(cause error)
}

var errEnough = errors.New("enough")

// A relay sends each request on, with the request's own context.
type relay struct {
	transport *http1.Transport
	meanwhile func(r *http.Request) // runs beside the round trip
	between   func(r *http.Request) // runs before the answer's body is read
	heard     []string
}

func (s *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the client is watched from then on
	if s.meanwhile != nil {
		go s.meanwhile(r)
	}
	out, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://server/", strings.NewReader("x"))
	resp, err := s.transport.RoundTrip(out)
	body := []byte(nil)
	if err == nil {
		if s.between != nil {
			s.between(r)
		}
		body, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		s.heard = append(s.heard, string(body))
	} else {
		s.heard = append(s.heard, err.Error())
	}
	s.heard = append(s.heard, fmt.Sprint(context.Cause(r.Context())))
	_, _ = io.WriteString(w, "done")
}

// startRelay starts s in front of a server that follows script on each connection, and returns a client's connection to s.
func startRelay(s *relay, script func(conn, request int) []any) (client net.Conn, stop func()) {
	var dialled atomic.Int64
	s.transport = http1.NewTransport(&http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 2,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := newMemoryConn()
			go scene{script: script}.serve(new(notebook), server, int(dialled.Add(1)-1))
			return client, nil
		},
	})
	srv := http1.NewServer(&http.Server{Handler: s})
	ln := newMemoryListener()
	go func() { _ = srv.Serve(ln) }()
	conn := ln.dial()
	return conn, func() {
		_ = conn.Close()
		_ = srv.Close()
		s.transport.CloseIdleConnections()
		synctest.Wait()
	}
}

func askRelay(t *testing.T, conn net.Conn, in *bufio.Reader) string {
	t.Helper()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

func wantHeard(t *testing.T, s *relay, want ...string) {
	t.Helper()
	if got := strings.Join(s.heard, "; "); got != strings.Join(want, "; ") {
		t.Errorf("got errors %q, want %q", got, want)
	}
}

// A handler that ends its request gets the reason from the round trip, and can still answer. The connection to the server is not
// reused; the client's is.
func TestHandlerEndsRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		script []any
	}{
		{"before the answer", []any{time.Hour, fine}},
		{"in the head", []any{"HTTP/1.1 200", time.Hour, " OK\r\nContent-Length: 4\r\n\r\nfine"}},
		{"in the body", []any{fine[:len(fine)-2], time.Hour, "ne"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &relay{meanwhile: func(r *http.Request) {
					time.Sleep(time.Second)
					own, _ := r.Context().(endable)
					own.End(errEnough)
					own.End(errors.New("too late"))
				}}
				client, stop := startRelay(s, func(conn, _ int) []any {
					if conn == 0 {
						return tt.script
					}
					return []any{fine}
				})
				defer stop()
				in := bufio.NewReader(client)
				began := time.Now()
				if got := askRelay(t, client, in); got != "done" || time.Since(began) != time.Second {
					t.Errorf("got %q after %v, want the handler's after a second", got, time.Since(began))
				}
				s.meanwhile = nil
				askRelay(t, client, in)
				wantHeard(t, s, "enough", "enough", "fine", "<nil>")
				time.Sleep(time.Hour) // until the server's script has ended
			})
		})
	}
}

// A request that ends after the whole answer has arrived keeps its answer. The connection to the server is not reused, since its
// deadline may be set at any moment.
func TestEndsWithWholeAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &relay{between: func(r *http.Request) {
			own, _ := r.Context().(endable)
			own.End(errEnough)
		}}
		client, stop := startRelay(s, func(conn, _ int) []any {
			return []any{"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfrom ", strconv.Itoa(conn)}
		})
		defer stop()
		in := bufio.NewReader(client)
		askRelay(t, client, in)
		s.between = nil
		askRelay(t, client, in)
		askRelay(t, client, in)
		wantHeard(t, s, "from 0", "enough", "from 1", "<nil>", "from 1", "<nil>")
	})
}

// A client that leaves ends the round trip as well.
func TestClientLeavesRelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(relay)
		client, stop := startRelay(s, func(int, int) []any { return []any{time.Hour} })
		defer stop()
		_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
		time.Sleep(time.Second)
		_ = client.Close()
		synctest.Wait()
		wantHeard(t, s, "context canceled", "context canceled")
		time.Sleep(time.Hour)
	})
}

// All round trips of a request learn of its end, including those that begin later.
func TestSeveralRoundTrips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan error, 2)
		s := new(relay)
		s.meanwhile = func(r *http.Request) {
			for range 2 {
				time.Sleep(time.Second)
				go func() {
					out, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://server/", strings.NewReader("x"))
					resp, err := s.transport.RoundTrip(out)
					if err == nil {
						_ = resp.Body.Close()
					}
					heard <- err
				}()
			}
			time.Sleep(time.Second)
			own, _ := r.Context().(endable)
			own.End(errEnough)
			late, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://server/", strings.NewReader("x"))
			resp, err := s.transport.RoundTrip(late)
			if err == nil {
				_ = resp.Body.Close()
			}
			heard <- err
		}
		client, stop := startRelay(s, func(int, int) []any { return []any{time.Hour, fine} })
		defer stop()
		askRelay(t, client, bufio.NewReader(client))
		for range 3 {
			if err := <-heard; !errors.Is(err, errEnough) {
				t.Errorf("got %v, want %v", err, errEnough)
			}
		}
		wantHeard(t, s, "enough", "enough")
		time.Sleep(time.Hour)
	})
}
