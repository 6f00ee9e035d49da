package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The published schemas, which editors fetch, are those that the program prints.
func TestSchemasAreFresh(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"config", "contract", "family", "faults"} {
		var stdout bytes.Buffer
		if code := cli.Run(t.Context(), cli.Environment{Args: []string{"schema", kind}, Stdout: &stdout, Stderr: io.Discard}); code != cli.ExitOK {
			t.Fatalf("exit code %d", code)
		}
		file := filepath.Join("..", "..", "docs", "schemas", kind+".json")
		if *update {
			if err := os.WriteFile(file, stdout.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, stdout.Bytes()) {
			t.Errorf("%s is not what recourse schema %s prints (%v): go test ./internal/cli -update", file, kind, err)
		}
	}
}

// compileSchema compiles what recourse schema prints.
func compileSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := cli.Run(t.Context(), cli.Environment{Args: []string{"schema", kind}, Stdout: &stdout, Stderr: &stderr}); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	document, err := jsonschema.UnmarshalJSON(&stdout)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate validates a YAML file against a schema.
func validate(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := strictyaml.Decode("file.yaml", []byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(asJSON(value))
}

// asJSON converts a YAML value to what a JSON decoder would return.
func asJSON(value any) any {
	switch value := value.(type) {
	case strictyaml.Map[any]:
		object := make(map[string]any, len(value))
		for _, entry := range value {
			object[entry.Key] = asJSON(entry.Value)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = asJSON(item)
		}
		return list
	default:
		return value
	}
}

func fileText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Valid files validate against their schema, and files with a slip do not.
func TestSchemas(t *testing.T) {
	t.Parallel()
	configuration, contracts := compileSchema(t, "config"), compileSchema(t, "contract")
	for _, text := range []string{
		fileText(t, "../config/example.yaml"), fileText(t, "demo/recourse.yaml"), "servers: {a: {command: [x], timeout: \"${T}\", redact: off, idle: 1m30s}}\n",
		"servers: {a: {command: [x], reads: aws}, b: {command: [x], reads: [aws, ./ours.yaml]}}\n",
		"max_request: 512\nservers: {a: {url: 'http://127.0.0.1/mcp', tools: {x: {verify: {tool: y, from: {a: /b}}}}}}\n",
	} {
		if err := validate(t, configuration, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "contract", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no contracts", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, contracts, string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, text := range []string{
		"servers: {a: {ulr: x}}\n", "listen: [127.0.0.1:0]\n", "include: servers\n", "servers: {a: {url: x, mode: watch}}\n", "servers: {a: {url: x, timeout: 20}}\n",
		"servers: {a: {url: x, trusted: 'true'}}\n", "servers: {a: {command: [x], reads: {aws: true}}}\n", "servers: {a: {command: [x], reads: [[aws]]}}\n",
	} {
		if err := validate(t, configuration, text); err == nil {
			t.Errorf("validated with a slip: %s", text)
		}
	}
	if err := validate(t, contracts, "form: 1\nname: a\ncodes: [{kind: conflict}]\n"); err == nil || !strings.Contains(err.Error(), "code") {
		t.Errorf("a code without a name: %v", err)
	}
}

// Every built-in family and the one in the documentation validate against the schema; with a slip they do not.
func TestSchemaOfFamilies(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t, "family")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "wild.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	files, err := filepath.Glob(filepath.Join("..", "..", "contract", "internal", "wild", "families", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no families", err)
	}
	texts := []string{example}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%.200s\n%v", text, err)
		}
	}
	for slip, text := range map[string]string{
		"no sources":       strings.Replace(example, "sources:", "source:", 1),
		"a key misspelt":   strings.Replace(example, "codes:\n", "code:\n", 1),
		"codes as text":    strings.Replace(example, "codes: [S-17]", "codes: S-17", 1),
		"form as text":     strings.Replace(example, "form: 1", "form: one", 1),
		"weak as a number": strings.Replace(example, "weak: true", "weak: 1", 1),
	} {
		if validate(t, schema, text) == nil {
			t.Errorf("validated with %s", slip)
		}
	}
}

// The fault file in the documentation loads and validates against its schema; with a slip it does not.
func TestSchemaOfFaults(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "inject.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(example, "```")
	if !found {
		t.Fatal("docs/inject.md shows no fault file")
	}
	schema := compileSchema(t, "faults")
	for _, text := range []string{
		example, "rules: [{fault: hang}]", "rules: [{match: {attempt: 2, arguments: {/a: 1, /b: true, /c: null}}, fault: {contract: commerce, code: 4001}}]",
	} {
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
		if _, err := inject.Parse("faults.yaml", []byte(text), inject.Options{}); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{
		"seed: 1", "rules: [{times: 1}]", "rules: [{fault: hagn}]", "rules: [{fault: status}]", "rules: [{fault: {stauts: 503}}]", "rules: [{tool: x, fault: hang}]",
		"rules: [{effect: later, fault: hang}]", "rules: [{match: {attempt: first}, fault: hang}]", "rules: [{fault: {drip: 5}}]",
	} {
		if err := validate(t, schema, text); err == nil {
			t.Errorf("validated with a slip: %s", text)
		}
	}
}
