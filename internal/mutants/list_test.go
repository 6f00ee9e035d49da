package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// Every mutation of the list can still be applied, and there are enough of them.
func TestListApplies(t *testing.T) {
	t.Parallel()
	list, err := read(root, "internal/mutants/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 150 {
		t.Errorf("%d mutations, fewer than 150", len(list))
	}
	for _, m := range list {
		if m.Run == "" {
			continue
		}
		found := false
		for _, p := range m.Test {
			found = found || hasTest(t, filepath.Join(root, filepath.FromSlash(p)), m.Run)
		}
		if !found {
			t.Errorf("%s: no test matches %q", m.Name, m.Run)
		}
	}
}

// The sample has a mutation for each way in which a file becomes part of the program, and all of them must be noticed:
// otherwise mutations of that kind might have no effect without anyone knowing.
func TestSample(t *testing.T) {
	t.Parallel()
	list, err := read(root, "internal/mutants/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sampled := map[string]bool{} // by kind
	for _, m := range list {
		kind, isPart := compactOf(m.File)
		if !isPart {
			kind = path.Ext(m.File)
		}
		sampled[kind] = sampled[kind] || m.Sample
		if m.Sample && !m.Must {
			t.Errorf("%s is in the sample, but need not be noticed", m.Name)
		}
	}
	for kind, is := range sampled {
		if !is {
			t.Errorf("no mutation of %s in the sample", kind)
		}
	}
	for _, name := range compacts {
		if _, ok := sampled[name]; !ok {
			t.Errorf("no mutation of %s", name)
		}
	}
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func hasTest(t *testing.T, dir, run string) bool {
	t.Helper()
	top, _, _ := strings.Cut(run, "/")
	wanted, err := regexp.Compile(top)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range testName.FindAllStringSubmatch(string(src), -1) {
			if wanted.MatchString(name[1]) {
				return true
			}
		}
	}
	return false
}

// A text that is missing or occurs twice is a mistake, and so is a mutation that changes nothing.
func TestApply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two, two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ find, put, want string }{{"one", "1", "1 two, two"}, {"two", "2", ""}, {"three", "3", ""}, {"one", "one", ""}} {
		got, err := (&mutation{File: "a.go", Find: tt.find, Put: tt.put}).apply(dir)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s -> %s: %q, %v; want %q", tt.find, tt.put, got, err, tt.want)
		}
	}
}

// Tests with golden files that `make golden` rewrites heed RECOURSE_GOLDEN, so that they never kill a mutation.
func TestGoldenFilesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".tools" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "mutants") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text := string(src); strings.Contains(text, "*update") && !strings.Contains(text, `os.Getenv("RECOURSE_GOLDEN")`) {
			t.Errorf("%s rewrites golden files, and does not heed RECOURSE_GOLDEN", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
