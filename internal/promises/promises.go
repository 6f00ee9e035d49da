// Package promises ties the promises of the built-in contracts to the tests that provoke them.
//
// # The list
//
// contract/testdata/promises/NAME.txt lists what the source documents of the contract NAME promise: every code, member,
// text, status, header and rule. One line is one promise: its id, what is promised in our own words, and in brackets where
// the source says so. "settled" is a question that the source leaves open and that this project has answered.
//
//	fieldmcp/retry-after-header The 429 carries the wait in the header Retry-After. [Rate limiting; settled]
//
// A promise about how somebody else's answer is read is a reading, which its line says after the id:
//
//	fieldmcp/reads-rate-limit-user (reading) RATE_LIMIT_USER, of older pages, is read as RATE_LIMIT_ORG. [settled]
//
// Blank lines and lines that begin with # are for people.
//
// # The claims
//
// A test claims the promises that it provokes, over a transport and not by calling a function:
//
//	promises.Covers(t, "fieldmcp/retry-after-header", "fieldmcp/http-429")
//
// or, where each row of a table provokes some of them, in a field named promises:
//
//	{name: "no such field", promises: []string{"fieldmcp/code-field-not-found"}},
//	...
//	promises.Covers(t, tt.promises...)
//
// To provoke is to bring the cause about, in a reference system or in the gateway, and to find what is promised. Where a
// scripted server says the very word that is then found, nothing was provoked: the test only shows that the word is
// understood and handed on. It claims that much, by Reads and in fields named readings:
//
//	promises.Reads(t, "fieldmcp/reads-rate-limit-user")
//	promises.Reads(t, tt.readings...)
//
// A promise needs a test that provokes it, a reading one that reads it. docs/coverage.md lists readings apart.
//
// Packages are tested by processes of their own, whose results are cached; so claims are found in the source of the tests.
// That is why ids stand there as literals. A claim counts when
//
//   - it stands in a function Test..., or in the rows of a table in a package whose tests claim rows,
//   - the function does not skip, and the file is built on every platform.
//
// Such a test passes whenever go test ./... does. What is not in the list, claimed but not provoked, or listed but not
// claimed fails the tests: of this package, or at run time in [Covers]. docs/coverage.md is printed from both.
// contract/testdata/promises/open.txt holds the ids that no test claims yet. It only shrinks: one that is claimed has to go.
package promises

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Dir is where the lists are, relative to the module's root, with slashes.
const Dir = "contract/testdata/promises"

// OpenFile is the name, in Dir, of the list of ids that no test claims yet.
const OpenFile = "open.txt"

// A Promise is one thing that a contract's source promises.
type Promise struct {
	ID      string // NAME/WORDS, of the contract's name and lower-case words joined by hyphens
	Text    string // what is promised
	Place   string // the place in the source
	Reading bool   // it is about how somebody else's answer is read
}

// Parse reads the list of one contract. The error names every invalid line.
func Parse(contract string, src []byte) ([]Promise, error) {
	var list []Promise
	var faults []string
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		p, err := parse(contract, line)
		if err == nil && slices.ContainsFunc(list, func(other Promise) bool { return other.ID == p.ID }) {
			err = fmt.Errorf("%s is listed twice", p.ID)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s.txt:%d: %v", contract, n, err))
			continue
		}
		list = append(list, p)
	}
	if len(faults) > 0 {
		return list, fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	return list, nil
}

func parse(contract, line string) (Promise, error) {
	id, rest, _ := strings.Cut(line, " ")
	if !isID(contract, id) {
		return Promise{}, fmt.Errorf("%q is not an id: write %s/ and lower-case words joined by hyphens", id, contract)
	}
	rest, reading := strings.CutPrefix(rest, "(reading)")
	at := strings.LastIndex(rest, " [")
	place, ok := strings.CutSuffix(rest[max(at, 0):], "]")
	text := strings.TrimSpace(rest[:max(at, 0)])
	if place = strings.TrimPrefix(place, " ["); !ok || text == "" || place == "" {
		return Promise{}, fmt.Errorf("%s: write what is promised, and in brackets at the end where the source says so", id)
	}
	return Promise{ID: id, Text: text, Place: place, Reading: reading}, nil
}

func isID(contract, id string) bool {
	words, ok := strings.CutPrefix(id, contract+"/")
	return ok && words != "" && strings.Trim(words, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		words[0] != '-' && words[len(words)-1] != '-'
}

// Read reads the lists of the module whose root is given, by contract in alphabetical order.
func Read(root string) ([]Promise, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(Dir), "*.txt"))
	if err != nil {
		return nil, err
	}
	var list []Promise
	for _, file := range files {
		if filepath.Base(file) == OpenFile {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		of, err := Parse(strings.TrimSuffix(filepath.Base(file), ".txt"), src)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

// Covers claims that tb provokes the promises with these ids. It fails tb for an id that is not listed, and when tb is
// skipped later on. The ids are literals, or a spread field named promises.
func Covers(tb testing.TB, ids ...string) {
	tb.Helper()
	claim(tb, ids)
}

// Reads claims that tb shows that a failure which somebody else words as the promises with these ids have it is understood
// and handed on. It is as strict as Covers. The ids are literals, or a spread field named readings.
func Reads(tb testing.TB, ids ...string) {
	tb.Helper()
	claim(tb, ids)
}

func claim(tb testing.TB, ids []string) {
	tb.Helper()
	known, err := listed()
	if err != nil {
		tb.Fatal(err)
	}
	for _, id := range ids {
		if !known[id] {
			tb.Errorf("%s is not in %s.txt", id, path.Join(Dir, path.Dir(id)))
		}
	}
	if len(ids) == 0 {
		return
	}
	tb.Cleanup(func() {
		if tb.Skipped() {
			tb.Errorf("claims %s and is skipped", strings.Join(ids, ", "))
		}
	})
}

// workDir is where the test process was started: in the folder of its package.
var workDir, errWorkDir = os.Getwd()

var listed = sync.OnceValues(func() (map[string]bool, error) {
	if errWorkDir != nil {
		return nil, errWorkDir
	}
	root, err := moduleRoot(workDir)
	if err != nil {
		return nil, err
	}
	list, err := Read(root)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, p := range list {
		known[p.ID] = true
	}
	return known, nil
})

func moduleRoot(dir string) (string, error) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("%s is in no module", workDir)
		}
		dir = above
	}
}
