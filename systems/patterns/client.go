package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
)

// provider is what the backend is called towards people.
const provider = "The pattern library"

// client asks the backend. Its errors are records, made by the transport.
type client struct {
	base string
	http *http.Client
}

func newClient(base string) *client {
	transport := mcptool.Transport(&http.Transport{}, provider,
		mcptool.WithMediaType("application/json"), mcptool.WithFailure("/error"))
	return &client{base: base, http: &http.Client{Transport: transport}}
}

func (c *client) search(ctx context.Context, q, category, difficulty string) ([]pattern, error) {
	var found []pattern
	query := url.Values{"q": {q}, "category": {category}, "difficulty": {difficulty}}
	err := c.do(ctx, http.MethodGet, "/api/patterns?"+query.Encode(), nil, &found)
	return found, err
}

func (c *client) pattern(ctx context.Context, id string) (pattern, error) {
	var p pattern
	err := c.do(ctx, http.MethodGet, "/api/patterns/"+url.PathEscape(id), nil, &p)
	return p, err
}

func (c *client) rules(ctx context.Context, category string) ([]rule, error) {
	var rules []rule
	query := url.Values{"category": {category}}
	err := c.do(ctx, http.MethodGet, "/api/rules?"+query.Encode(), nil, &rules)
	return rules, err
}

func (c *client) analyze(ctx context.Context, in codeArgs) ([]finding, error) {
	var findings []finding
	err := c.do(ctx, http.MethodPost, "/api/analyses", in, &findings)
	return findings, err
}

// do makes a request and reads its answer into out.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, &body)
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", apiKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return recourse.BadResponse(provider).CausedBy(err)
	}
	return nil
}
