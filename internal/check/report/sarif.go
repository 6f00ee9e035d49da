package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/recoursehq/recourse/internal/check"
)

// SARIF writes a report for code scanning, in SARIF 2.1.0. What was kept or not observed is no result there: the services that
// read SARIF show every result as an alert.
func SARIF(w io.Writer, r *check.Report) error {
	run := sarif.NewRunWithInformationURI("recourse check", page("docs/checks.md"))
	for _, rule := range check.Rules() {
		run.Tool.Driver.AddRule(sarifRule(rule))
	}
	for i := range r.Findings {
		run.AddResult(sarifResult(r, &r.Findings[i]))
	}
	ended := sarif.NewInvocation().WithExecutionSuccessful(r.Started && r.Stopped == "")
	if r.Stopped != "" {
		ended.AddToolExecutionNotification(sarif.NewNotification().WithLevel("warning").WithMessage(sarifText(r.Stopped)))
	}
	run.AddInvocation(ended)
	run.WithProperties(sarif.NewPropertyBag().Add("grade", r.Grade).Add("score", r.Score).Add("mode", r.Mode))
	return sarif.NewReport().AddRun(run).PrettyWrite(w)
}

// sarifRule describes a rule.
func sarifRule(rule *check.Rule) *sarif.ReportingDescriptor {
	text := rule.Title + ". " + rule.Why + "\n\nMend: " + rule.Mend
	markdown := rule.Title + ". " + rule.Why + "\n\n**Mend**: " + rule.Mend
	if rule.Entry != "" {
		text += "\n\n    " + rule.Entry
		markdown += "\n\n    " + rule.Entry
	}
	return sarif.NewRule(rule.ID).WithName(rule.ID).
		WithShortDescription(sarif.NewMultiformatMessageString().WithText(rule.Title)).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(rule.Why)).
		WithHelp(sarif.NewMultiformatMessageString().WithText(text).WithMarkdown(markdown + "\n\n[Source](" + rule.Source + ")")).
		WithHelpURI(page("docs/checks.md#" + rule.ID)).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevel(rule.Harm))).
		WithProperties(sarif.NewPropertyBag().Add("harm", rule.Harm).WithTags([]string{"mcp", rule.Group}))
}

// sarifLevel returns the level for a harm.
func sarifLevel(harm check.Harm) string {
	switch {
	case harm.Weight() >= check.HarmHides.Weight():
		return "error"
	case harm == check.HarmUnhelpful:
		return "warning"
	default:
		return "note"
	}
}

// sarifResult describes a finding. Its place is the tool: a server has no line of a file to show for it, but services want one.
func sarifResult(r *check.Report, f *check.Finding) *sarif.Result {
	tool := sarif.NewLogicalLocation().WithName(where(f)).WithFullyQualifiedName(plain(r.Server.Name) + "/" + where(f)).WithKind("function")
	file := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI("tools/list")).
		WithRegion(sarif.NewRegion().WithStartLine(1))
	sum := sha256.Sum256([]byte(f.Rule + "\x00" + f.Tool))
	hash := hex.EncodeToString(sum[:16])
	result := sarif.NewRuleResult(f.Rule).WithLevel(sarifLevel(f.Harm)).WithKind("fail").
		WithMessage(sarifText(where(f) + ": " + f.Said)).WithOccurrenceCount(f.Times).
		AddLocation(sarif.NewLocation().WithPhysicalLocation(file).AddLogicalLocation(tool)).
		WithPartialFingerprints(map[string]string{"ruleAndTool/v1": hash, "primaryLocationLineHash": hash + ":1"})
	if f.Known != "" {
		accepted := sarif.NewSuppression().WithKind("external").WithStatus("accepted").WithJustification(f.Known)
		result.AddSuppression(accepted)
	}
	evidence := sarif.NewPropertyBag().Add("mend", f.Mend)
	for name, value := range map[string]string{"entry": f.Entry, "repeat": r.Call(f), "frames": strings.Join(f.Frames, "\n")} {
		if value != "" {
			evidence.Add(name, plain(value))
		}
	}
	return result.WithRuleIndex(ruleIndex(f.Rule)).WithProperties(evidence)
}

// ruleIndex returns a rule's place in the list.
func ruleIndex(id string) int {
	for i, rule := range check.Rules() {
		if rule.ID == id {
			return i
		}
	}
	return -1
}

// sarifText makes a message of a server's text, without the links that messages may have.
func sarifText(text string) *sarif.Message {
	return sarif.NewTextMessage(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(plain(text)))
}
