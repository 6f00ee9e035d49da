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

// Every promise is claimed by a test or listed as open, never both, and every claim is listed.
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
		open = rewriteOpen(t, open, claims)
	}
	for _, fault := range unclaimed(listed, claims, open) {
		t.Error(fault)
	}
	golden(t, filepath.Join(root, "docs", "coverage.md"), page(listed, claims))
}

// unclaimed compares what is listed with what is claimed.
func unclaimed(listed []promises.Promise, claims []claim, open []string) []string {
	var faults []string
	known := map[string]bool{}
	claimed := map[string]bool{}
	for _, c := range claims {
		claimed[c.id] = true
	}
	for _, p := range listed {
		known[p.ID] = true
		switch isOpen := slices.Contains(open, p.ID); {
		case isOpen && claimed[p.ID]:
			faults = append(faults, fmt.Sprintf("%s is claimed: take it out of %s (-update does)", p.ID, promises.OpenFile))
		case !isOpen && !claimed[p.ID]:
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

// rewriteOpen takes the ids that are claimed out of the list.
func rewriteOpen(t *testing.T, open []string, claims []claim) []string {
	t.Helper()
	left := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(open))), func(id string) bool {
		return slices.ContainsFunc(claims, func(c claim) bool { return c.id == id })
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

// page prints which test provokes which promise.
func page(listed []promises.Promise, claims []claim) string {
	var b strings.Builder
	b.WriteString("# What the contracts promise, and which test provokes it\n\n" +
		"Printed from the lists in `contract/testdata/promises` and from the tests; `make golden` rewrites it.\n")
	contract := ""
	for _, p := range listed {
		if name, _, _ := strings.Cut(p.ID, "/"); name != contract {
			contract = name
			fmt.Fprintf(&b, "\n## %s\n\n| Promise | What is promised | Source | Provoked by |\n|---|---|---|---|\n", name)
		}
		var tests []string
		for _, c := range claims {
			if c.id == p.ID {
				tests = append(tests, "`"+c.String()+"`")
			}
		}
		if tests == nil {
			tests = []string{"nothing yet"}
		}
		_, id, _ := strings.Cut(p.ID, "/")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", id, cell(p.Text), cell(p.Place), strings.Join(tests, "<br>"))
	}
	return b.String()
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
