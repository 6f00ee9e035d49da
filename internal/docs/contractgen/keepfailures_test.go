package contractgen_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// In Python, too, connecting recovers from an HTTP status that the SDK drops, with the wait that the answer states.
func TestPythonKeepsFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ contract, answers, want string }{
		"down for a moment": {"terra", `[[502,{},""],[502,{},""]]`, "connected 1000 2000"},
		"down":              {"terra", `[[502,{},""],[502,{},""],[502,{},""],[502,{},""]]`, "unavailable 1000 2000 4000"},
		"misconfigured":     {"terra", `[[500,{},""]]`, "internal"},
		"a quota": {
			"fieldmcp", `[[429,{"Retry-After":"12"},"{\"error\":\"Rate limit exceeded. Try again in 12 seconds.\",\"errorCode\":429}"]]`,
			"connected 12000",
		},
		"a page":             {"studies", `[[503,{"Retry-After":"7"},"<html>"]]`, "connected 7000"},
		"a challenge":        {"terra", `[[401,{"WWW-Authenticate":"Bearer"},""]]`, "internal"},
		"not found":          {"terra", `[[404,{},""]]`, "internal"},
		"refused for good":   {"terra", `[[404,{},"{\"title\":\"not found\",\"detail\":\"invalid user id\"}"]]`, "internal"},
		"a forged status":    {"terra", `[[200,{},"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":{\"httpStatus\":429}}}"]]`, "internal"},
		"without credential": {"terra", `[[401,{},"{\"title\":\"unauthorized\",\"detail\":\"unauthorized\"}"]]`, "unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := sdk.Python(t, "keep.py", tt.contract, tt.answers).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
