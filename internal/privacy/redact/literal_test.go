package redact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

func TestHiding(t *testing.T) {
	t.Parallel()
	secrets := redact.Environ([]string{
		"FARM_TOKEN=plain-words", "DB_PASSWORD=plain-words-and-more", "PIN_CODE=123", "API_KEY=", "SIGNING_KEY=first line\nsecond line\n",
		"REGION=north", "DATABASE_URL=postgres://farm:pa55@db/orders", "BROKEN",
		"PWD=/home/ada/fields", "DISABLE_AUTH=true", "DB_PWD=/home/ada",
	})
	want := []string{"plain-words", "plain-words-and-more", "123", "", "first line\nsecond line\n", "postgres://farm:pa55@db/orders", "/home/ada"}
	if diff := cmp.Diff(want, secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	hidden := func() []string { return secrets }
	m := redact.New(redact.Secrets).Hiding(hidden)
	for text, want := range map[string]string{
		"logged in as plain-words":              "logged in as [credential]",
		"logged in as plain-words-and-more":     "logged in as [credential]",
		"the second line, of 123 in the north":  "the [credential], of 123 in the north",
		"nothing of it is in plain words":       "nothing of it is in plain words",
		`{"a":"plain-words","plain-words":"b"}`: `{"a":"[credential]","[credential]":"b"}`,
	} {
		if got := m.String(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := m.String(m.String(text)); got != want {
			t.Errorf("%q, twice: got %q, want %q", text, got, want)
		}
	}
	if got, want := string(m.JSON([]byte(`{"a":"is plain\u002dwords"}`))), `{"a":"is [credential]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if text := "plain-words"; redact.New(redact.Off).Hiding(hidden).String(text) != text || redact.New(redact.Secrets).String(text) != text {
		t.Error("masked with mode off")
	}
}
