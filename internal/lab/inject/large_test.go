package inject_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// get returns what a client of an API gets.
func get(t *testing.T, method, url string) (resp *http.Response, body []byte, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err = (&http.Client{Transport: base(t)}).Do(r); err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp, body, err
}

// An answer that is too large to change can still be broken off, slowed down or reset, with or without a
// Content-Length.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	const size = 18 << 20
	reset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	well := func(err error) bool { return err == nil }
	for _, tt := range []struct {
		fault string
		meets func(error) bool
		least int
		most  int
	}{
		{"truncate", well, size / 2, size - 1},
		{"reset-within", reset, 0, size - 1},
		{"reset-after", func(error) bool { return true }, 0, size}, // a reset may lose what has not arrived
		{"empty", well, size, size},
	} {
		for _, announced := range []bool{true, false} {
			testkit.Virtual(t, tt.fault+", "+strconv.FormatBool(announced), func(t *testing.T) {
				api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if announced {
						w.Header().Set("Content-Length", strconv.Itoa(size))
					}
					_, _ = w.Write(bytes.Repeat([]byte("x"), size)) // a client that is gone reads nothing
				}))
				injector, url := front(t, inject.API, api, "rules: [{fault: "+tt.fault+"}]")
				_, body, err := get(t, http.MethodGet, url)
				if !tt.meets(err) || len(body) < tt.least || len(body) > tt.most {
					t.Errorf("%d bytes, %v", len(body), err)
				}
				if got := injector.Ledger().Calls; len(got) != 1 || got[0].Reached != 1 || got[0].Faults != 1 {
					t.Errorf("got ledger %+v", got)
				}
			})
		}
	}
}

// Messages in an API's stream arrive while it continues, slowed down or until it is reset.
func TestStreamsOfAPIs(t *testing.T) {
	t.Parallel()
	for fault, least := range map[string]time.Duration{"{drip: 1s}": 6 * time.Second, "reset-after": 0} {
		testkit.Virtual(t, fault, func(t *testing.T) {
			api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: 1\n") // a client that is gone reads nothing
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done() // an endless stream
			}))
			_, url := front(t, inject.API, api, "rules: [{fault: "+fault+"}]")
			r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			resp, err := (&http.Client{Transport: base(t)}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			line, err := bufio.NewReader(resp.Body).ReadString('\n')
			if took := time.Since(began); err != nil || line != "data: 1\n" || took < least || took > 2*least+time.Second {
				t.Errorf("%q after %v: %v", line, took, err)
			}
		})
	}
}

// Answers without a body are unchanged: those to HEAD, whose Content-Length belongs to another answer, and 304.
func TestAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"truncate", "empty", "reset-within", "{drip: 1s}", "stale", "{cut: 1}"} {
		testkit.Virtual(t, fault, func(t *testing.T) {
			api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				if r.Method == http.MethodHead {
					w.Header().Set("Content-Length", "1234")
					return
				}
				w.WriteHeader(http.StatusNotModified)
			}))
			_, url := front(t, inject.API, api, "rules: [{fault: "+fault+"}]")
			resp, body, err := get(t, http.MethodHead, url)
			if err != nil || len(body) > 0 || resp.ContentLength != 1234 {
				t.Errorf("HEAD: %+v %v", resp, err)
			}
			resp, body, err = get(t, http.MethodGet, url)
			if err != nil || len(body) > 0 || resp.StatusCode != http.StatusNotModified || resp.Header.Get("Content-Length") != "" {
				t.Errorf("304: %+v %v", resp, err)
			}
		})
	}
}

// A connection that changes its protocol passes, whatever the rules.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"truncate", "stale"} {
		testkit.Virtual(t, fault, func(t *testing.T) {
			api := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, both, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				line, _ := both.ReadString('\n') // the test checks how it ends
				_, _ = io.WriteString(conn, strings.ToUpper(line))
			}))
			_, url := front(t, inject.API, api, "rules: [{fault: "+fault+"}]")
			r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "echo")
			resp, err := (&http.Client{Transport: base(t)}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			conn, ok := resp.Body.(io.ReadWriter)
			if !ok {
				t.Fatalf("%d %T", resp.StatusCode, resp.Body)
			}
			if _, err := io.WriteString(conn, "hello\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(conn).ReadString('\n'); line != "HELLO\n" {
				t.Errorf("%q %v", line, err)
			}
		})
	}
}
