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

// Every system is shown, and then the gateway, which a story of the command line runs as a
// whole: here it finds no address.
func TestAll(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := show(&out)
	s.Listen = "nowhere"
	if err := s.All(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the gateway is not shown: %v", err)
	}
	for _, name := range demo.Systems() {
		if !strings.Contains(out.String(), "More of it: recourse demo "+name+"\n") {
			t.Errorf("%s is not shown", name)
		}
	}
}
