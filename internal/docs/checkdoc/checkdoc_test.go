package checkdoc_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/docs/checkdoc"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

func TestPageIsFresh(t *testing.T) {
	t.Parallel()
	contracttest.Golden(t, filepath.Join("..", "..", "..", "docs", "checks.md"), checkdoc.Page())
}
