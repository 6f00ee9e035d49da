package demo_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/recoursehq/recourse/internal/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show returns a demonstration that ends after its calls.
func show(out io.Writer) *demo.Show {
	return &demo.Show{Out: out, Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar), Listen: "127.0.0.1:0", Once: true}
}

// What the demo promises is seen: each call fails without, and ends well or with
// good advice with the gateway.
func TestGateway(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := show(&out).Gateway(t.Context()); err != nil {
		t.Fatal(err)
	}
	rest := out.String()
	for _, want := range []string{
		"without  │ F-1: North field", "with     │ F-1: North field",
		`validating "arguments"`, "[missing_param] reference is required; amount must be a number.",
		"unknown tool", "Did you mean",
		"Service Unavailable", "with     │ F-flaky: North field",
		"Too", "wait 12 s, then make the same call again",
		"s3cr3t", "[unknown] pq: could not connect to [connection string]", "[stack trace]",
		"unsupported content type", "[bad_response]",
		"session not found", "with     │ F-forgotten: North field",
		"context deadline exceeded", `order_get(reference="A-17"), and look at status`,
		"created 1 time(s)",
	} {
		at := strings.Index(rest, want)
		if at < 0 {
			t.Fatalf("no %q in what follows:\n%s", want, rest)
		}
		rest = rest[at+len(want):]
	}
}
