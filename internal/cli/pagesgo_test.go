//go:build unix

package cli_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// isGo matches an indented block of Go.
var isGo = regexp.MustCompile(`(?m)^(\w+(, \w+)* := |return nil, |func |package )`)

// goPreamble declares what the Go examples use without declaring it.
const goPreamble = `package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/mcptool/oncestore"
	"github.com/recoursehq/recourse/recovery"
)

type order struct{ FieldID string }

var (
	server       *mcp.Server
	mcpClient    *mcp.Client
	session      *mcp.ClientSession
	params       *mcp.CallToolParams
	fieldmcp     *contract.Contract
	askTheFarmer func(context.Context, *recourse.Error) error
	report       recovery.Report
	arguments    map[string]any
	ctx          context.Context
	resp         *http.Response
	err          error

	client = recovery.New(session, fieldmcp)

	backend, id string

	body    func(order) io.Reader
	request func(context.Context, order) *http.Request
	text    func(string) []mcp.Content
)

`

// fileOf returns an example as a whole file. A fragment becomes the body of a function with the fragment's results.
func fileOf(text string) string {
	if strings.HasPrefix(text, "package ") {
		return text
	}
	results := "error"
	if strings.Contains(text, "return nil, ") && !strings.Contains(text, "func(") {
		results = "(*mcp.CallToolResult, any, error)"
	}
	return goPreamble + "func _() " + results + " {\n" + text + "\npanic(\"\")\n}\n"
}

// elided matches the places where an example leaves something out.
var elided = regexp.MustCompile(`(?m)^\s*\.{3}$|\{ \.{3} \}`)

// Every Go example on every page compiles with goPreamble.
func TestExamplesInGo(t *testing.T) {
	t.Parallel()
	imports := exportsOf(t, goPreamble)
	count := 0
	for _, e := range examples(t) {
		if e.language != "go" && (e.language != indented || !isGo.MatchString(e.text)) {
			continue
		}
		count++
		text := elided.ReplaceAllStringFunc(e.text, func(found string) string {
			if strings.HasPrefix(found, "{") {
				return "{}"
			}
			return `panic("")`
		})
		if err := compileGo(fileOf(text), imports); err != nil {
			t.Errorf("%s:%d:\n%s\n%v", e.page, e.line, e.text, err)
		}
	}
	if count < 6 {
		t.Errorf("found only %d examples", count)
	}
}

// compileGo finds mistakes in an example.
func TestExamplesInGoAreChecked(t *testing.T) {
	t.Parallel()
	imports := exportsOf(t, goPreamble)
	for text, want := range map[string]string{
		"x := recourse.NotFound(1)":     "not enough arguments",
		"contract.Builtin().Nothing()":  "Nothing",
		"package page\nfunc f() int {}": "missing return",
		"x := )":                        "expected",
	} {
		if err := compileGo(fileOf(text), imports); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// compileGo checks the types of a file. Unused variables and imports are allowed.
func compileGo(source string, imports func(path string) (io.ReadCloser, error)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "page.go", source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var faults []error
	check := types.Config{
		Importer: importer.ForCompiler(set, "gc", imports),
		Error: func(err error) {
			if fault, ok := errors.AsType[types.Error](err); !ok || !fault.Soft {
				faults = append(faults, err)
			}
		},
	}
	_, _ = check.Check("page", set, []*ast.File{file}, nil)
	return errors.Join(faults...)
}

// exportsOf returns a function that opens the compiler's export data of the packages that a file imports.
func exportsOf(t *testing.T, source string) func(path string) (io.ReadCloser, error) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, spec := range file.Imports {
		args = append(args, strings.Trim(spec.Path.Value, `"`))
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
