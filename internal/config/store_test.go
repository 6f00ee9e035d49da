package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
)

func TestStore(t *testing.T) {
	t.Parallel()
	parse := func(keys string) (*config.Config, error) {
		return config.Parse(filepath.Join("etc", "recourse.yaml"), []byte(keys+"\nservers: {a: {url: http://a/mcp}}\n"), options())
	}
	for given, want := range map[string]string{
		"":                            "",
		"store: sqlite:recourse.db":   "sqlite:" + filepath.Join("etc", "recourse.db"),
		"store: sqlite:/var/lib/r.db": "sqlite:/var/lib/r.db",
		`store: "postgres://u:${FARM_TOKEN}@h/d"`: "postgres://u:t0ken@h/d",
		"store: postgresql:///d?host=/run/pg":     "postgresql:///d?host=/run/pg",
	} {
		c, err := parse(given)
		if err != nil || c.Store != want || (c.Journal != nil) != (want != "") {
			t.Errorf("%s: %v, %+v", given, err, c)
		}
	}
	defaults := &config.Journal{Failures: true, Successes: 0.01, Keep: 30 * 24 * time.Hour, MaxSize: 1 << 30, Arguments: config.ArgumentsMasked}
	for keys, change := range map[string]func(j *config.Journal){
		"": func(*config.Journal) {},
		"\njournal: {keep: 36h, arguments: names}": func(j *config.Journal) { j.Keep, j.Arguments = 36*time.Hour, config.ArgumentsNames },
		"\njournal: {failures: false, successes: 1, max_size: 2MiB, arguments: off}": func(j *config.Journal) {
			j.Failures, j.Successes, j.MaxSize, j.Arguments = false, 1, 2<<20, config.ArgumentsOff
		},
	} {
		want := *defaults
		change(&want)
		c, err := parse("store: sqlite:recourse.db" + keys)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, c.Journal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", keys, diff)
		}
	}
}

func TestBadStores(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"recourse.db":           "must be a file of SQLite or a database of PostgreSQL",
		"mysql://u:s3cr3t@h/d":  "must be a file of SQLite or a database of PostgreSQL",
		`"sqlite:"`:             "needs the name of a file",
		`"sqlite::memory:"`:     "needs the name of a file",
		"postgres://u:s3cr3t@h": "must be the URL of a database",
		"postgres:d":            "must be the URL of a database",
		`"postgres://s3cr3t@["`: "must be the URL of a database",
	} {
		_, err := config.Parse("recourse.yaml", []byte("store: "+given+"\nservers: {a: {url: http://a/mcp}}\n"), options())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// The examples on the page are valid.
func TestJournalPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllSubmatch(page, -1)
	if len(blocks) < 1 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		if _, err := config.Parse("recourse.yaml", block[1], options()); err != nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
}
