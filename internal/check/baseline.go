package check

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Baseline is a file of findings that are known. They do not fail a run; one that is mended, and still listed, does.
type Baseline struct {
	Known []Known `yaml:"known,required"`
}

// Known is a finding that is known.
type Known struct {
	Rule   string `yaml:"rule,required" json:"rule"`
	Tool   string `yaml:"tool" json:"tool,omitempty"` // none: it is about the server
	Reason string `yaml:"reason,required" json:"reason"`
}

// String names it.
func (k Known) String() string { return strings.TrimSpace(k.Rule + " " + k.Tool) }

// ReadBaseline reads a baseline, in YAML or JSON.
func ReadBaseline(name string, src []byte) (*Baseline, error) {
	var b Baseline
	if err := strictyaml.Decode(name, src, &b); err != nil {
		return nil, err
	}
	for _, k := range b.Known {
		if !slices.ContainsFunc(Rules(), func(r *Rule) bool { return r.ID == k.Rule }) {
			return nil, fmt.Errorf("%s: there is no rule %q", name, k.Rule)
		}
	}
	return &b, nil
}

// Know marks the findings that a baseline lists, and notes what it lists that is mended.
func (r *Report) Know(b *Baseline) {
	for i := range b.Known {
		k := &b.Known[i]
		at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == k.Rule && f.Tool == k.Tool })
		switch {
		case at >= 0:
			r.Findings[at].Known = k.Reason
		case r.seen[k.Rule][k.Tool], k.Tool != "" && r.Stopped == "" && !r.Drafts.has(k.Tool): // or the tool is gone
			r.Mended = append(r.Mended, *k)
		}
	}
}

// plainScalar matches names that YAML takes for texts as they are.
var plainScalar = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// YAMLWord writes a text for YAML, quoted where it might be read as something else.
func YAMLWord(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
	default:
		if plainScalar.MatchString(text) {
			return text
		}
	}
	return string(visible.EscapeJSON(json.AppendQuote(nil, text)))
}

// Configurable reports whether a configuration can name a tool of that name: one with * would stand for other tools as well.
func Configurable(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\n[]{}\\*?") }

// WriteBaseline writes all findings of a report as known. What is known already keeps its reason.
func WriteBaseline(w io.Writer, r *Report) error {
	var b strings.Builder
	b.WriteString("# What `recourse check` finds and is known. It does not fail a run; what is mended and still listed does.\nknown:\n")
	if len(r.Findings) == 0 {
		b.Reset()
		b.WriteString("known: []\n")
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "- rule: %s\n", f.Rule)
		if f.Tool != "" {
			fmt.Fprintf(&b, "  tool: %s\n", YAMLWord(f.Tool))
		}
		reason := f.Known
		if reason == "" {
			reason = "It was there when this file was written."
		}
		fmt.Fprintf(&b, "  reason: %s\n", YAMLWord(reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
