package demo_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/cli/demo"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The picture in the README is up to date with the demonstration.
func TestPictureIsFresh(t *testing.T) {
	t.Parallel()
	picture, err := demo.Picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contracttest.Golden(t, filepath.Join("..", "..", "..", "docs", "demo.svg"), string(picture))
}
