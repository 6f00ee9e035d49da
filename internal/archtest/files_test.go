package archtest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// longFiles are the Go files that may be longer than maxLines, with the reason.
var longFiles = map[string]string{}

// filesAreShort limits Go files that people write to maxLines.
func filesAreShort(allowed map[string]string) func([]file) []string {
	return func(files []file) []string {
		var faults []string
		long := map[string]bool{}
		for _, f := range files {
			lines := bytes.Count(f.data, []byte("\n"))
			if path.Ext(f.path) != ".go" || lines <= maxLines || generated(f) {
				continue
			}
			long[f.path] = true
			if allowed[f.path] == "" {
				faults = append(faults, fmt.Sprintf("%s has %d lines: past %d a file is two concepts", f.path, lines, maxLines))
			}
		}
		for name := range allowed {
			if !long[name] {
				faults = append(faults, name+" is in longFiles: it is not long any more")
			}
		}
		slices.Sort(faults)
		return faults
	}
}

func generated(f file) bool {
	syntax, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(syntax)
}

// phrases are no longer written; each comes with its replacement. They are split so that they do not occur in this
// file.
var phrases = map[string]string{
	"mend what is " + "marked":                "fix the problems marked above",
	"answer that cannot be " + "understood":   "invalid response",
	"answer has to be " + "mended":            "the server has to be fixed",
	"is no " + "JSON-RPC":                     "is not a JSON-RPC",
	"the program cannot be " + "started":      "cannot start the program",
	"processes are left " + "that":            "could not kill all child processes",
	"the configuration from before " + "stay": "keeping the old configuration",
	"tool that tools/list " + "names":         "tool listed by tools/list",
	"on stdio in place of " + "itself":        "a stdio MCP server behind Recourse",
	"the budget for " + "repetitions":         "the retry budget",
	"goes on with what they say " + "then":    "reloads them",
	"the one idle longest goes " + "first":    "the one idle longest is dropped first",
	"Nobody is asked who " + "they are":       "there is no access control",
	"this cannot be the name of " + "a":       "this is not a valid name",
	"names no known " + "contract":            "names an unknown contract",
	"cannot be had " + "with":                 "is not available with",
	"by which editors check " + "it":          "which editors use to check it",
	"says nothing " + "without":               "has no effect without",
	"asks nobody who they " + "are":           "has no access control",
	"Accept has to " + "name":                 "Accept must include",
	"for another audience " + "than":          "is not for the audience",
	"did not arrive as a " + "whole":          "did not arrive in full",
	"does not wait any " + "longer":           "is no longer waiting",
	"is not served any " + "more":             "is no longer served",
	"so that it starts its servers " + "anew": "to apply the change",
	`"listen: ` + `%w"`:                       "the error as it is: it says listen",
	"what has " + "become of":                 "how it ended",
	"a bound of " + "its own":                 "a limit of its own",
	"the message in " + "hand":                "the current message",
	"to keep this " + "contract":              "to follow this contract",
	"is known to keep " + "the":               "is known to follow the",
	"a failure " + "stands":                   "a failure appears",
	"stands in " + "place of":                 "replaces",
	"a broken body says no " + "more":         "if reading fails, the status still counts",
	"counts no " + "more":                     "is no longer valid",
	"let in any " + "more":                    "no longer let in",
	"it goes on " + "without":                 "it continues without",
	"is believed " + "on":                     "is believed about",
	"are believed " + "on":                    "are believed about",
	"by its own " + "word":                    "as it says itself",
	"people " + "call name":                   "its display name",
	"has to be " + "told":                     "needs to know",
	"the bearer of " + "some":                 "the holder of some",
	"whoever reads it " + "finds":             "its reader finds",
	"as its client spelled " + "it":           "as its client wrote it",
	"what is " + "none":                       "anything else",
	"as most " + "often":                      "the usual case",
	"stands before this " + "alias":           "precedes this alias",
}

// englishIsPlain reports phrases that a native speaker would not write.
func englishIsPlain(files []file) []string {
	var faults []string
	for _, f := range files {
		for phrase, instead := range phrases {
			if bytes.Contains(f.data, []byte(phrase)) {
				faults = append(faults, fmt.Sprintf("%s says %q: write %q", f.path, phrase, instead))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

var workflowRun = regexp.MustCompile(`(?m)^\s*-? ?run: (.*)$`)

// workflowsRunTheMakefile restricts a workflow to what anyone can run: .ci/run, or a target of the Makefile. Releases
// are published with gh.
func workflowsRunTheMakefile(files []file) []string {
	var makefile []byte
	for _, f := range files {
		if f.path == "Makefile" {
			makefile = f.data
		}
	}
	var faults []string
	for _, f := range files {
		if path.Dir(f.path) != ".github/workflows" {
			continue
		}
		for _, run := range workflowRun.FindAllSubmatch(f.data, -1) {
			command := string(run[1])
			target, isMake := strings.CutPrefix(command, "make ")
			switch {
			case command == ".ci/run", strings.HasPrefix(command, "gh release create "):
			case isMake && bytes.Contains(makefile, []byte("\n"+target+":")):
			default:
				faults = append(faults, fmt.Sprintf("%s runs %q: make it a target of the Makefile, and run that", f.path, command))
			}
		}
	}
	return faults
}

func TestFiles(t *testing.T) {
	t.Parallel()

	files := readFiles(t)
	rules := map[string]func([]file) []string{
		"no registry":            filesNameNoRegistry,
		"no resolved URL":        locksResolveNoURL,
		"short enough to review": filesAreShort(longFiles),
		"workflows run make":     workflowsRunTheMakefile,
		"plain English":          englishIsPlain,
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

func TestFileRulesFindFaults(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("\n", maxLines)
	tests := map[string]struct {
		rule  func([]file) []string
		files []file
		want  []string
	}{
		"a registry": {
			rule: filesNameNoRegistry,
			files: []file{
				{"README.md", []byte("go install github.com/recoursehq/recourse/cmd/recourse@latest")},
				{".npmrc", []byte("registry=https://" + registryHosts[0] + "/\n")},
			},
			want: []string{".npmrc names " + registryHosts[0]},
		},
		"a resolved URL": {
			rule: locksResolveNoURL,
			files: []file{
				{"a/package-lock.json", []byte(`{"packages": {"x": {"resolved": "https://127.0.0.1/x.tgz"}}}`)},
				{"b/package-lock.json", []byte(`{"packages": {"x": {"resolved": "x", "link": true}, "y": {"integrity": "sha512-"}}}`)},
			},
			want: []string{"a/package-lock.json has a resolved URL"},
		},
		"a phrase of the list": {
			rule: englishIsPlain,
			files: []file{
				{"a.go", []byte(`errors.New("the program cannot be ` + `started")`)},
				{"b.md", []byte("The server cannot be started.")},
			},
			want: []string{"a.go says \"the program cannot be " + "started\""},
		},
		"a workflow with its own command": {
			rule: workflowsRunTheMakefile,
			files: []file{
				{"Makefile", []byte(".PHONY: dist\ndist: ## Build\n\tgo run .\n")},
				{".github/workflows/ci.yml", []byte("    steps:\n      - run: .ci/run\n      - run: make dist\n      - run: make gone\n")},
				{".github/workflows/other.yml", []byte("      - name: x\n        run: go test ./...\n      - run: gh release create v1\n")},
			},
			want: []string{`.github/workflows/ci.yml runs "make gone"`, `.github/workflows/other.yml runs "go test ./..."`},
		},
		"a long file": {
			rule: filesAreShort(map[string]string{"table.go": "one table", "was.go": "was long"}),
			files: []file{
				{"at_limit.go", []byte("package p" + long)},
				{"over.go", []byte("package p\n" + long)},
				{"over.txt", []byte("\n" + long)},
				{"page_templ.go", []byte("// Code generated by templ - DO NOT EDIT.\n\npackage p\n" + long)},
				{"table.go", []byte("package p\n" + long)},
				{"was.go", []byte("package p\n")},
			},
			want: []string{"over.go has 501 lines", "was.go is in longFiles"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := beforeReasons(t, test.rule(test.files))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
