// Package browser opens pages in a real Chromium.
package browser

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// patience is how long a page may take to reach the state that a test waits for.
const patience = 15 * time.Second

// A Tab is a page with cookies of its own. At its end, the test that opened it fails if a script of the page
// has thrown, or if its Content-Security-Policy has blocked something.
type Tab struct {
	tb  testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// Open opens a tab in the browser that all tests of the process share. Without a Chromium, it skips the test;
// with CI=true that is a failure instead.
func Open(tb testing.TB) *Tab {
	tb.Helper()
	life, end := context.WithCancel(context.WithoutCancel(tb.Context())) // each step has a timeout of its own
	tb.Cleanup(end)
	allocator, leave := remote.NewAllocator(life, service.Chromium(tb), remote.NoModifyURL)
	tb.Cleanup(leave)
	t := &Tab{tb: tb}
	ctx, closeTab := chromedp.NewContext(allocator, chromedp.WithNewBrowserContext(), chromedp.WithListener(t.hear))
	t.ctx = ctx
	tb.Cleanup(func() {
		closeTab()
		for _, fault := range t.Faults() {
			tb.Errorf("the page: %s", fault)
		}
	})
	if err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		return err
	})); err != nil {
		tb.Fatalf("browser: open a tab: %v", err)
	}
	return t
}

// hear collects faults in the page.
func (t *Tab) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = exception(e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
			fault = e.Entry.Text
		}
	}
	if fault == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, fault)
}

// exception returns the exception of a script.
func exception(of *runtime.ExceptionDetails) string {
	if of.Exception != nil && of.Exception.Description != "" {
		return of.Text + " " + of.Exception.Description
	}
	return of.Text
}

// Faults returns the page's faults since the last call.
func (t *Tab) Faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	faults := t.faults
	t.faults = nil
	return faults
}

func (t *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.tb.Fatalf("browser: %s: %v", what, err)
	}
}

// Go opens a page and waits until it has loaded.
func (t *Tab) Go(url string) {
	t.tb.Helper()
	t.do("open "+url, chromedp.Navigate(url))
}

// Click clicks the first element of a CSS selector as soon as it is visible.
func (t *Tab) Click(selector string) {
	t.tb.Helper()
	t.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Type types into the first element of a CSS selector.
func (t *Tab) Type(selector, text string) {
	t.tb.Helper()
	t.do("type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press presses keys, such as those of package kb, in whatever has the focus.
func (t *Tab) Press(keys string) {
	t.tb.Helper()
	t.do("press keys", chromedp.KeyEvent(keys))
}

// Await waits until a JavaScript expression is true, on this page or on the page that it leads to.
func (t *Tab) Await(expression string) {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if is {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond): // a page that is being left may cause an error
		case <-ctx.Done():
			t.tb.Fatalf("browser: await %s: %v\nthe page: %.2000s", expression, err, Value[string](t, "document.body?.innerText ?? ''"))
		}
	}
}

// Value returns the value of a JavaScript expression, which may be a promise.
func Value[T any](t *Tab, expression string) T {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.tb.Fatalf("browser: %.200s: %v", expression, err)
	}
	return value
}

// Size sets the window's width and height in pixels.
func (t *Tab) Size(width, height int64) {
	t.tb.Helper()
	t.do("change the size", chromedp.EmulateViewport(width, height))
}

// Dark shows the page with the preference for dark colours, or for light ones. Animations are off.
func (t *Tab) Dark(dark bool) {
	t.tb.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	t.do("change the colours", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// Screenshot returns the window as a PNG.
func (t *Tab) Screenshot() []byte {
	t.tb.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.tb.Fatalf("browser: take a screenshot: %v", err)
	}
	return png
}

// Inaccessible returns what axe finds serious or critical in the page: the rule, and the elements that break
// it. It checks only these rules, or all if there are none.
func (t *Tab) Inaccessible(rules ...string) []string {
	t.tb.Helper()
	script, err := os.ReadFile(filepath.Join(sdk.Node(t.tb), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.tb.Fatalf("browser: read axe: %v", err)
	}
	options := map[string]any{"resultTypes": []string{"violations"}}
	if len(rules) > 0 {
		options["runOnly"] = rules
	}
	chosen, err := json.Marshal(options)
	if err != nil {
		t.tb.Fatalf("browser: %v", err)
	}
	return Value[[]string](t, string(script)+`;axe.run(document, `+string(chosen)+`).then(found => found.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ") + " " + n.any.map(c => c.message).join("; ")).join(" | ")))`)
}
