package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
)

// reads is a name or a list of names and files; a file is replaced by the name of its family.
func TestReads(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.KnownFamilies = []string{"aws", "slack"}
	opts.LoadFamily = func(path string) (string, error) {
		if path != filepath.Join("dir", "ours.yaml") {
			return "", os.ErrNotExist
		}
		return "ours", nil
	}
	for reads, want := range map[string]struct {
		reads   config.Reads
		mistake string
	}{
		"commerce":                     {config.Reads{"commerce"}, ""},
		"aws":                          {config.Reads{"aws"}, ""},
		"[aws, ./ours.yaml, commerce]": {config.Reads{"aws", "ours", "commerce"}, ""},
		"[aws, ./none.yaml]":           {nil, "the family cannot be loaded"},
		"[awz]":                        {nil, "did you mean `aws`?"},
		"[commerce, recourse]":         {nil, "a server follows only one contract"},
		"{aws: true}":                  {nil, "a name or a list of names"},
	} {
		src := "servers: {a: {url: http://h/mcp, reads: " + reads + "}}\n"
		c, err := config.Parse(filepath.Join("dir", "recourse.yaml"), []byte(src), opts)
		switch {
		case want.mistake != "":
			if err == nil || !strings.Contains(err.Error(), want.mistake) {
				t.Errorf("%s: %v, want %s", reads, err, want.mistake)
			}
		case err != nil:
			t.Errorf("%s: %v", reads, err)
		case !cmp.Equal(c.Servers[0].Reads, want.reads):
			t.Errorf("%s: got %q", reads, c.Servers[0].Reads)
		}
	}
}
