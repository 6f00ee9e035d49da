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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/http1"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

var errEnough = errors.New("enough")

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

// A tcpServer calls answer for each request. answer writes to the connection, and reports whether to keep it.
type tcpServer struct {
	t      *testing.T
	ln     net.Listener
	answer func(conn *net.TCPConn, number, request int) bool

	conns atomic.Int64
	first atomic.Pointer[net.TCPConn]
	mu    sync.Mutex
	got   []string // the bodies
}

func startTCP(t *testing.T, answer func(conn *net.TCPConn, number, request int) bool) *tcpServer {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tcpServer{t: t, ln: ln, answer: answer}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			tcp, _ := conn.(*net.TCPConn)
			s.first.CompareAndSwap(nil, tcp)
			number := int(s.conns.Add(1)) - 1
			serving.Go(func() { s.serve(tcp, number) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return s
}

func (s *tcpServer) serve(conn *net.TCPConn, number int) {
	defer conn.Close()
	_ = conn.SetReadBuffer(4 << 10)
	in := bufio.NewReader(conn)
	for request := 0; ; request++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, string(body))
		s.mu.Unlock()
		if !s.answer(conn, number, request) {
			return
		}
	}
}

func (s *tcpServer) transport(t *testing.T) *http1.Transport {
	t.Helper()
	tr := http1.NewTransport(&http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100, DialContext: new(net.Dialer).DialContext})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (s *tcpServer) call(ctx context.Context, tr *http1.Transport, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.ln.Addr().String()+"/", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := tr.Post(ctx, r, r.Header, []byte(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

// received returns how often the server got body, and how many connections it has accepted.
func (s *tcpServer) received(body string) (times int, conns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got {
		if got == body {
			times++
		}
	}
	return times, s.conns.Load()
}

func say(conn *net.TCPConn, text string) bool {
	_, err := io.WriteString(conn, text)
	return err == nil
}

func wantReceived(t *testing.T, s *tcpServer, body string, times int, conns int64) {
	t.Helper()
	if got, over := s.received(body); got != times || over != conns {
		t.Errorf("server got %.20q %d times over %d connections, want %d times over %d", body, got, over, times, conns)
	}
}

// TCP connections are read and written differently from those in memory, with the same results.
func TestOverTCP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(conn *net.TCPConn, number, request int) bool // nil: always fine
		rests  func(conn *net.TCPConn) error                     // what the server does once the client has the first answer
		second string                                            // the second answer, or "error: " and a part of the error
		conns  int64
	}{
		{"kept", nil, nil, "fine", 1},
		{"in pieces", func(conn *net.TCPConn, _, _ int) bool {
			for _, piece := range []string{fine[:3], fine[3:16], fine[16:37], fine[37:38], fine[38:40], fine[40:]} {
				if !say(conn, piece) {
					return false
				}
				time.Sleep(time.Millisecond / 2) // so that the client usually reads each piece on its own
			}
			return true
		}, nil, "fine", 1},
		{"103 Early Hints first", func(conn *net.TCPConn, _, _ int) bool {
			return say(conn, "HTTP/1.1 103 Early Hints\r\n\r\n") && say(conn, fine)
		}, nil, "fine", 1},
		{"closed after the first answer", nil, (*net.TCPConn).Close, "fine", 2},
		{"half closed after the first answer", nil, (*net.TCPConn).CloseWrite, "fine", 2},
		{"writes after the answer", nil, func(conn *net.TCPConn) error {
			_, err := io.WriteString(conn, fine)
			return err
		}, "fine", 2},
		{"closed instead of the second answer", func(conn *net.TCPConn, _, request int) bool {
			return request == 0 && say(conn, fine)
		}, nil, "error: EOF", 1},
		{"reset instead of the second answer", func(conn *net.TCPConn, _, request int) bool {
			if request > 0 {
				_ = conn.SetLinger(0)
				return false
			}
			return say(conn, fine)
		}, nil, "error: connection reset by peer", 1},
		{"never answers the second", func(conn *net.TCPConn, _, request int) bool {
			if request > 0 {
				_, _ = conn.Read(make([]byte, 1)) // until the client closes it
				return false
			}
			return say(conn, fine)
		}, nil, "error: enough", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.answer == nil {
				tt.answer = func(conn *net.TCPConn, _, _ int) bool { return say(conn, fine) }
			}
			s := startTCP(t, tt.answer)
			tr := s.transport(t)
			if got, err := s.call(t.Context(), tr, "first"); got != "fine" || err != nil {
				t.Fatalf("first call: got %q, %v", got, err)
			}
			if tt.rests != nil { // loopback: what it does has arrived when rests returns
				if err := tt.rests(s.first.Load()); err != nil {
					t.Fatal(err)
				}
			}
			want, fails := strings.CutPrefix(tt.second, "error: ")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if want == errEnough.Error() {
				go func() {
					if testkit.Until(func() bool { times, _ := s.received("second"); return times > 0 }) {
						cancel(errEnough)
					}
				}()
			}
			got, err := s.call(ctx, tr, "second")
			if fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("second call: got %q, %v, want an error with %q", got, err, want)
				}
			} else if got != tt.second || err != nil {
				t.Errorf("second call: got %q, %v, want %q", got, err, tt.second)
			}
			wantReceived(t, s, "second", 1, tt.conns)
		})
	}
}

// A request larger than the socket's buffer arrives in full.
func TestSmallBuffers(t *testing.T) {
	t.Parallel()
	s := startTCP(t, func(conn *net.TCPConn, _, _ int) bool { return say(conn, fine) })
	tr := http1.NewTransport(&http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				err = errors.Join(err, tcp.SetWriteBuffer(1), tcp.SetReadBuffer(1))
			}
			return conn, err
		},
	})
	t.Cleanup(tr.CloseIdleConnections)
	for i, size := range []int{1, 4 << 10, 15 << 10, 17 << 10, 60 << 10, 15 << 10, 1} {
		body := strconv.Itoa(i) + strings.Repeat("x", size)
		if got, err := s.call(t.Context(), tr, body); got != "fine" || err != nil {
			t.Fatalf("body of %d bytes: got %q, %v", size, got, err)
		}
		wantReceived(t, s, body, 1, 1)
	}
}

// A server that closes connections at random gets no request twice, and each answered call gets its own answer.
func TestClosedAtRandom(t *testing.T) {
	t.Parallel()
	const callers, calls = 8, 150
	var answered atomic.Int64
	s := startTCP(t, func(conn *net.TCPConn, _, request int) bool {
		return say(conn, fine) && (request+int(answered.Add(1)))%5 > 0
	})
	tr := s.transport(t)
	var failed atomic.Int64
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for i := range calls {
				body := fmt.Sprintf("%d of %d", i, caller)
				got, err := s.call(t.Context(), tr, body)
				times, _ := s.received(body)
				switch {
				case err != nil:
					failed.Add(1)
				case got != "fine" || times != 1:
					t.Errorf("%s: got answer %q, and the server got it %d times, want its own answer and once", body, got, times)
				}
				if times > 1 {
					t.Errorf("%s: the server got it %d times, want at most once", body, times)
				}
			}
		})
	}
	running.Wait()
	if n := failed.Load(); n > callers*calls/10 {
		t.Errorf("%d of %d calls failed", n, callers*calls)
	}
}
