package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

const usersConfig = `
access: {team: {keys: [{name: ann, hash: "sha256:2d55155b85a1d99f898adec6cd93746c335da99bd18111d0cbb41310ca835850"}]}}
servers: {farm: {url: "http://127.0.0.1:1/{user_id}", path: "/farm/{user_id}", access: [team], users: {file: users.yaml}}}
`

// A file of users is read with the configuration, and each of its mistakes is told with its line.
func TestUsersFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(users string) (*config.Config, error) {
		if err := os.WriteFile(filepath.Join(dir, "users.yaml"), []byte(users), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Parse(filepath.Join(dir, "recourse.yaml"), []byte(usersConfig), options())
	}
	before, err := load("team/ann: [u-1, 'org7:*']\n'team/a/b c': []\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"team/ann": {"u-1", "org7:*"}, "team/a/b c": {}}
	if diff := cmp.Diff(want, before.Servers[0].Users.Allowed); diff != "" {
		t.Error(diff)
	}
	if after, err := load("team/ann: [u-1]\n"); err != nil || before.Servers[0].Same(after.Servers[0]) {
		t.Errorf("a change of the file is none of the entry: %v", err)
	}
	src := "ann: [u-1]\nteam/: [u-1]\nstaff/ann: [u-1]\nloopback/x: []\nteam/ann: [u/1, '', '..', 'u 1', 7]\nteam/bob: u-1\nteam/ann: []\n"
	_, err = config.Parse("recourse.yaml", []byte(usersConfig), withFile(src))
	if err == nil {
		t.Fatal("the file has no mistakes")
	}
	contracttest.Golden(t, filepath.Join("testdata", "usersfile.txt"), err.Error()+"\n")
}

// withFile returns options for which every file has this text.
func withFile(text string) config.Options {
	o := options()
	o.ReadFile = func(string) ([]byte, error) { return []byte(text), nil }
	return o
}
