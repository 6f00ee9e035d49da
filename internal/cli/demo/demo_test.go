package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli/demo"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// show returns a demonstration that ends after its calls.
func show(out io.Writer) *demo.Show {
	return &demo.Show{Out: out, Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar), Listen: "127.0.0.1:0", Once: true}
}

// A stopper ends a demonstration when it has printed a text.
type stopper struct {
	bytes.Buffer

	after string
	stop  context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.after) {
		s.stop()
	}
	return n, err
}

// All systems are shown, then the gateway. A story of the command line covers the gateway's part in full.
func TestAll(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	out := &stopper{after: "\n 1. A call that works.", stop: stop}
	if err := show(out).All(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the gateway is not shown: %v", err)
	}
	for _, name := range demo.Systems() {
		if !strings.Contains(out.String(), "More of it: recourse demo "+name+"\n") {
			t.Errorf("%s is not shown", name)
		}
	}
}

// The address is opened before anything is printed: the default one, another one if that is in use, or only the chosen
// one.
func TestListen(t *testing.T) {
	t.Parallel()
	usual, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:8787")
	if err == nil {
		defer usual.Close()
	}
	var out bytes.Buffer
	s := show(&out)
	for _, address := range []string{"nowhere", "127.0.0.1:8787"} {
		s.Listen = address
		if err := s.All(t.Context()); err == nil || out.Len() > 0 {
			t.Errorf("%s: %v %s", address, err, &out)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	calls := &stopper{after: "\n 1. A call that works.", stop: stop}
	s = show(calls)
	s.Listen = ""
	if err := s.Gateway(ctx); !errors.Is(err, context.Canceled) || strings.Contains(calls.String(), ":8787/") {
		t.Errorf("with the default address in use: %v %s", err, calls)
	}
}

// The output names the reference systems, and says how to use the running gateway. The console has the failures.
func TestGatewayKeepsServing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &stopper{after: "Ctrl-C ends it."}
	failures := ""
	out.stop = func() {
		if failures == "" {
			failures = consolePage(t, out.String())
		}
		stop()
	}
	s := show(out)
	s.Once = false
	if err := s.Gateway(ctx); err != nil {
		t.Error(err)
	}
	if !strings.Contains(failures, "missing_param") || !strings.Contains(failures, "rate_limited") {
		t.Errorf("got console page %s", failures)
	}
	for _, name := range demo.Systems() {
		if !strings.Contains(out.String(), "\n    recourse demo "+name+" ") {
			t.Errorf("no %s in the output", name)
		}
	}
}

// consolePage returns the console's page of failures. Its address is in the first line of the output.
func consolePage(t *testing.T, shown string) string {
	t.Helper()
	first, _, _ := strings.Cut(shown, "\n")
	_, url, _ := strings.Cut(first, "each call that fails: ")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/failures", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
