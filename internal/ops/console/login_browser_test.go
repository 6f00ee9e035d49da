package console_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/browser"
)

// An operator signs in and out on a phone. A page that everybody can use reports a wrong key.
func TestLoginInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.remote(t)
	tab := browser.Open(t)
	tab.Size(360, 740)
	tab.Go(at + "/failures?since=1h")
	tab.Await(`location.pathname === "/login" && document.activeElement.id === "key"`)
	tab.Type("#key", "rk_wrong\r")
	tab.Await(`document.querySelector("[role=alert]") !== null`)
	for _, dark := range []bool{false, true} {
		tab.Dark(dark)
		for _, found := range tab.Inaccessible() {
			t.Errorf("after a wrong key, dark %v: %s", dark, found)
		}
	}
	tab.Type("#key", operatorKey)
	tab.Click("form .first")
	tab.Await(`location.pathname + location.search === "/failures?since=1h" && document.querySelector("h1").innerText === "Failures"`)
	if wide := browser.Value[int](tab, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("after the login the page is %d pixels wide", wide)
	}
	for _, found := range tab.Inaccessible() {
		t.Errorf("after the login: %s", found)
	}
	if seen := browser.Value[string](tab, `document.cookie + document.documentElement.outerHTML.includes("`+operatorKey+`")`); seen != "false" {
		t.Errorf("scripts can read the cookie or the key: %s", seen)
	}
	tab.Click(".out button")
	tab.Await(`location.pathname === "/login"`)
	tab.Go(at + "/failures")
	tab.Await(`location.pathname === "/login"`)
}
