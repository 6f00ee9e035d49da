package main

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

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// TestDist builds a release, checks everything in it, and builds a part of it again.
func TestDist(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	out, again := t.TempDir(), t.TempDir()
	for dir, platforms := range map[string]string{out: "", again: "windows/arm64,linux/amd64"} {
		if err := run(t.Context(), "../..", dir, platforms); err != nil {
			t.Fatal(err)
		}
	}
	want, got := contents(t, out), contents(t, again)
	if len(want) != 14 { // 6 archives, 4 packages, the image, the formula, the bill of materials, the checksums
		t.Errorf("got %d files in the release, want 14", len(want))
	}
	for name := range got {
		isWhole := name == mark || name == "recourse.rb" || strings.HasSuffix(name, "_image.tar") || strings.HasSuffix(name, ".cdx.json") // for all platforms
		if !isWhole && !bytes.Equal(want[name], got[name]) {
			t.Errorf("%s: the second build differs", name)
		}
	}
	sums(t, want)
	for name, body := range want {
		switch {
		case strings.HasSuffix(name, ".tar.gz"):
			archive(t, name, untar(t, body), "recourse")
		case strings.HasSuffix(name, ".zip"):
			archive(t, name, unzip(t, body), "recourse.exe")
		case strings.HasSuffix(name, ".deb"):
			listed(t, "dpkg-deb", "--contents", filepath.Join(out, name))
		case strings.HasSuffix(name, ".rpm"):
			listed(t, "rpm", "-qlp", filepath.Join(out, name))
		case strings.HasSuffix(name, "_image.tar"):
			images(t, body)
		case name == "recourse.rb":
			formulas(t, string(body), want)
		case strings.HasSuffix(name, ".cdx.json"):
			bill(t, body)
		}
	}
}

// sums checks that the checksums are those of all the other files.
func sums(t *testing.T, files map[string][]byte) {
	t.Helper()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != mark {
			fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(files[name]), name)
		}
	}
	if got := string(files[mark]); got != lines.String() {
		t.Errorf("checksums:\n%s\nwant:\n%s", got, lines.String())
	}
}

// heaviest is how large a program may be, in bytes. What a dependency adds is seen with go tool nm -size: programs in which methods are
// called by name, as kong and expr do, keep every method of the types that they use.
const heaviest = 45_000_000

// archive checks the content of an archive, and that the program for this platform prints its version.
func archive(t *testing.T, name string, files map[string][]byte, program string) {
	t.Helper()
	folder := strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip")
	for _, want := range []string{
		program, "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY_LICENSES.txt",
		"completions/recourse.bash", "completions/_recourse", "completions/recourse.fish",
	} {
		if len(files[folder+"/"+want]) == 0 {
			t.Errorf("%s: no %s", name, want)
		}
	}
	if size := len(files[folder+"/"+program]); size > heaviest {
		t.Errorf("%s: the program has %d bytes, more than %d", name, size, heaviest)
	}
	for shell, sign := range map[string]string{"recourse.bash": "complete ", "_recourse": "#compdef recourse", "recourse.fish": "complete "} {
		if !bytes.Contains(files[folder+"/completions/"+shell], []byte(sign)) {
			t.Errorf("%s: %s is not a completion script: no %q", name, shell, sign)
		}
	}
	if !bytes.Contains(files[folder+"/THIRD_PARTY_LICENSES.txt"], []byte("github.com/modelcontextprotocol/go-sdk")) {
		t.Errorf("%s: no SDK in the licenses", name)
	}
	if !strings.HasSuffix(folder, runtime.GOOS+"_"+runtime.GOARCH) {
		return
	}
	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, files[folder+"/"+program], 0o700); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), path, "version").CombinedOutput()
	if err != nil || !bytes.HasPrefix(said, []byte("recourse ")) {
		t.Errorf("%s: recourse version: %v, %q", name, err, said)
	}
}

// formulas checks that Homebrew's formula has the archives for macOS and Linux, with their checksums, and that it is Ruby if
// that is installed.
func formulas(t *testing.T, text string, files map[string][]byte) {
	t.Helper()
	for name, body := range files {
		if strings.HasSuffix(name, ".tar.gz") && !strings.Contains(text, fmt.Sprintf("/%s\"\n      sha256 \"%x\"\n", name, sha256.Sum256(body))) {
			t.Errorf("recourse.rb lacks %s", name)
		}
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Logf("not parsed: %v", err)
		return
	}
	ruby := exec.CommandContext(t.Context(), "ruby", "-c")
	ruby.Stdin = strings.NewReader(text)
	if said, err := ruby.CombinedOutput(); err != nil {
		t.Errorf("recourse.rb: %v\n%s", err, said)
	}
}

// listed lists a package with another program, if that is installed.
func listed(t *testing.T, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Logf("not listed: %v", err)
		return
	}
	said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", program, err, said)
	}
	for _, want := range []string{
		"/usr/bin/recourse", "/usr/share/bash-completion/completions/recourse", "/_recourse",
		"/usr/share/fish/vendor_completions.d/recourse.fish", "/usr/share/doc/recourse/LICENSE",
		"/usr/lib/systemd/system/recourse.service", "/usr/lib/sysusers.d/recourse.conf", "/usr/lib/tmpfiles.d/recourse.conf",
	} {
		if !bytes.Contains(said, []byte(want+"\n")) {
			t.Errorf("%s: no %s in the list:\n%s", program, want, said)
		}
	}
}

// images checks the layout of the image: its platforms, its user, and its one layer.
func images(t *testing.T, body []byte) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range untarPlain(t, bytes.NewReader(body)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, body, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := index.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("manifests: %v, %v", outer, err)
	}
	inner, err := index.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		img, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != m.Platform.Architecture || config.Config.User != nobody || config.Config.Entrypoint[0] != "/usr/bin/recourse" {
			t.Errorf("config of %s: %+v", m.Platform, config.Config)
		}
		layers, err := img.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("layers: %v, %v", layers, err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		if files := untarPlain(t, content); len(files["usr/bin/recourse"]) == 0 || len(files["usr/share/doc/recourse/LICENSE"]) == 0 {
			t.Errorf("%s: no program or no license in the layer", m.Platform)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("got platforms %v, want %v", platforms, want)
	}
}

// bill checks that the bill of materials has the modules of go.mod.
func bill(t *testing.T, body []byte) {
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
		t.Fatalf("bill of materials: %v, format %q", err, bom.Format)
	}
	for _, want := range []string{"std", "github.com/modelcontextprotocol/go-sdk", "github.com/alecthomas/kong"} {
		found := false
		for _, c := range bom.Components {
			found = found || c.Name == want && c.Version != "" && strings.HasPrefix(c.Purl, "pkg:golang/"+want+"@")
		}
		if !found {
			t.Errorf("no %s in the bill of materials", want)
		}
	}
}

// TestRefusals checks what is refused before anything is built or removed.
func TestRefusals(t *testing.T) {
	if err := run(t.Context(), "../..", t.TempDir(), "linux/amd64,plan9/mips"); err == nil || !strings.Contains(err.Error(), `"plan9/mips"`) {
		t.Errorf("an unknown platform: %v", err)
	}
	foreign := t.TempDir()
	kept := filepath.Join(foreign, "thesis.txt")
	if err := os.WriteFile(kept, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), "../..", foreign, "linux/amd64"); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("a folder with other files: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := modified(nil); err == nil || !strings.Contains(err.Error(), `"yesterday"`) {
		t.Errorf("SOURCE_DATE_EPOCH: %v", err)
	}
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		all[f.name] = f.body
	}
	return all
}

func untar(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return untarPlain(t, r)
}

func untarPlain(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = body
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
