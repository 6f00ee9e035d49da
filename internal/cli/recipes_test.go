//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// recipes returns the paths of the configurations in the recipes.
func recipes(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range regexp.MustCompile("(?s)```yaml\n(# recourse.yaml\n.*?)```").FindAllSubmatch(page, -1) {
		all = append(all, string(found[1]))
	}
	if len(all) != 3 {
		t.Fatalf("got %d recipes", len(all))
	}
	return all
}

// Each configuration in the recipes is valid. The fleet's database and Redis do not exist here, which is a warning.
func TestRecipes(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "recourse"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	certificate := testkit.NewCertificate(t, -time.Hour, 1000*time.Hour)
	for _, recipe := range recipes(t) {
		dir := t.TempDir()
		local := strings.NewReplacer("db.internal/", "127.0.0.1:1/", "redis.internal:6379", "127.0.0.1:1").Replace(recipe)
		for name, text := range map[string][]byte{"recourse.yaml": []byte(local), "gateway.pem": certificate.Cert, "gateway.key": certificate.Key} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var stdout, stderr bytes.Buffer
		code := cli.Run(t.Context(), cli.Environment{
			Args: []string{"serve", "--check", "-c", filepath.Join(dir, "recourse.yaml")}, Stdout: &stdout, Stderr: &stderr,
			LookupEnv: func(name string) (string, bool) {
				return strings.Repeat(name, 4), strings.Contains(recipe, "${"+name+"}")
			},
		})
		said, refused := stderr.String(), strings.Count(local, "127.0.0.1:1/")
		if code != cli.ExitOK || strings.Count(said, "\n") != refused || strings.Count(said, ": connection refused\n") != refused {
			t.Errorf("%d %s %s\n%s", code, &stdout, &stderr, recipe)
		}
	}
}
