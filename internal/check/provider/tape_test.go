package provider_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/check/provider"
)

// What a provider has answered in one run is what it answers in the next, without the network and without a credential in the file.
func TestTape(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
	made := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		made++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session="+secret)
		w.WriteHeader(http.StatusOK + made)
		_, _ = io.WriteString(w, `{"order": `+strings.Repeat("1", made)+`, "access_token": "`+secret+`"}`)
	}))
	t.Cleanup(service.Close)
	file := filepath.Join(t.TempDir(), "provider.jsonl")
	run := func(dial func(context.Context, string, string) (net.Conn, error)) (statuses []int) {
		tape, err := provider.OpenTape(file)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &provider.Proxy{Dial: dial, Tape: tape}
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		for _, body := range []string{`{"a":1}`, `{"a":1}`, `{"a":2,"password":"` + secret + `"}`} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider.test/orders?api_key="+secret, strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+secret)
			resp, err := through(t, proxy).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if !strings.HasPrefix(string(text), `{"order": 1`) {
				t.Errorf("HTTP %d: %s", resp.StatusCode, text)
			}
			statuses = append(statuses, resp.StatusCode)
		}
		return statuses
	}
	first := run(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, service.Listener.Addr().String())
	})
	again := run(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("there is no network") })
	if made != len(first) || len(again) != len(first) {
		t.Fatalf("first %v, again %v, %d requests", first, again, made)
	}
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("first %v, again %v", first, again)
		}
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%v: %s", err, text)
	}
	if err := os.WriteFile(file, []byte("{\"method\":\"GET\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.OpenTape(file); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file that is no recording: %v", err)
	}
}
