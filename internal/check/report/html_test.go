package report_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/check/report"
	"github.com/recoursehq/recourse/internal/test/testkit/browser"
)

// The page loads nothing, and nothing that a server says is markup in it.
func TestHTML(t *testing.T) {
	t.Parallel()
	text := written(t, report.HTML, hostileReport(t))
	if tags := regexp.MustCompile(`<(script|img|link|iframe|form|object|base)\b|<[^>]*\ssrc=|url\(`).FindAllString(text, -1); len(tags) > 0 {
		t.Errorf("the page has %v", tags)
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(link[1], "https://") || strings.Contains(link[1], "evil") {
			t.Errorf("the page links to %s", link[1])
		}
	}
}

// A phone and a screen show all of it, in light and dark, and so do assistive programs. With CHECK_PICTURES, the pictures are kept there.
func TestHTMLInABrowser(t *testing.T) {
	t.Parallel()
	text := written(t, report.HTML, hostileReport(t))
	serving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(serving.Close)
	tab := browser.Open(t)
	for _, width := range []int64{390, 1280} {
		for _, dark := range []bool{false, true} {
			tab.Size(width, 900)
			tab.Dark(dark)
			tab.Go(serving.URL)
			browser.Value[bool](tab, `document.querySelectorAll("details").forEach(d => d.open = true) === undefined`)
			if wide := browser.Value[float64](tab, `document.documentElement.scrollWidth`); wide > float64(width) {
				t.Errorf("%d px: the page is %v wide", width, wide)
			}
			for _, fault := range tab.Inaccessible() {
				t.Errorf("%d px, dark: %v: %s", width, dark, fault)
			}
			keepPicture(t, tab, width, dark)
		}
	}
}

// keepPicture writes a screenshot if it is asked for.
func keepPicture(t *testing.T, tab *browser.Tab, width int64, dark bool) {
	t.Helper()
	dir := os.Getenv("CHECK_PICTURES")
	if dir == "" {
		return
	}
	name := map[bool]string{false: "light", true: "dark"}[dark] + "-" + map[int64]string{390: "phone", 1280: "screen"}[width] + ".png"
	if err := os.WriteFile(filepath.Join(dir, name), tab.Screenshot(), 0o600); err != nil {
		t.Fatal(err)
	}
}
