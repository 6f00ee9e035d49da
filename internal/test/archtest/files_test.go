package archtest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"testing"
)

// registryHosts are the hosts of package registries, in two parts so that this file does not name them.
var registryHosts = []string{
	"registry.npmjs" + ".org",
	"registry.yarnpkg" + ".com",
	"proxy.golang" + ".org",
	"sum.golang" + ".org",
	"goproxy" + ".io",
	"goproxy" + ".cn",
}

// filesNameNoRegistry leaves the choice of a registry to the machine that installs.
func filesNameNoRegistry(files []file) []string {
	var faults []string
	for _, f := range files {
		for _, host := range registryHosts {
			if bytes.Contains(f.data, []byte(host)) {
				faults = append(faults, fmt.Sprintf("%s names %s: which registry to use is a matter of the machine", f.path, host))
			}
		}
	}
	return faults
}

var resolvedURL = regexp.MustCompile(`"resolved":\s*"https?:`)

// locksResolveNoURL requires lock files with versions and sums only, as npm's omit-lockfile-registry-resolved writes
// them.
func locksResolveNoURL(files []file) []string {
	var faults []string
	for _, f := range files {
		if path.Base(f.path) == "package-lock.json" && resolvedURL.Match(f.data) {
			faults = append(faults, f.path+" has a resolved URL: set omit-lockfile-registry-resolved=true in the .npmrc beside it")
		}
	}
	return faults
}

// maxLines is the length above which a Go file is two concepts.
const maxLines = 500

// filesAreShort limits Go files that people write to maxLines.
func filesAreShort(files []file) []string {
	var faults []string
	for _, f := range files {
		lines := bytes.Count(f.data, []byte("\n"))
		if path.Ext(f.path) == ".go" && lines > maxLines && !generated(f) {
			faults = append(faults, fmt.Sprintf("%s has %d lines: past %d a file is two concepts", f.path, lines, maxLines))
		}
	}
	return faults
}

func generated(f file) bool {
	syntax, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(syntax)
}

func TestFiles(t *testing.T) {
	t.Parallel()

	files := readFiles(t)
	rules := map[string]func([]file) []string{
		"no registry":            filesNameNoRegistry,
		"no resolved URL":        locksResolveNoURL,
		"short enough to review": filesAreShort,
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range rule(files) {
				t.Error(fault)
			}
		})
	}
}
