package access

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/work"
)

const (
	// maxChecks limits how many checks are under way at once: callers could invent users faster than they are answered.
	maxChecks = 64
	// maxCheckAnswer limits an answer to a check, in bytes.
	maxCheckAnswer = 64 << 10
)

// Checks asks over HTTP which users callers may be. Create it with [NewChecks].
type Checks struct {
	http  *http.Client
	work  *work.Group // checks, which may serve more calls than the one that asked first
	slots pause.Turn
}

// NewChecks returns the checks that are made through transport while life lasts.
func NewChecks(life context.Context, transport http.RoundTripper) *Checks {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	asker := &http.Client{Transport: transport, CheckRedirect: stay}
	return &Checks{http: asker, work: work.Within(life), slots: pause.NewTurn(maxChecks)}
}

// Close ends the checks under way, and waits for them.
func (c *Checks) Close() { c.work.End() }

// ask asks whether a caller may be a user. Only an answer that says so means yes or no.
func (c *Checks) ask(ctx context.Context, rule *config.Users, who *authn.Identity, user string) (may bool, err error) {
	if !c.slots.Take(ctx) {
		return false, fmt.Errorf("too many checks are under way: %w", ctx.Err())
	}
	defer c.slots.Leave()
	body, err := json.Marshal(question(who, user))
	if err != nil {
		return false, fmt.Errorf("question: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, rule.Check, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	for name, value := range rule.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCheckAnswer))
	switch {
	case err != nil:
		return false, fmt.Errorf("answer of the check: %w", err)
	case resp.StatusCode == http.StatusNoContent:
		return true, nil
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusNotFound:
		return false, nil
	case resp.StatusCode == http.StatusOK && json.Unmarshal(json.Lookup(text, "/allowed"), &may) == nil:
		return may, nil
	default:
		return false, fmt.Errorf("the check answered HTTP %d, and neither yes nor no", resp.StatusCode)
	}
}

// question is what a check is sent.
func question(who *authn.Identity, user string) any {
	type caller struct {
		Access string   `json:"access"`
		Name   string   `json:"name"`
		Org    string   `json:"org,omitempty"`
		Roles  []string `json:"roles,omitempty"`
		Scopes []string `json:"scopes,omitempty"`
	}
	return struct {
		User   string `json:"user"`
		Caller caller `json:"caller"`
	}{user, caller{who.Access, who.Name, who.Org, who.Roles, who.Scopes}}
}
