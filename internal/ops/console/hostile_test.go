package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/journal"
)

// hostile are texts of servers and clients that try to have an effect.
var hostile = []string{
	`<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`,
	`'"></textarea></pre></title><svg/onload=alert(1)>`,
	`javascript:alert(1)`,
	`</script><script>alert(1)//`,
	`" hx-get="/x" hx-trigger="load" hx-on:click="alert(1)`,
	"\x1b]0;owned\a\x1b[2J\x1b[31mred",
	"abc\u202ecod.exe\u2066",
	"zero\u200bwidth\ufeff",
	"a\r\nSet-Cookie: x=y\r\n\r\n<b>",
	"{{7*7}} ${7*7} \x00 \xff",
	strings.Repeat("W", 1<<20),
}

// hostileCall has the text wherever a server or client can put one.
func hostileCall(id, text string) *journal.Row {
	whole := text
	text = text[:min(len(text), 1<<12)]
	e := timeout().WithMessage("%s", whole).With(func(e *recourse.Error) {
		e.Code, e.Hints, e.Provider = text, []string{text}, text
		e.Verify.Tool, e.Verify.LookAt = text, text
		e.Verify.Args = recourse.Args{}.With(text, text)
		e.Violations = []recourse.Violation{{Param: text, Message: text, Rule: text}}
		e.Origin = recourse.Origin(text)
	})
	c := failed(id, e)
	c.Tool = whole
	c.Caller, c.Org, c.User, c.Cause, c.Final, c.TraceID, c.Peer, c.Nature = text, text, text, text, text, text, text, text
	c.Arguments, _ = json.Marshal(map[string]string{text: whole})
	c.Attempts[0].Reason, c.Attempts[0].Failure = text, recourse.Kind(text)
	return c
}

// harmless fails for anything on a page that none of the console's own pages has.
func harmless(t *testing.T, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			for _, r := range n.Data {
				if r == 0x1b || r == 0x202e || r == 0x2066 || r == 0x200b || r == 0xfeff || r == 0 || r == '\a' {
					t.Errorf("a page shows %q", r)
					return
				}
			}
		}
		if n.Type != html.ElementNode {
			continue
		}
		if src := attribute(n, "src"); (n.Data == "img" || n.Data == "script") && (n.FirstChild != nil || !strings.HasPrefix(src, "/static/")) {
			t.Errorf("a page has the element %s %v", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			to := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "hx-on"), a.Key == "hx-get", a.Key == "hx-trigger":
				t.Errorf("a page has the attribute %s=%q", a.Key, a.Val)
			case (a.Key == "href" || a.Key == "action") && strings.HasPrefix(to, "javascript:"):
				t.Errorf("a page links to %s", a.Val)
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Texts of servers and clients are plain text on every page, and invisible characters are shown.
func TestHostileTexts(t *testing.T) {
	t.Parallel()

	for _, text := range hostile {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) {
			t.Parallel()
			url1, _ := withJournal(t, hostileCall("req-1", text))
			for _, path := range []string{
				"/failures", "/calls/req-1", "/failures?tool=" + url.QueryEscape(text), "/failures?since=" + url.QueryEscape(text),
				"/failures?text=" + url.QueryEscape(text), "/failures?caller=" + url.QueryEscape(text), "/calls/" + url.PathEscape(text),
			} {
				if len(path) > 1<<19 { // longer than servers accept
					continue
				}
				resp, page := get(t, url1+path)
				if resp.StatusCode >= http.StatusInternalServerError || len(page) > 1<<20 {
					t.Errorf("%.60q: HTTP %d with %d bytes", path, resp.StatusCode, len(page))
				}
				harmless(t, page)
			}
		})
	}
}
