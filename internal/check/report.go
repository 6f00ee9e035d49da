package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A Report says how a server fails. Its JSON is the form that --json writes. The same server gives the same bytes.
type Report struct {
	Server      ServerInfo    `json:"server"`
	Started     bool          `json:"started"` // there was a session
	Mode        Mode          `json:"mode"`
	Grade       string        `json:"grade,omitempty"` // A to F; none: too little was observed
	Score       int           `json:"score"`           // of 100
	Rules       Count         `json:"rules"`
	Seen        int           `json:"observations"`
	Requests    int           `json:"requests"`
	Stopped     string        `json:"stopped,omitempty"` // why not everything was done
	Nearest     string        `json:"nearest,omitempty"` // the built-in contract in whose form most failures are, unless one was given
	Findings    []Finding     `json:"findings"`
	Kept        []string      `json:"kept"`
	NotObserved []NotObserved `json:"notObserved"`

	// Target is how `recourse call` names the server: --server and its URL, or -- and its command.
	Target string `json:"-"`
	// FailOn is the least harm that fails a run; none: nothing does.
	FailOn Harm `json:"failOn,omitempty"`
	// Mended is what a baseline lists although it is mended. It fails a run.
	Mended []Known `json:"mended,omitempty"`

	// Reach is the key of a configuration by which a gateway reaches the server.
	Reach string `json:"-"`
	// Drafts is what drafts are made of.
	Drafts Seen `json:"-"`

	seen map[string]map[string]bool // of which tools each rule was observed
}

// Checked reports whether there was anything to check: a server that answers, and its list of tools.
func (r *Report) Checked() bool { return r.Started && (r.Stopped == "" || len(r.Drafts.Tools) > 0) }

// Fails reports whether a run fails because of a finding.
func (r *Report) Fails(f *Finding) bool {
	return f.Known == "" && r.FailOn != "" && r.FailOn != HarmNone && f.Harm.Weight() >= r.FailOn.Weight()
}

// Failing returns how many findings fail a run.
func (r *Report) Failing() (n int) {
	for i := range r.Findings {
		if r.Fails(&r.Findings[i]) {
			n++
		}
	}
	return n
}

// Call returns the command that shows a finding again, or "".
func (r *Report) Call(f *Finding) string {
	if f.Repeat == "" {
		return ""
	}
	return strings.TrimSpace("recourse call " + f.Repeat + " " + r.Target)
}

// Name is what the server calls itself, with its version.
func (r *Report) Name() string {
	if name := strings.TrimSpace(r.Server.Name + " " + r.Server.Version); name != "" {
		return name
	}
	return "the server"
}

// Graded is the grade, with what it rests on.
func (r *Report) Graded() string {
	grade := r.Letter()
	if grade == "" {
		grade = fmt.Sprintf("no grade: fewer than %d observations", minSeen)
	}
	return fmt.Sprintf("%s (%s, %d of %d rules observed)", grade, r.Mode, r.Rules.Observed, r.Rules.Of)
}

// Letter is the grade, and says if it may still change: the check did not come to its end.
func (r *Report) Letter() string {
	if r.Stopped != "" && r.Grade != "" && r.Grade != "F" {
		return r.Grade + " so far"
	}
	return r.Grade
}

// Basis says what the grade rests on, in numbers.
func (r *Report) Basis() string {
	return fmt.Sprintf("%d of 100, from %d observations of %d tools in %d requests", r.Score, r.Seen, r.Server.Tools, r.Requests) +
		map[int]string{2: ", in both eras"}[len(r.Server.Eras)]
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Protocol string `json:"protocol"`
	Eras     []Era  `json:"eras,omitempty"` // in which it was checked
	Tools    int    `json:"tools"`
}

// Count says how many rules were observed, and how many there are.
type Count struct {
	Observed int `json:"observed"`
	Of       int `json:"of"`
}

// A Finding is a rule that was broken by a tool, or by the server.
type Finding struct {
	Rule   string   `json:"rule"`
	Harm   Harm     `json:"harm"`
	Tool   string   `json:"tool,omitempty"`
	Title  string   `json:"title"`
	Said   string   `json:"said"`
	Times  int      `json:"times"` // how often it was seen of this tool
	Frames []string `json:"frames,omitempty"`
	Repeat string   `json:"repeat,omitempty"` // arguments of `recourse call` that show it again
	Mend   string   `json:"mend"`
	Entry  string   `json:"entry,omitempty"`
	Known  string   `json:"known,omitempty"` // why it does not fail a run, by a baseline
	Page   string   `json:"page"`
	Source string   `json:"source"`
}

// NotObserved is a rule that could not be judged.
type NotObserved struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// Check makes a report of a server.
func Check(ctx context.Context, to server.Server, options Options) *Report {
	return judge(run(ctx, to, options), options.Mode)
}

// minSeen is how many observations a grade takes.
const minSeen = 20

// judge applies the rules to a transcript.
func judge(t *transcript, mode Mode) *Report {
	report := &Report{
		Server: ServerInfo{t.name, t.version, t.protocol, t.eras(), len(t.tools)}, Started: t.started, Mode: mode,
		Stopped: masked(t.stopped), Requests: len(t.exchanges), Findings: []Finding{}, seen: map[string]map[string]bool{},
	}
	if t.other != nil {
		report.Requests += len(t.other.exchanges)
	}
	if name, in, of := t.nearest(); t.promised == nil && 2*in > of {
		report.Nearest = name
	}
	var full, got float64
	capped := false // what is never better than C
	for _, rule := range Rules() {
		report.Rules.Of++
		var v verdict
		judges[rule.ID](t, &v)
		v.inModern(judges[rule.ID], t.other)
		seen := v.kept + len(v.broken)
		if seen == 0 {
			report.NotObserved = append(report.NotObserved, NotObserved{rule.ID, t.unseen(rule, mode)})
			continue
		}
		report.Rules.Observed++
		report.seen[rule.ID] = v.tools
		report.Seen += seen
		weight := float64(rule.Harm.Weight())
		full += weight
		got += weight * float64(v.kept) / float64(seen)
		if len(v.broken) == 0 {
			report.Kept = append(report.Kept, rule.ID)
		}
		capped = capped || len(v.broken) > 0 && (rule.Harm == HarmWrite || rule.ID == "survives")
		report.Findings = append(report.Findings, t.findings(rule, v.broken)...)
	}
	if full > 0 {
		report.Score = int(100 * got / full)
	}
	switch {
	case t.dying:
		report.Grade = "F"
	case report.Seen >= minSeen:
		report.Grade = letter(report.Score, capped)
	}
	sortByHarm(report.Findings)
	report.Drafts = t.seen(report.Findings)
	return report
}

// listing are the rules for which the list of tools is asked for many times, or after many calls.
var listing = []string{"many-at-once", "alive-after-faults", "hang-ups"}

// unseen says why a rule was not observed.
func (t *transcript) unseen(rule *Rule, mode Mode) string {
	for _, w := range t.writes {
		if w.why != "" && w.judgedBy(rule) {
			return w.write.Tool + ": " + w.why
		}
	}
	if !mode.includes(rule.Mode) {
		return "takes --mode " + string(rule.Mode)
	}
	if slices.Contains(listing, rule.ID) && t.long() && (rule.ID != "hang-ups" || !t.stdio) {
		return "the list of tools is too long to be asked for again and again"
	}
	if rule.Needs == "nothing" {
		return "the check did not come to it"
	}
	return "needs " + rule.Needs
}

// judgedBy reports whether a rule is about this write.
func (w *writeSeen) judgedBy(rule *Rule) bool {
	switch rule.ID {
	case "reads-hold":
		return false
	case "idempotent-kept":
		return w.tool != nil && says(w.tool.Annotations.Idempotent)
	default:
		return rule.Group == "writes"
	}
}

// letter returns the grade for a score. What can cause a false write, and what a request can end, is never better than C.
func letter(score int, capped bool) string {
	grade := "F"
	for _, step := range []struct {
		from  int
		grade string
	}{{95, "A"}, {85, "B"}, {70, "C"}, {50, "D"}} {
		if score >= step.from {
			grade = step.grade
			break
		}
	}
	if capped && grade < "C" {
		return "C"
	}
	return grade
}

// findings returns a finding for each tool that broke the rule.
func (t *transcript) findings(rule *Rule, broken []breach) (list []Finding) {
	at := map[*listedTool]int{}
	for _, b := range broken {
		if i, again := at[b.tool]; again {
			list[i].Times++
			continue
		}
		at[b.tool] = len(list)
		f := Finding{
			Rule: rule.ID, Harm: rule.Harm, Title: rule.Title, Said: masked(b.said), Times: 1, Mend: rule.Mend, Entry: rule.Entry,
			Page: "docs/checks.md#" + rule.ID, Source: rule.Source,
		}
		if b.tool != nil {
			f.Tool = b.tool.Name
			f.Entry = strings.ReplaceAll(rule.Entry, "TOOL", YAMLWord(b.tool.Name))
			if !Configurable(b.tool.Name) && f.Entry != rule.Entry {
				f.Entry = ""
			}
			if key := t.keyOf(b.tool); key != "" {
				f.Entry = strings.ReplaceAll(f.Entry, "/KEY", YAMLWord(key))
			}
		}
		if b.at != nil {
			f.Frames, f.Repeat = frames(b.at), b.at.repeat()
		}
		list = append(list, f)
	}
	return list
}

// masked returns a text for a report that people pass on.
func masked(text string) string { return redact.New(redact.Secrets).String(text) }
