package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/upstream"
)

// A message is written together with its header, since each write costs both sides a system call.
func TestMessageIsSentAtOnce(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer srv.Close()
	h, err := upstream.NewHTTP("farm", srv.URL, nil, upstream.UserRule{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var writes atomic.Int64
	h.OnWrite(func() { writes.Add(1) })
	message := []byte(toolCall("echo", 0) + strings.Repeat(" ", 8<<10))
	for range 3 {
		resp, err := h.Do(t.Context(), &upstream.Request{Header: http.Header{}, Body: message})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Close()
	}
	if n := writes.Load(); n != 3 {
		t.Errorf("got %d writes for 3 messages", n)
	}
}
