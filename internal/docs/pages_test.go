package docs_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Pages that say what the code knows are templates in the folder pages, and up to date.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"checks.md", "failures.md", "wild.md", filepath.Join("contracts", "README.md")} {
		text := fill(t, page)
		contracttest.Golden(t, filepath.Join("..", "..", "docs", page), text)
		example, isYAML := between(text, "```yaml\n", "```")
		switch _, err := contract.Builtin().Load("example.yaml", []byte(example)); {
		case !isYAML:
		case page == "wild.md":
			if _, err := contract.LoadFamily("example.yaml", []byte(example)); err != nil {
				t.Errorf("the example on %s: %v", page, err)
			}
		case err != nil:
			t.Errorf("the example on %s: %v", page, err)
		}
	}
}

// between returns what stands between two marks.
func between(text, begin, end string) (inner string, found bool) {
	_, after, found := strings.Cut(text, begin)
	inner, _, _ = strings.Cut(after, end)
	return inner, found
}

// fill returns the text of a template.
func fill(t *testing.T, page string) string {
	t.Helper()
	parsed, err := template.New(filepath.Base(page)).Funcs(template.FuncMap{
		"rules": check.Rules, "measured": measured(t), "studied": studied(t), "kinds": kinds,
		"families": contract.Families, "file": contractform.OfFamily,
		"keys": keys, "words": contractform.Words, "doc": func(condition string) string { return conditionDocs[condition] },
		"members": contractform.RecordOrder, "quoted": quoted[string], "cell": cell,
	}).ParseFiles(filepath.Join("pages", page))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, nil); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// quoted lists words.
func quoted[T ~string](words []T) string {
	var all []string
	for _, word := range words {
		all = append(all, "`"+string(word)+"`")
	}
	return strings.Join(all, ", ")
}

// measured returns how often a rule is tripped by what real servers have answered.
func measured(t *testing.T) func(rule string) any {
	t.Helper()
	type counts struct {
		Successes int `yaml:"successes,required"`
		Failures  int `yaml:"failures,required"`
	}
	var wild struct {
		Successes int                    `yaml:"successes,required"`
		Failures  int                    `yaml:"failures,required"`
		Trips     strictyaml.Map[counts] `yaml:"trips,required"`
	}
	file := filepath.Join("..", "check", "wild.yaml")
	src, err := os.ReadFile(file)
	if err == nil {
		err = strictyaml.Decode(file, src, &wild)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(rule string) any {
		for i := range wild.Trips {
			if n := wild.Trips[i]; n.Key == rule {
				return map[string]int{
					"Failures": wild.Failures, "Successes": wild.Successes, "OfFailures": n.Value.Failures, "OfSuccesses": n.Value.Successes,
				}
			}
		}
		return nil
	}
}

// studied returns what says how many servers of the study broke a rule, by its page; nil: none was seen.
func studied(t *testing.T) func(rule string) any {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "study.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile("(?m)^\\| \\[`([a-z-]+)`\\].*\\| (\\d+) of (\\d+)(?: \\((\\d+)\\))? \\| [^|]* \\|$")
	return func(rule string) any {
		for _, found := range line.FindAllStringSubmatch(string(page), -1) {
			if found[1] == rule && found[3] != "0" {
				return map[string]string{"Broken": found[2], "Observed": found[3], "Findings": found[4]}
			}
		}
		return nil
	}
}

// forms are what the pages document the keys of, by name.
var forms = func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, form := range []any{
		contractform.File{},
		contractform.CodeFile{},
		contractform.HTTPFile{},
		contractform.RPCFile{},
		contractform.ReadFile{},
		contractform.RangeFile{},
		contractform.WriteFile{},
		contractform.HintFile{},
		contractform.HintListFile{},
		contractform.EnvelopeFile{},
		contractform.FormatFile{},
		contractform.ReturnsFile{},
		contractform.SessionFile{},
		contractform.RetryFile{},
		contractform.PollFile{},
		contractform.UpstreamFile{},
		contractform.MemberFile{},
		contractform.VerifyFile{},
		contractform.ExpectFile{},
		contractform.LandedFile{},
		contractform.FamilyFile{},
		contractform.FamilyText{},
		contractform.FamilyObject{},
		contractform.FamilyCodes{},
		contractform.FamilyRule{},
		contractform.FamilyExample{},
	} {
		all[reflect.TypeOf(form).Name()] = reflect.TypeOf(form)
	}
	return all
}()

// keys returns the table of the keys of a form.
func keys(form string) string {
	of := forms[form]
	var b strings.Builder
	b.WriteString("| Key | Default | Meaning |\n|---|---|---|")
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		usual := f.Tag.Get("default")
		switch {
		case name == "":
			continue
		case options == "required":
			usual = options
		case usual != "":
			usual = "`" + usual + "`"
		case f.Type.Kind() == reflect.Bool:
			usual = "`false`"
		}
		fmt.Fprintf(&b, "\n| `%s` | %s | %s |", name, usual, cell(strictyaml.Comment(of, f.Name)))
	}
	return b.String()
}

// conditionDocs say what the conditions of a selector require.
var conditionDocs = map[string]string{
	"kind":          "The kind.",
	"class":         "The class of the kind.",
	"origin":        "Who failed.",
	"resource":      "The type of the resource.",
	"status":        "The other side's HTTP status: 404, 5xx, or none.",
	"upstream_code": "The other side's own error code.",
	"rule":          "The rule that the first violation breaks, a keyword of JSON Schema.",
	"params":        "Exactly the parameters named in the violations.",
	"has":           "Paths that are not empty.",
	"tool":          "The tool that was called.",
	"at":            "How far the call got.",
	"effect":        "Whether the call took effect.",
	"basis":         "On what the effect rests.",
	"nature":        "Whether anybody says what the tool does. If not, that it writes is an assumption.",
	"retry":         "What must happen before a retry.",
}

// A kindText is what people have to say of a kind.
type kindText struct {
	Means    string `yaml:"means" require:"true"`
	Agent    string `yaml:"agent" require:"true"`
	Operator string `yaml:"operator" require:"true"`
}

// A kindSection is what the page of kinds says of one.
type kindSection struct {
	kindText

	Kind                     recourse.Kind
	Class                    recourse.Class
	Retry, Example, Statuses string
	Codes                    []map[string]string
}

// kinds returns the sections of all kinds. Each kind has its three texts, and every text belongs to a kind.
func kinds() ([]kindSection, error) {
	src, err := os.ReadFile(filepath.Join("pages", "kinds.yaml"))
	if err != nil {
		return nil, err
	}
	texts := map[recourse.Kind]kindText{}
	if err := strictyaml.Decode("kinds.yaml", src, &texts); err != nil {
		return nil, err
	}
	var all []kindSection
	for _, kind := range recourse.Kinds() {
		s := kindSection{
			kindText: texts[kind], Kind: kind, Class: kind.Class(), Retry: retries[kind.Retry()], Example: example(kind), Statuses: statuses(kind),
		}
		for _, said := range []string{s.Means, s.Agent, s.Operator} {
			if !strings.HasSuffix(said, ".") {
				return nil, fmt.Errorf("kinds.yaml: %q is not a sentence", said)
			}
		}
		for _, c := range contract.Builtin().All() {
			if codes := codes(c, kind); c.Name != contract.Default && codes != "" {
				s.Codes = append(s.Codes, map[string]string{"Contract": c.Name, "Codes": codes})
			}
		}
		all = append(all, s)
	}
	if len(texts) != len(all) {
		return nil, errors.New("kinds.yaml explains what is not a kind")
	}
	return all, nil
}

// retries say in a few words what the advices mean.
var retries = map[recourse.Retry]string{
	recourse.RetrySameCall:  "the same call may succeed, after the wait",
	recourse.RetryReRead:    "look at the present state first",
	recourse.RetryAfterFix:  "change the arguments first",
	recourse.RetryAfterAuth: "somebody has to sign in or grant access first",
	recourse.RetryNever:     "do not repeat the call",
}

// example returns the text of a failed call in the default contract.
func example(kind recourse.Kind) string {
	e := recourse.New(kind, "").WithOrigin(recourse.OriginServer)
	if e.RetryAdvice() == recourse.RetrySameCall {
		e = e.WithEffect(recourse.EffectNone)
	}
	answer := contract.MustBuiltin(contract.Default).Write(e, &contract.Call{
		Method: "tools/call", Tool: "order_create", URL: "https://example.com/mcp", Now: contractform.ExampleTime,
	})
	var text string
	if err := json.Unmarshal(json.Lookup(json.Value(answer.Result), "/content/0/text"), &text); err != nil {
		return fmt.Sprintf("JSON-RPC error %d: %s", answer.RPCCode, answer.Message)
	}
	return text
}

// statuses returns the HTTP statuses that are read as a kind, or "".
func statuses(kind recourse.Kind) string {
	var all []string
	for status := http.StatusBadRequest; status < 600; status++ {
		if http.StatusText(status) == "" && status != 529 { // a provider that is overloaded
			continue
		}
		if recourse.FromHTTP("", &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}).Kind == kind {
			all = append(all, strconv.Itoa(status))
		}
	}
	return strings.Join(all, ", ")
}

// codes returns a contract's codes for a kind, or "".
func codes(c *contract.Contract, kind recourse.Kind) string {
	var all []string
	for _, code := range contractform.Of(c).Codes {
		if code.Kind == kind && !slices.Contains(all, code.Code) {
			all = append(all, code.Code)
		}
	}
	return quoted(all)
}
