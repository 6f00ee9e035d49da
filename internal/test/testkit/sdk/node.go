package sdk

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

//go:embed node/package-lock.json node/*.mjs
var nodeFiles embed.FS

var (
	errNoNode  = errors.New("node is not installed")
	errNoTools = errors.New("the npm packages in .tools/node are missing or not those of " +
		"internal/test/testkit/sdk/node/package-lock.json: run tools/install-node.sh, as make test does")
)

// Node returns the folder of the installed npm packages. If Node or a package is missing, or the packages are
// not those of the lock file, it skips the test and says what is missing; with CI=true that is a failure
// instead.
func Node(tb testing.TB) string {
	tb.Helper()
	dir, err := nodeTools()
	switch {
	case errors.Is(err, errNoNode) || errors.Is(err, errNoTools):
		testkit.LeaveOut(tb, err)
	case err != nil:
		tb.Fatalf("testkit: %v", err)
	}
	return dir
}

// LaterNode returns the Node that is one of the npm packages, if there is one for this platform.
func LaterNode(dir string) (string, error) {
	return exec.LookPath(filepath.Join(dir, "node_modules", ".bin", "node"))
}

// NodeProgram returns the fastest Node to start: the later one, if installed, can cache compiled code.
func NodeProgram(dir string) string {
	if program, err := LaterNode(dir); err == nil {
		return program
	}
	return "node"
}

// NPMProgram returns the program of the npm package @modelcontextprotocol/server-NAME, in the folder of the npm packages.
func NPMProgram(dir, name string) string {
	return filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
}

// CompileCacheVariable names the folder of Node's cache for compiled code.
const CompileCacheVariable = "NODE_COMPILE_CACHE"

// CompileCache returns that folder, below that of the npm packages.
func CompileCache(dir string) string { return filepath.Join(dir, "compiled") }

func nodeTools() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", errNoNode
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".tools", "node")
	installed, err := os.ReadFile(filepath.Join(dir, "installed-lock.json"))
	if err != nil {
		return "", errNoTools
	}
	wanted, err := nodeFiles.ReadFile("node/package-lock.json")
	if err != nil {
		return "", fmt.Errorf("read the lock file: %w", err)
	}
	if !bytes.Equal(installed, wanted) {
		return "", errNoTools
	}
	if err := writePrograms(filepath.Join(dir, "testkit")); err != nil {
		return "", err
	}
	return dir, nil
}

// writePrograms puts the programs where Node finds the packages that they import: below the folder of
// node_modules. Tests of several packages may do so at once, so each file is written atomically.
func writePrograms(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make a folder for the programs: %w", err)
	}
	programs, err := fs.Glob(nodeFiles, "node/*.mjs")
	if err != nil {
		return fmt.Errorf("list the programs: %w", err)
	}
	for _, program := range programs {
		text, err := nodeFiles.ReadFile(program)
		if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		to := filepath.Join(dir, strings.TrimPrefix(program, "node/"))
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
			continue
		}
		if err := writeWhole(to, text); err != nil {
			return err
		}
	}
	return nil
}

func writeWhole(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write a program: %w", err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write a program: %w", errors.Join(err, os.Remove(file.Name())))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write a program: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
