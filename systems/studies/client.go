package studies

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
)

// provider is the service's name in messages.
const provider = "The backend"

// object is a JSON object, as the service answers and as tools return it.
type object = map[string]any

// apiClient calls the service. Its errors are records, which the transport makes from the service's bodies as
// the contract says.
type apiClient struct {
	base    string
	token   string
	timeout time.Duration
	http    *http.Client
	aliases *aliases
}

func newClient(base string, o Options, c *contract.Contract, a *aliases, t http.RoundTripper) *apiClient {
	transport := mcptool.Transport(t, provider, mcptool.WithUpstream(c), mcptool.WithMediaType("application/json"))
	return &apiClient{base: base, token: o.Token, timeout: o.Timeout, http: &http.Client{Transport: transport}, aliases: a}
}

// tokenKey is the context key of the caller's token on a hosted server.
type tokenKey struct{}

// do makes a request about things of a type, and returns the answer with aliases instead of ids.
func (c *apiClient) do(ctx context.Context, method, path, typ string, in any) (object, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, &body)
	if err != nil {
		return nil, err
	}
	token, hosted := ctx.Value(tokenKey{}).(string)
	if !hosted {
		token = c.token
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, about(typ, err)
	}
	defer resp.Body.Close()
	var out object
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		if _, broken := errors.AsType[*recourse.Error](err); broken {
			return nil, err
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.aliases.shorten(out)
	return out, nil
}

// about adds the type to a failure that depends on it: which list to look into, or what there are too many
// of.
func about(typ string, err error) error {
	e, ok := errors.AsType[*recourse.Error](err)
	if ok && (e.Kind == recourse.KindNotFound || e.Kind == recourse.KindLimitReached) {
		return e.WithResource(typ, "")
	}
	return err
}
