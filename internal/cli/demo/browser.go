package demo

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// A browser keeps cookies and follows redirects. It shows nothing.
type browser struct{ http.Client }

func newBrowser() *browser {
	jar, _ := cookiejar.New(nil) // it cannot fail without options
	return &browser{http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// A screen is what a browser would show.
type screen struct {
	url  *url.URL
	text string
}

// submit sends a form.
func (b *browser) submit(ctx context.Context, to string, form url.Values) (screen, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return screen{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.Do(req)
	if err != nil {
		return screen{}, err
	}
	defer resp.Body.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return screen{resp.Request.URL, string(text)}, err
}

// hidden matches a field that a form sends back.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// connect does what a person does with the link in a failure: identify themselves, agree, and grant some scopes at the
// provider.
func (b *browser) connect(ctx context.Context, r *ranch, scopes []string) error {
	if _, err := b.submit(ctx, r.link, url.Values{"step": {"enter"}, "key": {r.key}}); err != nil {
		return err
	}
	consent, err := b.submit(ctx, r.link, nil)
	if err != nil {
		return err
	}
	form := url.Values{"answer": {"allow"}, "agreed": scopes}
	for _, field := range hidden.FindAllStringSubmatch(consent.text, -1) {
		form.Add(field[1], html.UnescapeString(field[2]))
	}
	done, err := b.submit(ctx, r.deereURL+"/oauth/authorize", form)
	if err == nil && !strings.Contains(done.text, "is connected") {
		err = fmt.Errorf("%w: %s shows something else", errNotConnected, done.url.Path)
	}
	return err
}
