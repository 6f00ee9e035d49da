package config_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/config"
)

func TestRestartKeys(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-but-short"
	for text, want := range map[string]string{
		"session_keys: []":               "there is no key",
		"session_keys: [" + secret + "]": "at least 32 characters",
		"shutdown_delay: -1s":            "between 0 and 10m",
		"shutdown_delay: 1h":             "between 0 and 10m",
		"session_keys: [a secret of thirty-two characters., another one that is long enough too]\nshutdown_delay: 5s": "",
	} {
		_, err := config.Parse("recourse.yaml", []byte(text+"\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n"), config.Options{KnownContracts: []string{"recourse"}})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "recourse.yaml:1:")):
			t.Errorf("%s: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the error shows the secret: %v", text, err)
		}
	}
}
