package patterns_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
)

// wires are the ways to a system: directly, and through a gateway that does not trust its annotations.
func wires() []systemtest.Wire {
	return append(systemtest.Wires(), systemtest.Fronted("contract: patterns", "trust_annotations: false")...)
}

// Every code, by its cause in the library or on the way there: the whole object, in every format, on every wire.
func TestPromises(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/code-client-error", "patterns/message-client-error", "patterns/code-server-error", "patterns/message-server-error",
		"patterns/code-network-error", "patterns/message-network-error", "patterns/code-not-found", "patterns/message-not-found",
		"patterns/code-authentication-error", "patterns/message-authentication-error", "patterns/code-unknown-error", "patterns/message-unknown-error",
		"patterns/status-code", "patterns/status-code-omitted", "patterns/status-408", "patterns/status-429", "patterns/status-501",
		"patterns/wait-in-message", "patterns/wait-in-meta", "patterns/not-found-elsewhere",
		"patterns/field-kind", "patterns/field-code", "patterns/field-message", "patterns/field-retryable", "patterns/field-details",
		"patterns/member-order", "patterns/is-error", "patterns/structured-content", "patterns/bad-arguments",
		"patterns/format-markdown", "patterns/format-json", "patterns/format-both", "patterns/format-default",
		"patterns/human-mime-type", "patterns/json-mime-type", "patterns/json-indent")
	s := newSystem(t, patterns.Options{PerMinute: 10_000})
	hasty := newSystem(t, patterns.Options{Timeout: time.Second}) // only for what is slow: others may be on a busy machine
	const unlisted = 0
	tests := []struct {
		q, code, message string
		status           int
		retryable        bool
		after            time.Duration
	}{
		{"fault-drop", "NETWORK_ERROR", "Network error: The pattern library ", unlisted, true, 0},
		{"fault-slow", "NETWORK_ERROR", "Network error: The pattern library did not answer ", unlisted, true, 0},
		{"fault-500", "SERVER_ERROR", "Internal server error: ", 500, true, 0},
		{"fault-501", "SERVER_ERROR", "Internal server error: ", 501, true, 0},
		{"fault-html", "SERVER_ERROR", "Internal server error: ", unlisted, true, 0},
		{"fault-400", "CLIENT_ERROR", "Invalid request: ", 400, false, 0},
		{"fault-408", "CLIENT_ERROR", "Invalid request: ", 408, false, 0},
		{"fault-429", "CLIENT_ERROR", "Invalid request: The pattern library limits requests at the moment. Try again in 12 s.", 429, false, 12 * time.Second},
		{"fault-401", "AUTHENTICATION_ERROR", "Authentication required: ", 401, false, 0},
		{"fault-403", "AUTHENTICATION_ERROR", "Authentication required: ", 403, false, 0},
		{"fault-404", "NOT_FOUND", "Resource not found: ", 404, false, 0},
		{"fault-odd", "UNKNOWN_ERROR", "Unknown error occurred: ", unlisted, false, 0},
		{"undo\",\"category\":\"gardening", "CLIENT_ERROR", "Invalid request: category must be one of ", unlisted, false, 0},
	}
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			clients := map[bool]systemtest.Client{false: wire.Client(t, s), true: wire.Client(t, hasty)}
			for _, tt := range tests {
				slow := tt.q == "fault-slow"
				client := clients[slow]
				for format, media := range map[string][]string{
					"": {"text/markdown"}, "markdown": {"text/markdown"}, "json": {"application/json"}, "both": {"text/markdown", "application/json"},
				} {
					if format != "json" && slow {
						continue // a second each
					}
					arguments := `{"q":"` + tt.q + `"}`
					if format != "" {
						arguments = `{"q":"` + tt.q + `","format":"` + format + `"}`
					}
					r := client.Call(t, "search_patterns", arguments)
					var result struct {
						Content []struct {
							Text     string `json:"text"`
							MimeType string `json:"mimeType"`
						} `json:"content"`
						StructuredContent json.RawMessage `json:"structuredContent"`
						IsError           bool            `json:"isError"`
					}
					if err := json.Unmarshal(r.Result, &result); err != nil {
						t.Fatalf("%s: %v: %s", arguments, err, r.Result)
					}
					var e toolError
					if err := json.Unmarshal(result.StructuredContent, &e); err != nil {
						t.Fatalf("%s: %v: %s", arguments, err, r.Result)
					}
					status, _ := e.Details["statusCode"].(float64)
					if e.Kind != "toolError:v1" || e.Code != tt.code || e.Retryable != tt.retryable || int(status) != tt.status ||
						!strings.HasPrefix(e.Message, tt.message) || !result.IsError {
						t.Errorf("%s: %s", arguments, r.Result)
					}
					var medias []string
					for _, block := range result.Content {
						medias = append(medias, block.MimeType)
						if block.MimeType == "text/markdown" && block.Text != e.Message {
							t.Errorf("%s: got sentence %q", arguments, block.Text)
						}
						if block.MimeType == "application/json" && block.Text != indented(t, result.StructuredContent) {
							t.Errorf("%s: got block %s", arguments, block.Text)
						}
					}
					if diff := cmp.Diff(media, medias); diff != "" {
						t.Errorf("%s: blocks (-want +got):\n%s", arguments, diff)
					}
					if order := members(t, result.StructuredContent); !slices.Equal(order, []string{"kind", "code", "message", "retryable", "details"}[:len(order)]) {
						t.Errorf("%s: members %q", arguments, order)
					}
					if tt.status == 0 && e.Details["statusCode"] != nil {
						t.Errorf("%s: got an invented status: %s", arguments, result.StructuredContent)
					}
					if record := r.Record(t); record.RetryAfter != tt.after || record.Effect != "" && record.Effect != "none" {
						t.Errorf("%s: %v after %s, effect %s", arguments, record, record.RetryAfter, record.Effect)
					}
				}
			}
		})
	}
}

// indented returns an object indented by two spaces.
func indented(t *testing.T, object json.RawMessage) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(object); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// members returns the names of an object's members, in order.
func members(t *testing.T, object json.RawMessage) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	var names []string
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(name))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// The blocks of a success name their type as those of a failure do.
func TestSuccessesHaveMimeTypes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, patterns.Options{})
	const markdown, object = "text/markdown", "application/json"
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, tt := range []struct {
				tool, arguments string
				want            []string
			}{
				{"search_patterns", `{"q":"undo"}`, []string{markdown}},
				{"search_patterns", `{"q":"undo","format":"both"}`, []string{markdown, object}},
				{"get_pattern", `{"id":"memento","format":"json"}`, []string{object}},
				{"list_analysis_rules", `{}`, []string{markdown}},
				{"analyze_code", `{"code":"x"}`, []string{markdown}},
			} {
				r := client.Call(t, tt.tool, tt.arguments)
				var result struct {
					Content []struct {
						Text     string `json:"text"`
						MimeType string `json:"mimeType"`
					} `json:"content"`
					StructuredContent json.RawMessage `json:"structuredContent"`
				}
				if err := json.Unmarshal(r.Result, &result); err != nil || len(result.StructuredContent) == 0 {
					t.Fatalf("%s: %v: %s", tt.arguments, err, r.Result)
				}
				var got []string
				for _, block := range result.Content {
					got = append(got, block.MimeType)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s %s: types (-want +got):\n%s", tt.tool, tt.arguments, diff)
				}
			}
		})
	}
}
