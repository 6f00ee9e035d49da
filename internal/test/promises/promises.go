// Package promises ties what the built-in contracts promise to the tests that provoke it.
//
// contract/testdata/promises/NAME.txt lists what the source of the contract NAME promises, one promise on a line: its id, what is
// promised in our own words, and in brackets where the source says so. "settled" is a question that the source leaves open and
// that this project has answered; "(reading)" a promise about how somebody else's answer is read.
//
//	fieldmcp/retry-after-header The 429 carries the wait in the header Retry-After. [Rate limiting; settled]
//	fieldmcp/reads-rate-limit-user (reading) RATE_LIMIT_USER, of older pages, is read as RATE_LIMIT_ORG. [settled]
//
// A test that brings the cause of a promise about, over a transport, and finds what is promised, claims it with [Covers]. A test
// whose own scripted server says the words that are then found shows less: that they are understood and handed on. It claims
// that with [Reads]. The ids are literals, so that a search for one finds its tests.
package promises

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Covers claims that tb provokes the promises with these ids. It fails tb for an id that is not listed.
func Covers(tb testing.TB, ids ...string) {
	tb.Helper()
	claim(tb, ids)
}

// Reads claims that tb shows how the words of the promises with these ids are understood. It fails tb for an id that is not listed.
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
			tb.Errorf("%s is not in contract/testdata/promises", id)
		}
	}
}

// root is the folder of the module, above the package whose tests run: a test binary starts in its package's folder.
var root = func() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return ""
}()

// listed returns the ids of all promises.
var listed = sync.OnceValues(func() (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(root, "contract", "testdata", "promises", "*.txt"))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, file := range files {
		if err := readList(file, known); err != nil {
			return nil, err
		}
	}
	return known, nil
})

// readList adds the ids in a file to known. Blank lines and lines that begin with # are for people.
func readList(file string, known map[string]bool) error {
	list, err := os.Open(file)
	if err != nil {
		return err
	}
	defer list.Close()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		if id, _, _ := strings.Cut(lines.Text(), " "); id != "" && id != "#" {
			known[id] = true
		}
	}
	return lines.Err()
}
