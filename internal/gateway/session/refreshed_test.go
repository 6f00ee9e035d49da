package session_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// bearer sends a token with every request.
type bearer struct{ token atomic.Pointer[string] }

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+*b.token.Load())
	return http.DefaultTransport.RoundTrip(r)
}

// unverified returns a token with an invalid signature.
func unverified(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + "."
}

// A refreshed token ends its session with the answer that makes clients open another one; then calls succeed. Equal claims
// in both tokens change nothing, since nobody has verified them.
func TestRefreshedToken(t *testing.T) {
	t.Parallel()
	for name, tokens := range map[string][2]string{
		"opaque":          {"first", "second"},
		"the same claims": {unverified(`{"sub":"ada","exp":1}`), unverified(`{"sub":"ada","exp":2}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]")
			var credentials bearer
			credentials.token.Store(&tokens[0])
			// connect opens a session, as a user of the SDK does after losing one.
			connect := func() *mcp.ClientSession {
				client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: f.URL, HTTPClient: &http.Client{Transport: &credentials}, DisableStandaloneSSE: true,
				}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = session.Close() })
				return session
			}
			call := func(session *mcp.ClientSession) error {
				result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: testkit.Echo, Arguments: map[string]any{"message": "m"}})
				if err == nil && result.IsError {
					t.Errorf("got %+v", result.Content[0])
				}
				return err
			}
			session := connect()
			if err := call(session); err != nil {
				t.Fatal(err)
			}
			credentials.token.Store(&tokens[1])
			if err := call(session); !errors.Is(err, mcp.ErrSessionMissing) {
				t.Fatalf("got %v, want a lost session", err)
			}
			if err := call(connect()); err != nil {
				t.Fatal(err)
			}
			calls := srv.Calls(testkit.Echo)
			if len(calls) != 2 || srv.Messages("initialize") != 2 || calls[1].Header.Get("Authorization") != "Bearer "+tokens[1] {
				t.Errorf("got %d calls in %d sessions", len(calls), srv.Messages("initialize"))
			}
		})
	}
}
