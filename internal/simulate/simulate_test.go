package simulate_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/simulate"
	"github.com/recoursehq/recourse/internal/testkit"
)

func files(t *testing.T, o simulate.Options) map[string][]byte {
	t.Helper()
	result, err := simulate.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := result.Files()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A seed always gives the same page, to the byte; another seed gives another page.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	first := files(t, simulate.Options{Seed: 7, Tasks: 60})
	if diff := cmp.Diff(first, files(t, simulate.Options{Seed: 7, Tasks: 60})); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, files(t, simulate.Options{Seed: 8, Tasks: 60})) {
		t.Error("another seed changes nothing")
	}
}

// The figures are valid XML, and the page shows them all.
func TestFigures(t *testing.T) {
	t.Parallel()
	made := files(t, simulate.Options{Seed: 1, Tasks: 20})
	for name, data := range made {
		if name == simulate.Page {
			continue
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Contains(made[simulate.Page], []byte("]("+name+")")) {
			t.Errorf("no %s on the page", name)
		}
	}
}

// The page in docs is up to date with the code.
func TestLongPage(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	for name, want := range files(t, simulate.Options{Seed: 1, Tasks: 10_000}) {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, make simulate writes it (-want +got):\n%s", name, diff)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simulate.Run(ctx, simulate.Options{Tasks: 1 << 40}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
