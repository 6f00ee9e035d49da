package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// conformanceIntro begins the last section of docs/eras.md. The section is generated from [conformanceWays].
const conformanceIntro = `
## What the conformance suite finds

The official MCP conformance suite, for 2025-11-25 and 2026-07-28, gives the same results through the gateway as with the Go SDK's
conformance server directly, except in these scenarios:

| requirements of | scenarios | in front of | why |
|---|---|---|---|
`

// docs/eras.md lists every check whose outcome the gateway changes.
func TestConformanceDocs(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/eras.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	heading, _, _ := strings.Cut(strings.TrimPrefix(conformanceIntro, "\n"), "\n")
	page, _, _ := strings.Cut(string(text), "\n"+heading)
	contracttest.Golden(t, path, page+conformancePage())
}

// conformancePage returns the section.
func conformancePage() string {
	var page strings.Builder
	page.WriteString(conformanceIntro)
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		scenarios, ways := make(map[string][]string), make(map[string][]string) // by reason
		for _, way := range conformanceWays(era) {
			listed := together(way.differs, way.varies)
			for _, check := range slices.Sorted(maps.Keys(listed)) {
				scenario, _, _ := strings.Cut(check, ": ")
				reason := listed[check]
				scenarios[reason] = withNew(scenarios[reason], "`"+scenario+"`")
				ways[reason] = withNew(ways[reason], way.name)
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(scenarios)) {
			fmt.Fprintf(&page, "| %s | %s | %s | %s |\n",
				era.Version(), strings.Join(scenarios[reason], ", "), strings.Join(ways[reason], ", "), reason)
		}
	}
	return page.String()
}

// withNew appends text to list unless it is already there.
func withNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
