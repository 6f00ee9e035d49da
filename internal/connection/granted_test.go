package connection_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Who grants less than was asked for is told that calls which need the rest still fail. A provider that does not say what it
// has granted has granted everything, and so has one that issues a refresh token without naming the scope for it.
func TestLessIsGranted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		less   []string
	}{
		"less":                  {`"scope":"ag1","refresh_token":"r"`, []string{"ag2", "ag3"}},
		"all":                   {`"scope":"ag1 ag2 ag3 more","refresh_token":"r"`, nil},
		"nothing is said":       {`"refresh_token":"r"`, nil},
		"without refresh token": {`"scope":"ag1 ag2 ag3"`, []string{"offline_access"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.provider.Scopes = []string{"ag1", "ag2", "ag3", "offline_access"}
			s.hosts["127.0.0.1:2"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/oauth/token" {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"access_token":"a-1","token_type":"Bearer","expires_in":3600,`+tt.answer+`}`)
					return
				}
				http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=code-1&state="+r.FormValue("state"), http.StatusFound)
			})
			b := s.browser()
			link := s.invite(s.provider, ada)
			b.submit(link, "step", "enter", "key", "ada's key")
			at := b.submit(link)
			at.wants(t, http.StatusOK, "John Deere is connected")
			if all := strings.Contains(at.text, "Your agent can call again now."); all != (tt.less == nil) {
				t.Errorf("got %s", at.text)
			}
			for _, scope := range tt.less {
				at.wants(t, http.StatusOK, "<code>"+scope+"</code>")
			}
			b.open(at.url.String()).wants(t, http.StatusOK, at.text) // it can be reloaded
			forged := strings.Replace(at.url.String(), "less=", "less=x", 1)
			if page := b.open(forged); tt.less != nil && strings.Contains(page.text, "<code>") {
				t.Errorf("a stranger's list is shown: %s", page.text)
			}
		})
	}
}
