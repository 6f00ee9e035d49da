package console_test

import (
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/browser"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A lost call is made once, and nobody knows what became of it.
type lost struct {
	client *testkit.Client
	server *testkit.Server
	id     string // of the request
}

func loseCall(t *testing.T, s *store.Store) *lost {
	t.Helper()
	l := &lost{server: testkit.NewServer(t)}
	g, _ := gatewaytest.NewReaching(t, gateway.Reach{Once: s.Once(), Pause: 1},
		"store: sqlite:unused.db\nservers:\n  farm:\n    url: "+l.server.URL()+"\n    tools: {order_create: {once: true}}\n")
	l.client = testkit.NewClient(t, gatewaytest.Open(t, g, false)+gatewaytest.Path, testkit.Modern)
	l.server.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(false))
	l.id = l.repeat(t).Header.Get("X-Request-Id")
	write(t, s, failed(l.id, timeout()))
	return l
}

func (l *lost) repeat(t *testing.T) *testkit.Answer {
	t.Helper()
	a, err := l.client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var hidden = regexp.MustCompile(`<input type="hidden" name="(key|fence)" value="(\w+)"`)

// What an operator says of an unknown call is what its next repetition goes by. Nobody else can say it, and it is said once.
func TestSettle(t *testing.T) {
	t.Parallel()
	for landed, then := range map[string]struct {
		code   string
		orders int
	}{"yes": {"outcome_known", 0}, "no": {"", 1}} {
		t.Run(landed, func(t *testing.T) {
			t.Parallel()
			s, k, log := openStore(t), new(keys), new(testkit.Buffer)
			l := loseCall(t, s)
			c := console.New(console.Sources{Journal: s.Journal(), Once: s.Once()}, slog.New(slog.NewTextHandler(log, nil)))
			c.RequireLogin(k.verify)
			server := httptest.NewServer(c.Handler())
			t.Cleanup(server.Close)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			operator, at := &http.Client{Jar: jar}, server.URL+"/calls/"+l.id
			enter(t, operator, server.URL+"/login", url.Values{"key": {operatorKey}})
			_, page := visit(t, operator, at)
			form := url.Values{"landed": {landed}}
			for _, found := range hidden.FindAllStringSubmatch(page, -1) {
				form.Set(found[1], found[2])
			}
			if len(form) != 3 {
				t.Fatalf("got page\n%s", page)
			}
			l.refuses(t, operator, at, form)
			if e := gatewaytest.Record(t, l.repeat(t)); e.Code != "outcome_unknown" {
				t.Fatalf("before anybody has settled it: %+v", e)
			}
			resp, page := enter(t, operator, at+"/settle", form)
			if resp.Request.URL.Path != "/calls/"+l.id || strings.Contains(page, "Settle it") || !strings.Contains(log.String(), "operator=ada") {
				t.Errorf("got %s, the log %s and the page\n%s", resp.Request.URL, log, page)
			}
			if resp, _ := enter(t, operator, at+"/settle", form); resp.StatusCode != http.StatusConflict {
				t.Errorf("said again: HTTP %d", resp.StatusCode)
			}
			a := l.repeat(t)
			if n := l.server.Orders("A-17"); n != then.orders || a.Succeeded() != (then.code == "") || then.code != "" && gatewaytest.Record(t, a).Code != then.code {
				t.Errorf("got %s with %d orders", a.Body, n)
			}
		})
	}
}

// An unknown call can also be settled on the page of a request that has repeated it, even if the journal does not have the first one.
func TestSettleOnThePageOfARepetition(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	l := loseCall(t, s)
	again := failed(l.repeat(t).Header.Get("X-Request-Id"), timeout())
	again.First = l.id
	write(t, s, again)
	server := httptest.NewServer(console.New(console.Sources{Journal: s.Journal(), Once: s.Once()}, slog.New(slog.DiscardHandler)).Handler())
	t.Cleanup(server.Close)
	at := server.URL + "/calls/" + again.RequestID
	_, page := visit(t, http.DefaultClient, at)
	form := url.Values{"landed": {"no"}}
	for _, found := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(found[1], found[2])
	}
	resp, page := enter(t, http.DefaultClient, at+"/settle", form)
	if resp.StatusCode != http.StatusOK || resp.Request.URL.String() != at || strings.Contains(page, "Settle it") {
		t.Errorf("got HTTP %d at %s, and the page\n%s", resp.StatusCode, resp.Request.URL, page)
	}
	if a := l.repeat(t); !a.Succeeded() || l.server.Orders("A-17") != 1 {
		t.Errorf("got %s with %d orders", a.Body, l.server.Orders("A-17"))
	}
}

// refuses checks that somebody who has not signed in, another site, and a form that says nothing settle nothing.
func (l *lost) refuses(t *testing.T, operator *http.Client, at string, form url.Values) {
	t.Helper()
	if resp, _ := post(t, at+"/settle", form); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a login: HTTP %d", resp.StatusCode)
	}
	for name, want := range map[string]int{"cross-site": http.StatusForbidden, "same-origin": http.StatusBadRequest} {
		text := form.Encode()
		if want == http.StatusBadRequest {
			text = strings.ReplaceAll(text, "landed", "said")
		}
		req, err := http.NewRequest(http.MethodPost, at+"/settle", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", name)
		resp, err := operator.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: HTTP %d", name, resp.StatusCode)
		}
	}
}

// Settling a call takes two clicks, and its page no longer asks for it afterwards. Other calls' pages do not.
func TestSettleInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tab := browser.Open(t)
	tab.Go(w.url + "/calls/" + w.last)
	tab.Await(`document.querySelector("h1") !== null && document.querySelector(".settling") === null`)
	tab.Go(w.url + "/calls/" + w.doubted)
	tab.Click(".settling summary")
	tab.Click(`.settling button[value="no"]`)
	tab.Await(`location.pathname === "/calls/` + w.doubted + `" && document.querySelector("h1") !== null && document.querySelector(".settling") === null`)
	if rows, err := w.store.Once().List(t.Context(), new(store.OnceFilter)); err != nil || len(rows) > 0 {
		t.Errorf("got %+v, %v", rows, err)
	}
}
