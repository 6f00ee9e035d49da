package front

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener with one connection.
type oneConn struct{ net.Conn }

func (l oneConn) Accept() (net.Conn, error) { return l.Conn, nil }
func (l oneConn) Addr() net.Addr            { return l.LocalAddr() }

// A client that reads slowly gets the whole answer. The gateway hangs up on a client that stops reading, sooner while the gateway
// ends.
func TestClientsAreGivenTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads  int  // pieces that the client reads before it stops; 0: all
		ending bool // the gateway ends after the client has stopped
		within time.Duration
	}{
		"reads slowly":                      {0, false, time.Hour},
		"stops":                             {3, false, 10*time.Second*3 + 61*time.Second},
		"stops, and the gateway ends":       {3, true, 10*time.Second*3 + 6*time.Second},
		"never reads, and the gateway ends": {-1, true, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				conns := newClientConns(oneConn{ours}, time.Minute, 5*time.Second)
				conn, err := conns.Accept()
				if err != nil {
					t.Fatal(err)
				}
				var reading sync.WaitGroup
				defer func() {
					_ = theirs.Close()
					reading.Wait()
				}()
				reading.Go(func() {
					buffer := make([]byte, writePiece)
					for n := 0; test.reads == 0 || n < test.reads; n++ {
						time.Sleep(10 * time.Second)
						if _, err := io.ReadFull(theirs, buffer); err != nil {
							return
						}
					}
					if test.ending {
						conns.end()
					}
				})
				began := time.Now()
				n, err := conn.Write(make([]byte, 100*writePiece))
				took := time.Since(began)
				if test.reads == 0 {
					if err != nil || n != 100*writePiece || took < 900*time.Second {
						t.Errorf("got %d bytes after %s, %v", n, took, err)
					}
					return
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) || took > test.within {
					t.Errorf("got %d bytes after %s, %v", n, took, err)
				}
			})
		})
	}
}

// What has arrived on a connection just before it was to end is read.
func TestLastRequestIsRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the gateway looks once more only on Linux: see readLast")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newClientConns(ln, time.Minute, time.Second)
	defer conns.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := conns.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(client, "POST"); err != nil {
		t.Fatal(err)
	}
	conns.leave.begun.Store(true)
	_ = conn.SetReadDeadline(long)
	buf := make([]byte, 8)
	for range 2 {
		n, err := conn.Read(buf)
		if string(buf[:n]) != "POST"[:n] || (err == nil) != (n == 4) {
			t.Errorf("got %q, %v", buf[:n], err)
		}
	}
}
