package redact_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

var hidden = regexp.MustCompile(`«([^»]*)»`)

// parts returns the lines of a file by its parts: those before "# part 2", those after it, and so on.
func parts(tb testing.TB, name string) [][]string {
	tb.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	all := [][]string{nil}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# part "):
			all = append(all, nil)
		case line != "" && line[0] != '#':
			all[len(all)-1] = append(all[len(all)-1], strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line))
		}
	}
	return all
}

// leaks returns whether the masked text still shows a secret of the line, or one of its halves.
func leaks(masked, line string, spell func(string) string) bool {
	for _, secret := range hidden.FindAllStringSubmatch(line, -1) {
		for _, part := range append(strings.Split(secret[1], "‹›"), strings.ReplaceAll(secret[1], "‹›", "")) {
			if len(part) > 3 && strings.Contains(masked, spell(part)) {
				return true
			}
		}
	}
	return false
}

// carriers returns the text alone, on its own line, and in JSON.
func carriers(tb testing.TB, text string) [3]string {
	tb.Helper()
	quoted, err := json.Marshal("it said: " + text)
	if err != nil {
		tb.Fatal(err)
	}
	return [3]string{text, "The call failed.\n" + text + "\nTry again.", `{"error":` + string(quoted) + `,"code":7}`}
}

func inJSON(part string) string {
	quoted, err := json.Marshal(part)
	if err != nil {
		return part
	}
	return strings.Trim(string(quoted), `"`)
}

// How many texts with secrets are masked, and how many without are unchanged. A text counts as masked if no half of its
// secret is left in any of the carriers.
//
// The third part of the texts with secrets and the second part of the innocent ones were written by somebody who had
// not seen the patterns. At first 190 of the 227 texts (83.7 %) were masked, and 4 of the 60 innocent texts mangled;
// then the kinds that leaked were corrected. The parts after them have kinds that leaked until then: tables of a fixed
// width, and account numbers.
func TestRates(t *testing.T) {
	t.Parallel()
	m := redact.New(redact.All)
	rate := func(some, all int) float64 { return 100 * float64(some) / float64(all) }

	masked, texts := 0, 0
	for i, lines := range parts(t, "secrets.txt") {
		whole := 0
		for _, line := range lines {
			text := strings.NewReplacer("«", "", "»", "", "‹›", "").Replace(line)
			leak := ""
			for c, carrier := range carriers(t, text) {
				spell := strings.Clone
				if c == 2 {
					spell = inJSON
				}
				if got := m.String(carrier); leak == "" && leaks(got, line, spell) {
					leak = got
				}
			}
			if leak != "" {
				t.Logf("leaks: %q", leak)
				continue
			}
			whole++
		}
		t.Logf("masked: %d of %d texts (%.1f %%) of part %d", whole, len(lines), rate(whole, len(lines)), i+1)
		masked, texts = masked+whole, texts+len(lines)
	}

	mangled, innocents := 0, 0
	for i, lines := range append(parts(t, "innocents.txt"), parts(t, "keep.txt")...) {
		whole := 0
		for _, text := range lines {
			if got := m.String(text); got != text {
				t.Logf("mangled: %q, %q", text, got)
				continue
			}
			whole++
		}
		t.Logf("kept: %d of %d innocent texts of part %d", whole, len(lines), i+1)
		mangled, innocents = mangled+len(lines)-whole, innocents+len(lines)
	}
	t.Logf("masked: %d of %d texts with secrets (%.1f %%); mangled: %d of %d innocent texts (%.1f %%)",
		masked, texts, rate(masked, texts), mangled, innocents, rate(mangled, innocents))
	if rate(masked, texts) < 95 || rate(mangled, innocents) > 1 {
		t.Error("want at least 95 % of the secrets masked, and at most 1 % of the innocent texts mangled")
	}
	if texts < 250 || innocents < 150 {
		t.Error("want at least 250 different texts with secrets, and 150 innocent ones")
	}
}
