// Package dist_test tests a release as GoReleaser builds it.
package dist_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// sums is the file with the checksums of a release.
const sums = "SHA256SUMS"

// TestDist builds a release of what is committed, checks everything in it, and builds a part of it again.
func TestDist(t *testing.T) {
	want, again := release(t, strings.NewReplacer()), release(t, strings.NewReplacer("goos: [linux, darwin, windows]", "goos: [linux]"))
	if len(want) != 17 { // 6 archives, 4 packages, 6 bills of materials, the checksums
		t.Errorf("got %d files in the release, want 17: %v", len(want), slices.Sorted(maps.Keys(want)))
	}
	for name, body := range again {
		if name != sums && !bytes.Equal(want[name], body) {
			t.Errorf("%s: the second build differs", name)
		}
	}
	checkSums(t, want)
	for name, body := range want {
		switch {
		case strings.HasSuffix(name, ".tar.gz"):
			archive(t, name, untar(t, body), "recourse")
		case strings.HasSuffix(name, ".zip"):
			archive(t, name, unzip(t, body), "recourse.exe")
		case strings.HasSuffix(name, ".deb"):
			listed(t, name, body, "dpkg-deb", "--contents")
		case strings.HasSuffix(name, ".rpm"):
			listed(t, name, body, "rpm", "-qlp")
		case strings.HasSuffix(name, ".cdx.json"):
			bill(t, name, body)
		}
	}
}

// release builds the release of a clone, in whose configuration this is replaced, and returns its files.
func release(t *testing.T, instead *strings.Replacer) map[string][]byte {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	clone, tools := filepath.Join(t.TempDir(), "recourse"), filepath.Join(root, ".tools", "bin")
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	run(t, root, "git", "clone", "--quiet", root, clone)
	text, err := os.ReadFile(filepath.Join(clone, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "goreleaser.yaml") // outside of the clone, which is as it was committed
	if err := os.WriteFile(config, []byte(instead.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, clone, filepath.Join(tools, "goreleaser"), "release", "--snapshot", "--skip=docker", "--config", config)
	files := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(clone, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "recourse") && e.Name() != sums || e.IsDir() {
			continue // notes of GoReleaser's own
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(clone, "dist", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// run runs a program in a folder.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v (make test-dist builds what this needs)\n%s", program, args, err, said)
	}
}

// checkSums checks that the checksums are those of all the other files.
func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	var want []string
	for name, body := range files {
		if name != sums {
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(body), name))
		}
	}
	got := strings.Split(strings.TrimSpace(string(files[sums])), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("checksums:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// heaviest is how large a program may be, in bytes. What a dependency adds is seen with go tool nm -size: programs in which methods are
// called by name, as kong and expr do, keep every method of the types that they use.
const heaviest = 45_000_000

// archive checks the content of an archive, and that the program for this platform prints its version.
func archive(t *testing.T, name string, files map[string][]byte, program string) {
	t.Helper()
	for _, want := range []string{
		program, "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY_LICENSES.txt",
		"completions/recourse.bash", "completions/_recourse", "completions/recourse.fish",
	} {
		if len(files[want]) == 0 {
			t.Errorf("%s: no %s", name, want)
		}
	}
	if size := len(files[program]); size > heaviest {
		t.Errorf("%s: the program has %d bytes, more than %d", name, size, heaviest)
	}
	for shell, sign := range map[string]string{"recourse.bash": "complete ", "_recourse": "#compdef recourse", "recourse.fish": "complete "} {
		if !bytes.Contains(files["completions/"+shell], []byte(sign)) {
			t.Errorf("%s: %s is not a completion script: no %q", name, shell, sign)
		}
	}
	if !bytes.Contains(files["THIRD_PARTY_LICENSES.txt"], []byte("github.com/modelcontextprotocol/go-sdk")) {
		t.Errorf("%s: no SDK in the licenses", name)
	}
	if !strings.Contains(name, runtime.GOOS+"_"+runtime.GOARCH) {
		return
	}
	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, files[program], 0o700); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), path, "version").CombinedOutput()
	if err != nil || !bytes.HasPrefix(said, []byte("recourse v")) {
		t.Errorf("%s: recourse version: %v, %q", name, err, said)
	}
}

// listed lists a package with another program, if that is installed.
func listed(t *testing.T, name string, body []byte, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Logf("not listed: %v", err)
		return
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), program, append(args, path)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", program, err, said)
	}
	for _, want := range []string{
		"/usr/bin/recourse", "/usr/share/bash-completion/completions/recourse", "/_recourse",
		"/usr/share/fish/vendor_completions.d/recourse.fish", "/usr/share/doc/recourse/LICENSE", "/usr/share/doc/recourse/THIRD_PARTY_LICENSES.txt",
		"/usr/lib/systemd/system/recourse.service", "/usr/lib/sysusers.d/recourse.conf", "/usr/lib/tmpfiles.d/recourse.conf",
	} {
		if !bytes.Contains(said, []byte(want+"\n")) {
			t.Errorf("%s: no %s in the list:\n%s", program, want, said)
		}
	}
}

// bill checks that a bill of materials has the modules of go.mod.
func bill(t *testing.T, name string, body []byte) {
	t.Helper()
	var bom struct {
		Format     string `json:"bomFormat"`
		Components []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Purl    string `json:"purl"`
		} `json:"components"`
	}
	if err := json.Unmarshal(body, &bom); err != nil || bom.Format != "CycloneDX" {
		t.Fatalf("%s: %v, format %q", name, err, bom.Format)
	}
	for _, want := range []string{"std", "github.com/modelcontextprotocol/go-sdk", "github.com/alecthomas/kong"} {
		found := false
		for _, c := range bom.Components {
			found = found || c.Name == want && c.Version != "" && strings.HasPrefix(c.Purl, "pkg:golang/"+want+"@")
		}
		if !found {
			t.Errorf("%s: no %s", name, want)
		}
	}
}

func untar(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func unzip(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range r.File {
		if files[f.Name], err = fs.ReadFile(r, f.Name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
