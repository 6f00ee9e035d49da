package admin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// deployed reads a file in deploy.
func deployed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// words are the PromQL words in the files; aggregates are followed by the remaining labels.
var words = []string{
	"sum", "min", "max", "count", "topk", "by", "rate", "increase", "histogram_quantile", "time", "label_values",
	"instance", // a label of every metric
}

var (
	literal  = regexp.MustCompile(`"[^"]*"`)
	span     = regexp.MustCompile(`\[[^\]]*\]`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
	selector = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	word     = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*`)
)

// mistakesIn returns the metrics and labels in an expression that the gateway does not serve. legend names labels in {{
// }}.
func mistakesIn(expr, legend string, all map[string]metric, text string) (mistakes []string) {
	plain := span.ReplaceAllString(literal.ReplaceAllString(expr, `""`), "")
	labels := []string{"instance", "job"}
	lookup := func(name string) {
		base, isBucket := strings.CutSuffix(name, "_bucket")
		for _, suffix := range []string{"_count", "_sum"} {
			if all[strings.TrimSuffix(name, suffix)].kind == "histogram" {
				base = strings.TrimSuffix(name, suffix)
			}
		}
		m, known := all[base]
		switch {
		case known && (base == name) == (m.kind == "histogram"):
			mistakes = append(mistakes, name+" is a "+m.kind)
		case known:
			labels = append(labels, m.labels...)
			if isBucket {
				labels = append(labels, "le")
			}
		case name != "up" && !strings.Contains(text, "# TYPE "+name+" "):
			mistakes = append(mistakes, "there is no "+name)
		}
	}
	check := func(label string) {
		if !slices.Contains(labels, label) {
			mistakes = append(mistakes, "there is no label "+label)
		}
	}
	rest := grouping.ReplaceAllString(plain, "")
	for _, name := range word.FindAllString(selector.ReplaceAllString(rest, "$1"), -1) {
		if !slices.Contains(words, name) {
			lookup(name)
		}
	}
	for _, found := range selector.FindAllStringSubmatch(rest, -1) {
		for _, label := range matcher.FindAllStringSubmatch(found[2], -1) {
			check(label[1])
		}
	}
	var left []string
	for _, found := range grouping.FindAllStringSubmatch(plain, -1) {
		for _, label := range word.FindAllString(found[1], -1) {
			check(label)
			left = append(left, label)
		}
	}
	for _, found := range regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`).FindAllStringSubmatch(legend, -1) {
		if len(left) > 0 && !slices.Contains(left, found[1]) {
			mistakes = append(mistakes, "the expression does not leave the label "+found[1])
		}
	}
	if strings.Count(plain, "(") != strings.Count(plain, ")") || strings.Count(plain, "{") != strings.Count(plain, "}") {
		mistakes = append(mistakes, "brackets are missing")
	}
	return mistakes
}

// Each query of the dashboard uses served metrics, each panel has a title, a unit and a description, and every metric
// has a panel.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var board struct {
		Panels []struct {
			ID          int    `json:"id"`
			Type        string `json:"type"`
			Title       string `json:"title"`
			Description string `json:"description"`
			GridPos     struct {
				X int `json:"x"`
				Y int `json:"y"`
				W int `json:"w"`
				H int `json:"h"`
			} `json:"gridPos"`
			FieldConfig struct {
				Defaults struct {
					Unit string `json:"unit"`
				} `json:"defaults"`
			} `json:"fieldConfig"`
			Targets []struct {
				Expr         string `json:"expr"`
				LegendFormat string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Name       string `json:"name"`
				Definition string `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(deployed(t, "grafana/recourse.json"), &board); err != nil {
		t.Fatal(err)
	}
	all := served(t)
	_, text := get(t, everything(), "/metrics")
	var queries strings.Builder
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d, %q: its id or title is missing or not unique", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q covers %q, or is outside the grid", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.FieldConfig.Defaults.Unit == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%q lacks a unit, a description or a query", p.Title)
		}
		for _, target := range p.Targets {
			queries.WriteString(target.Expr)
			for _, mistake := range mistakesIn(target.Expr, target.LegendFormat, all, text) {
				t.Errorf("%q: %s in %s", p.Title, mistake, target.Expr)
			}
			if target.LegendFormat == "" {
				t.Errorf("%q has a query without a legend", p.Title)
			}
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" && v.Definition != "label_values(mcp_server_operation_duration_seconds_count, server)" {
			t.Errorf("variable %s: got %s", v.Name, v.Definition)
		}
	}
	for name := range all {
		if !strings.Contains(queries.String(), name) && name != "recourse_process_starts_total" {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// Each alert uses served metrics, and says what is wrong and what to do.
func TestAlerts(t *testing.T) {
	t.Parallel()
	type rule struct {
		Alert       string            `yaml:"alert,required"`
		Expr        string            `yaml:"expr,required"`
		For         string            `yaml:"for"`
		Labels      map[string]string `yaml:"labels,required"`
		Annotations map[string]string `yaml:"annotations,required"`
	}
	var file struct {
		Groups []struct {
			Name  string `yaml:"name,required"`
			Rules []rule `yaml:"rules,required"`
		} `yaml:"groups,required"`
	}
	if err := strictyaml.Decode("alerts.yaml", deployed(t, "prometheus/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	all := served(t)
	_, text := get(t, everything(), "/metrics")
	seen := map[string]bool{}
	for _, r := range file.Groups[0].Rules {
		for _, mistake := range mistakesIn(r.Expr, r.Annotations["summary"], all, text) {
			t.Errorf("%s: %s in %s", r.Alert, mistake, r.Expr)
		}
		if seen[r.Alert] || r.Annotations["summary"] == "" || r.Annotations["action"] == "" ||
			!slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
		}
		seen[r.Alert] = true
	}
	if len(seen) < 8 {
		t.Errorf("got %d alerts", len(seen))
	}
}

// The check of the files finds mistakes in expressions.
func TestMistakesInExpressions(t *testing.T) {
	t.Parallel()
	all := served(t)
	_, text := get(t, everything(), "/metrics")
	for expr, want := range map[string]string{
		`sum by (server) (rate(recourse_attempts_total{repetition="true"}[5m]))`:                    "",
		`histogram_quantile(0.5, sum by (le) (rate(recourse_attempt_duration_seconds_bucket[5m])))`: "",
		`rate(recourse_attempt_total[5m])`:                                                          "there is no recourse_attempt_total",
		`rate(recourse_attempt_duration_seconds[5m])`:                                               "recourse_attempt_duration_seconds is a histogram",
		`rate(recourse_attempts_total{tool="x"}[5m])`:                                               "there is no label tool",
		`sum by (le) (rate(recourse_attempts_total[5m]))`:                                           "there is no label le",
		`sum by (server) (rate(recourse_attempts_total[5m])`:                                        "brackets are missing",
	} {
		if got := strings.Join(mistakesIn(expr, "", all, text), "; "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	if got := mistakesIn(`sum by (server) (rate(recourse_attempts_total[5m]))`, "{{reason}}", all, text); len(got) != 1 {
		t.Errorf("a removed label: %q", got)
	}
}
