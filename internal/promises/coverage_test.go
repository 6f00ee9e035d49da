package promises_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/promises"
)

var update = flag.Bool("update", false, "rewrite docs/coverage.md, and take what is claimed out of the list of what is open")

var (
	root     = filepath.Join("..", "..")
	openFile = filepath.Join(root, filepath.FromSlash(promises.Dir), promises.OpenFile)
)

// Every promise is provoked by a test, read by one if it is about reading, or listed as open, but never both; and every
// claim is a listed promise.
func TestEveryPromiseIsClaimed(t *testing.T) {
	t.Parallel()
	listed, err := promises.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	claims, faults := findClaims(t, root)
	for _, fault := range faults {
		t.Error(fault)
	}
	open := readOpen(t)
	if *update {
		open = rewriteOpen(t, open, listed, claims)
	}
	for _, fault := range compareClaims(listed, claims, open) {
		t.Error(fault)
	}
	golden(t, filepath.Join(root, "docs", "coverage.md"), page(listed, claims))
}

// compareClaims returns the differences between the list and the claims.
func compareClaims(listed []promises.Promise, claims []claim, open []string) []string {
	var faults []string
	known := map[string]bool{}
	for _, p := range listed {
		known[p.ID] = true
		provoked, read, claimed := claimsOf(claims, p.ID, provokes), claimsOf(claims, p.ID, reads), claimsOf(claims, p.ID, wayOf(p))
		switch isOpen := slices.Contains(open, p.ID); {
		case p.Reading && len(provoked) > 0:
			faults = append(faults, fmt.Sprintf("%s provokes %s, which is listed as a reading: claim it by promises.Reads", provoked[0], p.ID))
		case isOpen && len(claimed) > 0:
			faults = append(faults, fmt.Sprintf("%s is claimed: take it out of %s (-update does)", p.ID, promises.OpenFile))
		case !isOpen && len(claimed) == 0 && len(read) > 0:
			faults = append(faults, fmt.Sprintf("%s is only read, by %s: bring its cause about, or list it as a reading", p.ID, read[0]))
		case !isOpen && len(claimed) == 0:
			faults = append(faults, fmt.Sprintf("no test claims %s: %s", p.ID, p.Text))
		}
	}
	for _, c := range claims {
		if !known[c.id] {
			faults = append(faults, fmt.Sprintf("%s claims %s, which is not listed", c, c.id))
		}
	}
	for _, id := range open {
		if !known[id] {
			faults = append(faults, fmt.Sprintf("%s is open and not listed", id))
		}
	}
	return faults
}

// wayOf returns the way in which a promise must be claimed.
func wayOf(p promises.Promise) way {
	if p.Reading {
		return reads
	}
	return provokes
}

// claimsOf returns the claims of a promise in one way.
func claimsOf(claims []claim, id string, w way) []claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.id != id || c.way != w })
}

func readOpen(t *testing.T) []string {
	t.Helper()
	src, err := os.ReadFile(openFile)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(src))
}

// rewriteOpen removes the claimed ids from the list of open ones.
func rewriteOpen(t *testing.T, open []string, listed []promises.Promise, claims []claim) []string {
	t.Helper()
	left := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(open))), func(id string) bool {
		i := slices.IndexFunc(listed, func(p promises.Promise) bool { return p.ID == id })
		return i >= 0 && len(claimsOf(claims, id, wayOf(listed[i]))) > 0
	})
	if len(left) == 0 {
		if err := os.Remove(openFile); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return nil
	}
	if err := os.WriteFile(openFile, []byte(strings.Join(left, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return left
}

// page lists the tests that provoke or read each promise.
func page(listed []promises.Promise, claims []claim) string {
	var b strings.Builder
	b.WriteString("# What the contracts promise, and which test provokes it\n\n" +
		"Printed from the lists in `contract/testdata/promises` and from the tests; `make golden` rewrites it.\n\n" +
		"A test provokes a promise by bringing its cause about, in a reference system or in the gateway. A reading is less: a scripted " +
		"server sends the words of a failure, and the test checks that they are understood and passed on.\n")
	for len(listed) > 0 {
		name, _, _ := strings.Cut(listed[0].ID, "/")
		n := slices.IndexFunc(listed, func(p promises.Promise) bool { return !strings.HasPrefix(p.ID, name+"/") })
		if n < 0 {
			n = len(listed)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| Promise | What is promised | Source | Provoked by |\n|---|---|---|---|\n", name)
		table(&b, listed[:n], claims, provokes)
		var read strings.Builder
		if table(&read, listed[:n], claims, reads); read.Len() > 0 {
			fmt.Fprintf(&b, "\n### Readings of %s\n\n| Promise | What is promised | Source | Read by |\n|---|---|---|---|\n%s", name, &read)
		}
		listed = listed[n:]
	}
	return b.String()
}

// table writes the rows of the promises that must be claimed in one way.
func table(b *strings.Builder, listed []promises.Promise, claims []claim, w way) {
	for _, p := range listed {
		var tests []string
		for _, c := range claimsOf(claims, p.ID, w) {
			tests = append(tests, "`"+c.String()+"`")
		}
		if tests == nil {
			if w != wayOf(p) {
				continue
			}
			tests = []string{"nothing yet"}
		}
		_, id, _ := strings.Cut(p.ID, "/")
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", id, cell(p.Text), cell(p.Place), strings.Join(tests, "<br>"))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; rewrite it with -update):\n%s", file, diff)
	}
}
