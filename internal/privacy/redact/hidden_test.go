package redact_test

import (
	"encoding/json"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// What the caller wrote is told as it was written, invisible characters and all. Others are removed, and nothing hides behind them.
func TestHiddenCharactersOfTheCaller(t *testing.T) {
	t.Parallel()
	const told = "Invalid timestamp '2025\u0007-01\u202e'."
	for _, tt := range []struct{ name, arguments, said, want string }{
		{"the caller's", `{"where":{"value":"2025\u0007-01\u202e"}}`, told, told},
		{"the server's", `{"where":{"value":"2025-01"}}`, told, "Invalid timestamp '2025-01'."},
		{"both", `{"where":{"value":"2025\u0007-01\u202e"}}`, told + "\u200b", "Invalid timestamp '2025-01'."},
		{"elsewhere", `{"where":{"value":"\u202e"},"other":"a"}`, told, "Invalid timestamp '2025-01'."},
		{"an escape sequence", `{"v":"\u001b[31mred\u001b[0m"}`, "No \x1b[31mred\x1b[0m.", "No \x1b[31mred\x1b[0m."},
		{"a secret behind them", `{"v":"pass\u200bword=hunter22"}`, "No pass\u200bword=hunter22.", "No password=[credential]"},
		{"no UTF-8", `{"v":"a\u0007"}`, "No a\x07\xff.", "No a\ufffd."},
	} {
		for _, mode := range []redact.Mode{redact.All, redact.Secrets} {
			m := redact.New(mode, tt.arguments)
			got := m.String(tt.said)
			if got != tt.want {
				t.Errorf("%s, %s: got %q, want %q", tt.name, mode, got, tt.want)
			}
			if again := m.String(got); again != got {
				t.Errorf("%s, %s: masked again it is %q", tt.name, mode, again)
			}
			quoted, _ := json.Marshal(map[string]string{"text": tt.said})
			var inside map[string]string
			if err := json.Unmarshal(m.JSON(quoted), &inside); err != nil || inside["text"] != tt.want && tt.name != "no UTF-8" {
				t.Errorf("%s, %s, in JSON: got %q, %v", tt.name, mode, inside["text"], err)
			}
		}
	}
}
