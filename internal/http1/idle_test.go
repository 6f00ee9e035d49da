package http1_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/recoursehq/recourse/internal/http1"
)

// A connection that waits for its next request keeps neither the last one nor an unusually large header: anyone can open many idle
// connections.
func TestIdleConnectionHoldsLittle(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf("X%d:1", i))
	}
	for name, head := range map[string]string{"usual": ask("/", "x", "X0:1"), "1,000 fields": ask("/", "x", fields...)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var request weak.Pointer[http.Request]
			var value weak.Pointer[string]
			srv := http1.NewServer(&http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				request, value = weak.Make(r), weak.Make(&r.Header["X0"][0])
			})})
			ln := newMemoryListener()
			var serving sync.WaitGroup
			serving.Go(func() { _ = srv.Serve(ln) }) // until ln is closed
			conn := ln.dial()
			if _, err := io.WriteString(conn, head); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			for range 100 { // the connection's goroutine may not be waiting for the next request yet
				runtime.GC()
				if request.Value() == nil && (value.Value() == nil) == strings.Contains(head, "X999") {
					break
				}
			}
			if request.Value() != nil {
				t.Error("the connection holds its last request")
			}
			if held, want := value.Value() != nil, name == "usual"; held != want {
				t.Errorf("holds its last header: got %t, want %t", held, want)
			}
			_ = srv.Close()
			_ = conn.Close()
			serving.Wait()
		})
	}
}
