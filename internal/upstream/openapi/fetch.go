package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/recoursehq/recourse"
)

const (
	fetchTimeout  = 15 * time.Second
	maxRedirects  = 5
	fetchAccepted = "application/yaml, application/json, text/yaml;q=0.9, */*;q=0.5"
)

// IsURL reports whether a description has to be fetched, rather than read from a file.
func IsURL(source string) bool {
	u, err := url.Parse(source)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// A StatusError is an HTTP answer other than a description, and what it says.
type StatusError struct {
	Status  int
	Failure *recourse.Error // of the provider "The server"
}

func (e *StatusError) Error() string { return fmt.Sprintf("the answer has status %d", e.Status) }

// Fetch returns the description at a URL. It takes at most 15 s and [MaxSize] bytes, and follows
// redirects on the same host only.
func Fetch(ctx context.Context, source string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, http.NoBody)
	if err != nil {
		return nil, errors.New("this is not a URL")
	}
	r.Header.Set("Accept", fetchAccepted)
	client := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch from := via[0].URL; {
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case to.URL.Host != from.Host || to.URL.Scheme != from.Scheme:
			return fmt.Errorf("it redirects to %s: only redirects on the same host are followed", to.URL.Host)
		}
		return nil
	}}
	resp, err := client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // its text repeats the URL, including secrets
			err = failed.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		const who = "The server"
		return nil, &StatusError{resp.StatusCode, cmp.Or(recourse.FromHTTP(who, resp), recourse.FromStatus(who, resp.StatusCode))}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxSize+1))
	if len(text) > MaxSize {
		return nil, errSize
	}
	return text, err
}
