package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// An open stream takes the two goroutines that net/http has for its client, and none besides.
func TestOpenStreamsHaveFewGoroutines(t *testing.T) { //nolint:paralleltest // it counts all goroutines
	const streams, ofAServer = 50, 2
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers: {farm: {url: %q}}", srv.URL()))
	base := gatewaytest.Open(t, g, false)
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	sessions := make([]string, streams)
	for i := range sessions {
		c := testkit.NewClient(t, base+gatewaytest.Path, testkit.Legacy)
		c.MustInitialize(t)
		c.Close()
		sessions[i] = c.Session
	}
	before := runtime.NumGoroutine()
	for _, session := range sessions {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n\r\n",
			gatewaytest.Path, at.Host, session)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("got %+v, %v", answer, err)
		}
	}
	if n := runtime.NumGoroutine() - before; n > streams*(2+ofAServer)+streams/2 {
		t.Errorf("%d streams take %d goroutines, those of their server included", streams, n)
	}
}
