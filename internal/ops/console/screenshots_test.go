package console_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/browser"
)

var screenshots = flag.Bool("screenshots", false, "take the screenshots in docs/console anew")

// pictures maps the names of the screenshots' files to pages.
func (w *world) pictures() map[string]string {
	return map[string]string{
		"failures": "/failures?since=24h", "call": "/calls/" + w.last, "server": "/servers/farm",
		"code": "/contracts/fieldmcp/codes/RATE_LIMIT_ORG", "connections": "/connections",
	}
}

// TestScreenshots takes them with -screenshots, as `make screenshots` does.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	if !*screenshots {
		t.Skip("only with -screenshots")
	}
	dir := filepath.Join("..", "..", "..", "docs", "console")
	w := newWorld(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range w.pictures() {
		for _, dark := range []bool{false, true} {
			tab := browser.Open(t)
			tab.Size(1200, 760)
			tab.Dark(dark)
			tab.Go(w.url + path)
			file := name
			if dark {
				file += "-dark"
			}
			height := browser.Value[float64](tab, `document.querySelector("main").lastElementChild.getBoundingClientRect().bottom + 28`)
			tab.Size(1200, int64(min(height, 760)))
			if err := os.WriteFile(filepath.Join(dir, file+".png"), tab.Screenshot(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
