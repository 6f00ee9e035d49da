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
	open := streamsOf(t, streams)
	before := runtime.NumGoroutine()
	open()
	if n := runtime.NumGoroutine() - before; n > streams*(2+ofAServer)+streams/2 {
		t.Errorf("%d streams take %d goroutines, those of their server included", streams, n)
	}
}

// The stack of a handler that waits stays at 4 KB, of which it has a few dozen bytes to spare. If one call more on its way doubled it,
// each call would take many times as long while thousands of streams are open, since the garbage collector looks at every stack.
func TestLongOpenStreamsHaveSmallStacks(t *testing.T) { //nolint:paralleltest // it measures all stacks
	testkit.Long(t)
	const streams, most = 1000, 22 << 10 // it is 20 KB, and would be 24
	open := streamsOf(t, streams)
	before := stackBytes()
	open()
	if each := (stackBytes() - before) / streams; each > most {
		t.Errorf("a stream takes %d bytes of stack, those of its server included, want at most %d", each, most)
	}
}

// stackBytes returns how large the stacks of all goroutines are.
func stackBytes() int {
	for range 2 {
		runtime.GC() // it halves those that are mostly unused
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.StackInuse)
}

// streamsOf prepares that many sessions, and returns a function that opens a stream in each.
func streamsOf(t *testing.T, streams int) (open func()) {
	t.Helper()
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
	return func() {
		for _, session := range sessions {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\n"+
				"Mcp-Session-Id: %s\r\n\r\n", gatewaytest.Path, at.Host, session)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("got %+v, %v", answer, err)
			}
		}
	}
}
