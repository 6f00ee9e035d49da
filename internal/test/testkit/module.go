package testkit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Documented requires docs/configuration.md to contain these sentences, which state the limits in force.
func Documented(tb testing.TB, sentences ...string) {
	tb.Helper()
	root, err := ModuleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, want := range sentences {
		if !strings.Contains(string(page), want) {
			tb.Errorf("the page does not say %q", want)
		}
	}
}

var errNoModule = errors.New("no go.mod here or above")

// ModuleRoot returns the folder of the go.mod that applies to the working directory, which for a test is its
// package's.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNoModule
		}
		dir = parent
	}
}
