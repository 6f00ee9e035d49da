package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// binaries are the compiled tests of packages. Embedded files that a mutation changes, such as contracts, are padded in
// them, so that the change can be written into a copy of the binary without compiling.
type binaries struct {
	root, dir string
	roomy     map[string][]byte // the padded form of embedded files
	mu        sync.Mutex
	built     map[string]func() (string, error) // by package
}

// embedded reports whether a file is embedded in the program rather than compiled.
func embedded(file string) bool {
	return path.Ext(file) != ".go"
}

// compacts are the embedded files that hold YAML files in their compact form, by the folder of these: the program has
// nothing else of them.
var compacts = map[string]string{
	"contract":                        "contract/contracts.compact",
	"contract/internal/wild/families": "contract/internal/wild/families.compact",
}

// compactOf returns the embedded file that a file is a part of in the program, and whether there is one.
func compactOf(file string) (name string, ok bool) {
	name, ok = compacts[path.Dir(file)]
	return name, ok && path.Ext(file) == ".yaml"
}

// inProgram returns the embedded file that a file with these contents becomes a part of, which is the file itself unless
// it is in [compacts].
func inProgram(root, file string, contents []byte) (name string, text []byte, err error) {
	name, isPart := compactOf(file)
	if !isPart {
		return file, contents, nil
	}
	folder := filepath.Join(root, filepath.FromSlash(path.Dir(file)))
	text, err = strictyaml.Compact(folder, map[string][]byte{path.Base(file): contents})
	return name, text, err
}

// newBinaries pads the embedded files that a list changes.
func newBinaries(root, dir string, list []mutation) (*binaries, error) {
	b := &binaries{root: root, dir: dir, roomy: map[string][]byte{}, built: map[string]func() (string, error){}}
	room := map[string]int{} // by file
	for _, m := range list {
		if embedded(m.File) {
			room[m.File] += 2*len(m.Put) + 64 // the compact form of a line may be longer than the line
		}
	}
	for file, n := range room {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		name, text, err := inProgram(root, file, src)
		if err != nil {
			return nil, err
		}
		if b.roomy[name] == nil {
			b.roomy[name] = text
		}
		b.roomy[name] = append(b.roomy[name], bytes.Repeat([]byte{'\n'}, n)...)
	}
	return b, nil
}

// of returns the binary of a package, which it compiles on first use.
func (b *binaries) of(ctx context.Context, pkg string) (string, error) {
	b.mu.Lock()
	build, ok := b.built[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) {
			dir, err := os.MkdirTemp(b.dir, "built")
			if err != nil {
				return "", err
			}
			return compile(ctx, b.root, dir, pkg, b.roomy)
		})
		b.built[pkg] = build
	}
	b.mu.Unlock()
	return build()
}

// with returns a copy of a package's binary in which an embedded file has other contents.
func (b *binaries) with(ctx context.Context, dir, pkg, file string, contents []byte) (string, error) {
	if !embedded(file) {
		return compile(ctx, b.root, dir, pkg, map[string][]byte{file: contents})
	}
	plain, err := b.of(ctx, pkg)
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(plain)
	if err != nil {
		return "", err
	}
	file, contents, err = inProgram(b.root, file, contents)
	if err != nil {
		return "", err
	}
	was := b.roomy[file]
	at := bytes.Index(program, was)
	if at < 0 || bytes.Contains(program[at+1:], was) {
		return "", fmt.Errorf("%s does not stand once in the tests of %s", file, pkg)
	}
	room := program[at:][:len(was)]
	if len(contents) > len(room) {
		return "", fmt.Errorf("%s has no room for the mutation", file)
	}
	for i := range room {
		room[i] = '\n'
	}
	copy(room, contents)
	// Otherwise a program that is started now inherits the file, and Linux does not run a file that is open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	name := filepath.Join(dir, "changed.test")
	return name, os.WriteFile(name, program, 0o700) //nolint:gosec // it is run
}

// compile compiles the tests of a package, with other contents for some files.
func compile(ctx context.Context, root, dir, pkg string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for file, contents := range files {
		name := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(name, contents, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = name
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "compiled.test")
	args := []string{"test", "-c", "-p=1", "-vet=off", "-ldflags=-s -w", "-overlay=" + overlayFile, "-o=" + name, pkg}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // of the list that is committed
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s does not compile: %s", pkg, firstLines(out))
	}
	return name, err
}
