package inject_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// tunnelled serves an API over TLS, and returns a client that reaches it through a forward proxy with these faults.
func tunnelled(t *testing.T, faults string) (*inject.Injector, *http.Client, string) {
	t.Helper()
	listener, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _ = w.Write(append([]byte(r.Method+" "), body...)) // a client that is gone reads nothing
		}
	}))
	_ = api.Listener.Close() // not used
	api.Listener = listener
	api.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	api.StartTLS()
	t.Cleanup(api.Close)
	injector := inject.New(plan(t, inject.API, faults))
	proxy, err := url.Parse(serve(t, inject.Forward(inject.NewTransport(injector, inject.API, base(t)))))
	if err != nil {
		t.Fatal(err)
	}
	through, ok := api.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatalf("%T", api.Client().Transport)
	}
	through.Proxy, through.DialContext, through.DisableKeepAlives = http.ProxyURL(proxy), testkit.Dial, true
	t.Cleanup(through.CloseIdleConnections)
	return injector, &http.Client{Transport: through}, api.URL
}

// A tunnel carries encrypted data, and only has the faults of connections: no fault that reads or changes messages.
func TestTunnel(t *testing.T) {
	t.Parallel()
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	eof := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	well := func(err error) bool { return err == nil }
	for _, tt := range []struct {
		rule    string
		meets   func(error) bool
		reached int
		atLeast time.Duration
	}{
		{"{match: {path: elsewhere}, fault: refuse}", well, 1, 0},
		{"{fault: {status: 503}}", well, 1, 0},
		{"{fault: empty}", well, 1, 0},
		{"{fault: error-text}", well, 1, 0},
		{"{fault: refuse}", eof, 0, 0},
		{"{match: {method: CONNECT, path: '127.0.0.1:*', caller: ''}, fault: refuse}", eof, 0, 0},
		{"{match: {method: GET}, fault: refuse}", well, 1, 0},
		{"{fault: reset-before}", is(syscall.ECONNRESET), 0, 0},
		{"{fault: reset-before, effect: after}", is(syscall.ECONNRESET), 1, 0},
		{"{fault: reset-within}", is(syscall.ECONNRESET), 1, 0},
		{"{fault: truncate}", eof, 1, 0},
		{"{fault: hang}", is(context.DeadlineExceeded), 0, time.Minute},
		{"{fault: hang, effect: after}", is(context.DeadlineExceeded), 1, time.Minute},
		{"{fault: {drip: 1ms}}", well, 1, time.Second},
		{"{fault: reset-after}", well, 1, 0},
	} {
		testkit.Virtual(t, tt.rule, func(t *testing.T) {
			injector, client, api := tunnelled(t, "rules: ["+tt.rule+"]")
			began := time.Now()
			r, err := http.NewRequestWithContext(soon(t), http.MethodPost, api, strings.NewReader("an order"))
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			resp, err := client.Do(r)
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close() // already read
			}
			if took := time.Since(began); !tt.meets(err) || err == nil && string(body) != "POST an order" || took < tt.atLeast {
				t.Errorf("after %v: got %q %v", took, body, err)
			}
			want := []inject.LedgerLine{{Tool: "CONNECT " + strings.TrimPrefix(api, "https://"), Arguments: "{}", Calls: 1, Reached: tt.reached}}
			if err != nil || tt.atLeast > 0 || strings.Contains(tt.rule, "reset-after") {
				want[0].Faults = 1
			}
			got := injector.Ledger().Calls
			if diff := cmp.Diff(want[0].Tool, got[0].Tool); diff != "" || len(got) != 1 || got[0].Reached != want[0].Reached || got[0].Faults != want[0].Faults {
				t.Errorf("got ledger %+v, want %+v", got, want)
			}
		})
	}
}

// A server that cannot be reached is reported as such.
func TestTunnelToNowhere(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "refused", func(t *testing.T) {
		injector, client, _ := tunnelled(t, "rules: [{match: {path: elsewhere}, fault: refuse}]")
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, "https://127.0.0.1:99999", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err == nil {
			_ = resp.Body.Close() // a response here is already a failure
		}
		if err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
			t.Errorf("%v", err)
		}
		if got := injector.Ledger().Calls; len(got) != 1 || got[0].Reached != 0 {
			t.Errorf("got ledger %+v", got)
		}
	})
}
