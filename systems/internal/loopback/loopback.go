// Package loopback serves the backends of the reference systems, which fail on request.
package loopback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Local is a backend on a free port of the loopback interface.
type Local struct {
	URL string // without a path

	srv  *http.Server
	done chan error
}

// Serve starts a backend.
func Serve(handler http.Handler) (*Local, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a backend: %w", err)
	}
	const headerTimeout = 5 * time.Second
	s := &Local{
		URL: "http://" + ln.Addr().String(), done: make(chan error, 1),
		srv: &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout},
	}
	go func() { s.done <- s.srv.Serve(ln) }()
	return s, nil
}

// Close stops the backend and aborts the requests that it has not answered. Call it once.
func (s *Local) Close() error {
	err := s.srv.Close()
	if ended := <-s.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// Fault returns the fault that a word in text requests from a backend: the text after "fault-" up to the next
// character that is not a letter or digit; "" if there is none.
func Fault(text string) string {
	_, rest, found := strings.Cut(text, "fault-")
	if !found {
		return ""
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// Fail answers r with a fault, and reports whether it has:
//
//   - drop: the connection is closed without an answer;
//   - slow: no answer comes before the client gives up;
//   - html: a proxy's page, with status 200;
//   - 400 to 599: that status; 429 and 503 with Retry-After: 12.
func Fail(w http.ResponseWriter, r *http.Request, fault string) bool {
	switch fault {
	case "":
		return false
	case "drop":
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // this is the fault
		}
		return true
	case "slow":
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
		<-r.Context().Done()
		return true
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Sign in to the guest network</body></html>") // the client has gone
		return true
	}
	status, err := strconv.Atoi(fault)
	if err != nil || status < http.StatusBadRequest || status > 599 {
		return false
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "12")
	}
	Refuse(w, status, "fault")
	return true
}

// Refuse answers {"error": CODE}.
func Refuse(w http.ResponseWriter, status int, code string) {
	Answer(w, status, map[string]string{"error": code})
}

// Answer answers with the JSON form of value.
func Answer(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"no_json_form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone
}
