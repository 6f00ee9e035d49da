package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/report"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// evil is in all that the hostile server says: markup, links, ends of lines and code, controls, and a shell's words.
const evil = "</script><img src=x onerror=alert(1)> [go](http://evil.example) @team `id` | $(id) '; id #\n## h\x1b[2J\u202e\x00 ]]> {{.}}"

// hostile answers like a server that wants to be believed by those who read about it.
func hostile(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch m.Method {
	case "initialize":
		answer["result"] = map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": evil, "version": "1"},
		}
	case "tools/list":
		schema := map[string]any{"type": "object", "required": []string{"id"}, "properties": map[string]any{"id": map[string]any{"type": "string"}}}
		answer["result"] = map[string]any{"tools": []any{
			map[string]any{"name": evil, "inputSchema": schema},
			map[string]any{"name": "note_get", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true}},
			map[string]any{"name": "*", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true, "destructiveHint": true}},
			map[string]any{"name": "get it", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true}},
		}}
	default:
		answer["result"] = map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "Failed. " + evil}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// hostileReport checks the hostile server.
func hostileReport(t *testing.T) *check.Report {
	t.Helper()
	listening := httptest.NewServer(http.HandlerFunc(hostile))
	t.Cleanup(listening.Close)
	r := check.Check(t.Context(), &server.Endpoint{URL: listening.URL}, check.Options{Mode: check.Safe})
	r.FailOn, r.Target = check.HarmUnhelpful, "--server http://127.0.0.1:1/mcp"
	if len(r.Findings) == 0 {
		t.Fatal("nothing was found")
	}
	return r
}

// written writes a report in a form. No form shows what hides other characters.
func written(t *testing.T, form report.Form, r *check.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := form(&text, r); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(text.String(), visible.Hides) || !utf8.Valid(text.Bytes()) {
		t.Errorf("something in it is hidden: %q", text.String())
	}
	return text.String()
}

// SARIF is valid by its schema, names the rule of each finding, and keeps its fingerprints.
func TestSARIF(t *testing.T) {
	t.Parallel()
	r := hostileReport(t)
	text := written(t, report.SARIF, r)
	log, err := sarif.FromString(text, sarif.WithStrictValidation())
	if err == nil {
		err = log.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != len(r.Findings) {
		t.Errorf("%d results for %d findings", len(run.Results), len(r.Findings))
	}
	levels := map[check.Harm]string{check.HarmHides: "error", check.HarmLeaks: "error", check.HarmUnhelpful: "warning", check.HarmProtocol: "note"}
	for i, result := range run.Results {
		f := r.Findings[i]
		if rule := run.Tool.Driver.Rules[result.RuleIndex]; *rule.ID != f.Rule || *rule.Help.Text == "" || result.Level != levels[f.Harm] {
			t.Errorf("%s: rule %s, level %s", f.Rule, *rule.ID, result.Level)
		}
		if strings.Contains(strings.ReplaceAll(*result.Message.Text, `\[`, ""), "[") {
			t.Errorf("a link: %s", *result.Message.Text)
		}
	}
	if again := written(t, report.SARIF, hostileReport(t)); fingerprints(again) != fingerprints(text) {
		t.Error("the fingerprints of a second run differ")
	}
	if strings.Contains(text, "security-severity") {
		t.Error("a severity is invented")
	}
}

func fingerprints(text string) string {
	return strings.Join(regexp.MustCompile(`"ruleAndTool/v1": ".*"`).FindAllString(text, -1), "\n")
}

// JUnit is XML with a case for each rule.
func TestJUnit(t *testing.T) {
	t.Parallel()
	r := hostileReport(t)
	r.Findings[0].Said += "\x0b\uffff" // XML has neither
	cases, failures := count(t, r)
	if cases["testcase"] != len(check.Rules()) || cases["skipped"] != len(r.NotObserved) || failures == 0 {
		t.Errorf("%v, %d failures", cases, failures)
	}
	r.FailOn = check.HarmNone
	if _, failures := count(t, r); failures > 0 {
		t.Errorf("%d cases fail although nothing fails the run", failures)
	}
}

// count counts the elements of a report in JUnit's form.
func count(t *testing.T, r *check.Report) (elements map[string]int, failures int) {
	t.Helper()
	var text bytes.Buffer
	if err := report.JUnit(&text, r); err != nil {
		t.Fatal(err)
	}
	elements = map[string]int{}
	for d := xml.NewDecoder(&text); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, elements["failure"]
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
}

// What a server says stands in Markdown as code, of which nothing is Markdown or HTML.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	text := written(t, report.Markdown, hostileReport(t))
	inCode := regexp.MustCompile(`<code>(?:[A-Za-z0-9 ]|&#\d+;)*</code>`)
	rest := inCode.ReplaceAllString(text, "")
	for _, part := range []string{"evil", "onerror", "alert", "@", "$(", "\x1b"} {
		if strings.Contains(rest, part) {
			t.Errorf("%q is no code: %s", part, rest)
		}
	}
	if !strings.Contains(text, "evil") {
		t.Error("nothing of the server's words is in it")
	}
}

// The badge says nothing of the server's.
func TestBadge(t *testing.T) {
	t.Parallel()
	for _, grade := range []string{"", "A", "F"} {
		r := hostileReport(t)
		r.Grade = grade
		text := written(t, report.Badge, r)
		if err := xml.Unmarshal([]byte(text), new(struct {
			XMLName xml.Name `xml:"svg"`
		})); err != nil || strings.Contains(text, "evil") {
			t.Errorf("%v: %s", err, text)
		}
	}
}

// Each requirement of the traceability is checked, or excluded for a reason.
func TestTraceability(t *testing.T) {
	t.Parallel()
	var file struct {
		SpecURL      string `yaml:"spec_url,required"`
		Requirements []struct {
			Text     string `yaml:"text,required"`
			URL      string `yaml:"url,required"`
			Check    string `yaml:"check"`
			Excluded string `yaml:"excluded"`
		} `yaml:"requirements,required"`
	}
	if err := strictyaml.Decode("sep.yaml", []byte(written(t, report.Traceability, hostileReport(t))), &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Requirements {
		if (r.Check == "") == (r.Excluded == "") || !strings.HasPrefix(r.URL, "https://modelcontextprotocol.io/") {
			t.Errorf("%+v", r)
		}
	}
}

// A baseline that is written is read again, whatever a tool is called.
func TestBaselineOfAHostileServer(t *testing.T) {
	t.Parallel()
	r := hostileReport(t)
	known, err := check.ReadBaseline("known.yaml", []byte(written(t, check.WriteBaseline, r)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Know(known); r.Failing() > 0 || len(r.Mended) > 0 {
		t.Errorf("%d still fail, mended: %v", r.Failing(), r.Mended)
	}
}

// What is drafted of a hostile server is configuration, and a contract that reads its failures.
func TestDrafts(t *testing.T) {
	t.Parallel()
	r := hostileReport(t)
	draft := written(t, report.Draft, r)
	set := contract.Builtin()
	if _, err := set.Load("draft.yaml", []byte(draft)); err != nil {
		t.Errorf("%v\n%s", err, draft)
	}
	r.Reach = "url: http://127.0.0.1:9101/mcp"
	entry := written(t, report.Entry, r)
	known := config.Options{KnownContracts: []string{contract.Default}, KnownFamilies: []string{"general"}}
	parsed, err := config.Parse("recourse.yaml", []byte(entry), known)
	if err != nil {
		t.Fatalf("%v\n%s", err, entry)
	}
	if len(parsed.Servers) != 1 || !strings.Contains(entry, "note_get: {read_only: true}") || strings.Contains(entry, `"*": {`) {
		t.Error(entry)
	}
	for i := range r.Findings { // no line is about other tools than its own
		if f := &r.Findings[i]; f.Tool == "*" && strings.Contains(f.Entry, `"*"`) {
			t.Error(f.Entry)
		}
	}
}

// A line to repeat a call is safe to paste, whatever a tool is called.
func TestCallIsQuoted(t *testing.T) {
	t.Parallel()
	r := hostileReport(t)
	for i := range r.Findings {
		f := &r.Findings[i]
		if call := r.Call(f); f.Tool == evil && call != "" && !strings.HasPrefix(call, "recourse call '"+strings.ReplaceAll(evil, "'", `'\''`)+"' ") {
			t.Errorf("%s", call)
		}
	}
}
