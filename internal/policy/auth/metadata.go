package auth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// metadata fetches an issuer's metadata (OpenID Connect Discovery 1.0, RFC 8414).
func (s *Issuers) metadata(ctx context.Context, issuer string) (text []byte, err error) {
	text, status, err := s.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
	if status == http.StatusNotFound {
		u, parseErr := url.Parse(issuer)
		if parseErr != nil {
			return nil, parseErr
		}
		u.Path = "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.Path, "/")
		text, _, err = s.get(ctx, u.String())
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Issuer string `json:"issuer"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return nil, fmt.Errorf("metadata of %s: %w", issuer, err)
	case said.Issuer != issuer:
		return nil, fmt.Errorf("metadata of %s: they are those of the issuer %.200q", issuer, said.Issuer)
	}
	return text, nil
}

// get fetches a JSON document.
func (s *Issuers) get(ctx context.Context, from string) (text []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode, fmt.Errorf("GET %s: HTTP status %d", from, resp.StatusCode)
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	switch {
	case err != nil:
		return nil, resp.StatusCode, fmt.Errorf("GET %s: %w", from, err)
	case len(text) > maxKeySet:
		return nil, resp.StatusCode, fmt.Errorf("GET %s: the answer has more than %d bytes", from, maxKeySet)
	}
	return text, resp.StatusCode, nil
}

// IsSafeURL reports whether the content of a URL cannot be changed on the way: it is https, or on this
// machine.
func IsSafeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && door.IsLoopback(u.Hostname())
}
