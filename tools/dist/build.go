package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A platform is a target of a build, in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var all = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// A release is what goes into everything that is built.
type release struct {
	version  string    // as the program reports it, such as v1.2.3
	modified time.Time // of every file
	programs []binary
	shared   []archiveFile // in each archive and package
	service  []archiveFile // in each package: what systemd needs

	scripts map[string][]byte // what a package runs after its installation, and before its removal
}

// A binary is the one for a platform.
type binary struct {
	platform

	body     []byte
	info     *debug.BuildInfo
	licenses archiveFile // of its modules, which differ by platform
}

// name returns the name of the program's file.
func (p binary) name() string {
	if p.os == "windows" {
		return "recourse.exe"
	}
	return "recourse"
}

// An archiveFile is a file of an archive.
type archiveFile struct {
	name string // with slashes
	body []byte
	mode fs.FileMode
}

// completions are the shells for which the program has completions, and the file names that they expect.
var completions = []struct{ shell, file string }{
	{"bash", "recourse.bash"}, {"zsh", "_recourse"}, {"fish", "recourse.fish"},
}

// build compiles the program for the platforms, and collects what goes with it.
func build(ctx context.Context, root, work string, platforms []platform) (*release, error) {
	r := new(release)
	for _, p := range platforms {
		path, err := compile(ctx, root, work, p)
		if err != nil {
			return nil, err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text, err := licenses(ctx, root, info)
		if err != nil {
			return nil, err
		}
		r.programs = append(r.programs, binary{
			platform: p, body: body, info: info, licenses: archiveFile{name: "THIRD_PARTY_LICENSES.txt", body: text, mode: 0o644},
		})
	}
	r.version = version(r.programs[0].info)
	modified, err := modified(r.programs[0].info)
	if err != nil {
		return nil, err
	}
	r.modified = modified
	if err := r.collect(ctx, root, work); err != nil {
		return nil, err
	}
	return r, nil
}

// collect reads the files that go with the program.
func (r *release) collect(ctx context.Context, root, work string) error {
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"} {
		body, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		r.shared = append(r.shared, archiveFile{name: name, body: body, mode: 0o644})
	}
	own, err := compile(ctx, root, work, platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return err
	}
	for _, c := range completions {
		body, err := output(ctx, root, nil, own, "completion", c.shell)
		if err != nil {
			return err
		}
		r.shared = append(r.shared, archiveFile{name: "completions/" + c.file, body: body, mode: 0o644})
	}
	for from, to := range map[string]string{
		"recourse.service": "/usr/lib/systemd/system/recourse.service",
		"sysusers.conf":    "/usr/lib/sysusers.d/recourse.conf",
		"tmpfiles.conf":    "/usr/lib/tmpfiles.d/recourse.conf",
	} {
		body, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", from))
		if err != nil {
			return err
		}
		r.service = append(r.service, archiveFile{name: to, body: body, mode: 0o644})
	}
	r.scripts = map[string][]byte{}
	for _, name := range []string{"postinstall.sh", "preremove.sh"} {
		if r.scripts[name], err = os.ReadFile(filepath.Join(root, "deploy", "systemd", name)); err != nil {
			return err
		}
	}
	return nil
}

// beside returns the files that go with a program, sorted by name.
func (r *release) beside(p binary) []archiveFile {
	files := append(slices.Clone(r.shared), p.licenses)
	slices.SortFunc(files, func(a, b archiveFile) int { return strings.Compare(a.name, b.name) })
	return files
}

// compile builds the program for a platform, unless it is already built, and returns its path.
func compile(ctx context.Context, root, work string, p platform) (string, error) {
	path := filepath.Join(work, p.os+"_"+p.arch)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch}
	_, err := output(ctx, root, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/recourse")
	return path, err
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// version returns the version that Go has recorded in a program: that of the commit's tag, or one made from
// its time and hash.
func version(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "v0.0.0-devel"
}

// earliest is the earliest time that a zip file can hold.
var earliest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// modified returns the modification time of the files.
func modified(info *debug.BuildInfo) (time.Time, error) {
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || time.Unix(seconds, 0).Before(earliest) {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%q is not a time after 1980 in seconds since 1970", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			return time.Parse(time.RFC3339, setting.Value)
		}
	}
	return earliest, nil
}

var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// licenses returns the licenses of a program's modules, and of Go.
func licenses(ctx context.Context, root string, info *debug.BuildInfo) ([]byte, error) {
	goroot, err := output(ctx, root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := appendLicenses(&text, "Go "+info.GoVersion, strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		dir, err := output(ctx, root, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		if err := appendLicenses(&text, m.Path+" "+m.Version, strings.TrimSpace(string(dir))); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

func appendLicenses(to *bytes.Buffer, of, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licenses of %s: %w", of, err)
	}
	found := false
	for _, entry := range entries {
		if entry.IsDir() || !isLicense.MatchString(entry.Name()) {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(to, "%s\n%s, %s\n\n%s\n\n", strings.Repeat("=", 80), of, entry.Name(), bytes.TrimSpace(body))
	}
	if !found {
		return fmt.Errorf("%s has no license in %s", of, dir)
	}
	return nil
}
