package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
)

// provider is the backend's name in messages.
const provider = "The pattern library"

// apiClient calls the backend. Its errors are records, made by the transport.
type apiClient struct {
	base string
	key  string
	http *http.Client
}

func newClient(base, key string) *apiClient {
	transport := mcptool.Transport(&http.Transport{}, provider,
		mcptool.WithMediaType("application/json"), mcptool.WithFailure("/error"))
	return &apiClient{base: base, key: key, http: &http.Client{Transport: transport}}
}

// hits are the results of a search.
type hits struct {
	Total      int            `json:"total"`
	Categories map[string]int `json:"categories"` // how many of each
	Patterns   []pattern      `json:"patterns"`   // up to the limit
}

func (c *apiClient) search(ctx context.Context, q, category, difficulty string, limit int) (found hits, err error) {
	query := url.Values{paramQuery: {q}, paramCategory: {category}, paramDifficulty: {difficulty}, "limit": {strconv.Itoa(limit)}}
	err = c.do(ctx, http.MethodGet, "/api/patterns?"+query.Encode(), nil, &found)
	if e, ok := errors.AsType[*recourse.Error](err); ok && e.Upstream.Code == codeLimit {
		err = e.WithMessage("limit must be between 1 and %d", maxLimit)
	}
	return found, err
}

func (c *apiClient) skills(ctx context.Context, q, category string) (found []skill, err error) {
	query := url.Values{paramQuery: {q}, paramCategory: {category}}
	err = c.do(ctx, http.MethodGet, "/api/skills?"+query.Encode(), nil, &found)
	return found, err
}

func (c *apiClient) skill(ctx context.Context, slug string) (k skill, err error) {
	err = c.do(ctx, http.MethodGet, "/api/skills/"+url.PathEscape(slug), nil, &k)
	if errors.Is(err, recourse.KindNotFound) {
		err = recourse.From(err).WithMessage("%s has no skill of that slug.", provider)
	}
	return k, err
}

func (c *apiClient) pattern(ctx context.Context, id string) (pattern, error) {
	var p pattern
	err := c.do(ctx, http.MethodGet, "/api/patterns/"+url.PathEscape(id), nil, &p)
	return p, err
}

func (c *apiClient) rules(ctx context.Context, category string) ([]check, error) {
	var rules []check
	query := url.Values{paramCategory: {category}}
	err := c.do(ctx, http.MethodGet, "/api/rules?"+query.Encode(), nil, &rules)
	return rules, err
}

func (c *apiClient) analyze(ctx context.Context, in codeArgs) ([]finding, error) {
	var findings []finding
	err := c.do(ctx, http.MethodPost, "/api/analyses", in, &findings)
	return findings, err
}

// do makes a request and reads its answer into out.
func (c *apiClient) do(ctx context.Context, method, path string, in, out any) error {
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
	req.Header.Set("X-Api-Key", c.key)
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
