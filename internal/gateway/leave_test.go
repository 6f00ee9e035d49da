package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Whoever can still connect while the gateway ends gets an answer, as a load balancer needs that has not noticed yet: it may repeat what
// it could not send, and nothing else.
func TestNobodyIsCutOff(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the gateway accepts those who wait only on Linux: see acceptLast")
	}
	srv := testkit.NewServer(t, testkit.InMemory())
	for range 3 {
		g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Serve(ctx, ln, time.Minute) }()
		var clients sync.WaitGroup
		var answers atomic.Int64
		for range 16 {
			clients.Go(func() {
				for {
					conn, err := net.Dial("tcp", ln.Addr().String())
					if err != nil {
						return // it has stopped listening
					}
					if err := askOnce(conn); err != nil {
						t.Errorf("a client that had connected: %v", err)
					}
					if answers.Add(1) == 200 {
						stop()
					}
				}
			})
		}
		clients.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		g.Close()
	}
}

// askOnce makes a request on a connection, and ends it.
func askOnce(conn net.Conn) error {
	defer conn.Close()
	if _, err := io.WriteString(conn, bytesOf(firstMessage)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
