package report

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/check"
)

// maxDrafted is how many tools and texts a draft has.
const maxDrafted = 60

// notName matches what is not in a name.
var notName = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes a name for a server's entry and contract.
func nameOf(r *check.Report) string {
	const most = 24
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(r.Server.Name), "-"), "-0123456789")
	if name = strings.Trim(name[:min(len(name), most)], "-"); name == "" {
		return "server"
	}
	return name
}

// Entry writes the server's entry for recourse.yaml, as far as the check knows it. What is a guess stands in a comment.
func Entry(w io.Writer, r *check.Report) error {
	var b strings.Builder
	name := nameOf(r)
	fmt.Fprintf(&b, "# Drafted by `recourse check`: %s. Read it before you use it.\nservers:\n  %s:\n", r.Graded(), name)
	if r.Reach == "" {
		b.WriteString("    url: https://mcp.example.com/mcp   # where it is\n")
	} else {
		fmt.Fprintf(&b, "    %s\n", r.Reach)
	}
	fmt.Fprintf(&b, "    # contract: %s   # as --draft writes it; list the file under contracts\n", name)
	if len(r.Drafts.Reads) > 0 {
		fmt.Fprintf(&b, "    reads: [%s]   # failures that do not say that they are\n", strings.Join(r.Drafts.Reads, ", "))
	}
	said := map[string]bool{}
	for i := range r.Findings {
		entry := r.Findings[i].Entry
		if entry == "" || said[entry] || strings.HasPrefix(entry, "tools:") || strings.HasPrefix(entry, "reads:") {
			continue
		}
		said[entry] = true
		sure := "# "
		if strings.HasPrefix(entry, "redact:") {
			sure = ""
		}
		fmt.Fprintf(&b, "    %s%s   # %s\n", sure, entry, r.Findings[i].Rule)
	}
	b.WriteString(entryTools(r.Drafts.Tools))
	_, err := io.WriteString(w, b.String())
	return err
}

// entryTools returns the tools of an entry. A tool of which nothing is known is a comment.
func entryTools(tools []check.SeenTool) string {
	var known, unknown strings.Builder
	for i := range tools[:min(len(tools), maxDrafted)] {
		t := &tools[i]
		var keys []string
		if t.ReadOnly != nil {
			keys = append(keys, fmt.Sprintf("read_only: %t", *t.ReadOnly))
		}
		if reads := t.ReadOnly != nil && *t.ReadOnly; t.Idempotent != nil && !reads {
			keys = append(keys, fmt.Sprintf("idempotent: %t", *t.Idempotent))
		}
		if t.Verify != nil {
			keys = append(keys, "verify: "+verifyOf(t.Verify))
		}
		if !check.Configurable(t.Name) {
			const why = "cannot be configured: a name with spaces, brackets or * is read as none, or as a pattern"
			fmt.Fprintf(&unknown, "      # %s %s\n", check.YAMLWord(t.Name), why)
			continue
		}
		if len(keys) == 0 {
			fmt.Fprintf(&unknown, "      # %s: {read_only: true}   # if it only reads\n", check.YAMLWord(t.Name))
			continue
		}
		fmt.Fprintf(&known, "      %s: {%s}   # %s\n", check.YAMLWord(t.Name), strings.Join(keys, ", "), t.Basis)
	}
	switch {
	case known.Len() > 0:
		return "    tools:\n" + known.String() + unknown.String()
	case unknown.Len() > 0:
		return "    # tools:\n" + unknown.String()
	}
	return ""
}

// verifyOf writes a verify call.
func verifyOf(v *check.SeenVerify) string {
	text := "{tool: " + check.YAMLWord(v.Tool)
	var from, with []string
	for _, name := range slices.Sorted(maps.Keys(v.From)) {
		from = append(from, check.YAMLWord(name)+": "+check.YAMLWord(v.From[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(v.With)) {
		with = append(with, check.YAMLWord(name)+": "+string(v.With[name]))
	}
	if len(from) > 0 {
		text += ", from: {" + strings.Join(from, ", ") + "}"
	}
	if len(with) > 0 {
		text += ", with: {" + strings.Join(with, ", ") + "}"
	}
	return text + "}"
}

// Draft writes the failures that were seen as a contract: how each text is read, with what it is about left open.
func Draft(w io.Writer, r *check.Report) error {
	var b strings.Builder
	name := nameOf(r)
	b.WriteString("# Drafted by `recourse check` from the failures that it has seen. Each text is read as what was provoked:\n" +
		"# look through them, add those that a check cannot provoke, and see docs/contracts/README.md.\n")
	fmt.Fprintf(&b, "form: 1\nname: %s\nextends: recourse\ncodes: []\n", name)
	if len(r.Drafts.Failures) > 0 {
		b.WriteString("reads:\n")
	}
	for _, f := range r.Drafts.Failures[:min(len(r.Drafts.Failures), maxDrafted)] {
		fmt.Fprintf(&b, "- {text: %s, set: {kind: %s}}   # %s\n", check.YAMLWord(f.Template), f.Kind, check.YAMLWord(f.Tool))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
