package front

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A request whose handler begins while the gateway looks at its connection is not ended by that.
func TestFinishLeavesHandlersAlone(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newClientConns(ln, time.Minute, time.Second)
	srv := &http.Server{
		ReadHeaderTimeout: time.Minute,
		ConnContext:       withConn,
		Handler: &leaving{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
				t.Error("a request was ended that had reached its handler")
			case <-time.After(time.Millisecond):
			}
		})},
	}
	var serving, clients sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(conns) }) // until it is closed
	for range 8 {
		clients.Go(func() {
			for range 100 {
				if err := getOnce(ln.Addr().String()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	served := make(chan struct{})
	serving.Go(func() {
		for {
			select {
			case <-served:
				return
			default:
				conns.unsettled()
				runtime.Gosched()
			}
		}
	})
	clients.Wait()
	close(served)
	_ = srv.Close()
	serving.Wait()
}

// getOnce makes a request on a connection of its own.
func getOnce(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: farm.example\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
