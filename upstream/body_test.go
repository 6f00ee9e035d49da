package upstream_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recoursehq/recourse/upstream"
)

// A server may answer before it has read the whole message. The message's memory is
// still the transport's then.
func TestBodyIsBusyWhileItIsSent(t *testing.T) {
	t.Parallel()
	const tooMuchForTheSocket = 32 << 20
	read := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.WriteHeader(http.StatusBadRequest)
		_ = control.Flush()
		<-read
	}))
	defer srv.Close()
	h, err := upstream.NewHTTP("farm", srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	body := upstream.NewBody(bytes.Repeat([]byte("a"), tooMuchForTheSocket))
	resp, err := h.Send(context.Background(), http.MethodPost, http.Header{}, body)
	if err != nil {
		t.Fatal(err)
	}
	if !body.Busy() {
		t.Error("the body is free while half of it is unsent")
	}
	close(read)
	_ = resp.Body.Close()
	for end := time.Now().Add(5 * time.Second); body.Busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the body stays busy after the exchange has ended")
		}
	}
}
