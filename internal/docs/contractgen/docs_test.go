package contractgen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// The failed call in the pages' programs, and the programs' output.
const (
	failed = `{"content":[],"isError":true,"structuredContent":{"error":true,"code":"FIELD_NOT_FOUND",` +
		`"message":"There is no field \"12\".","retryable":false,"suggestedAction":"List them."}}`
	told = "not_found ['List them.']"
)

// The TypeScript on the page compiles under the strictest options, and works as the page says.
func TestDocsTypeScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	installTypeScript(t, dir)
	imports, code, _ := strings.Cut(block(t, "docs/recovery.md", "import { CallFailed"), "\n")
	program := put(t, dir, "page.ts", imports+`
type Params = { name: string; arguments?: { [name: string]: unknown } };
declare const console: { log(...values: unknown[]): void };
const answer = `+failed+`;
const client = { callTool: async (_: Params): Promise<unknown> => answer };
const fieldId = "12";
const askTheFarmer = (): void => undefined;
`+strings.Replace(code, "const result = ", "", 1))
	tsc(t, append(tscOptions, program)...)
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "page.js")).CombinedOutput()
	if got := strings.Join(strings.Fields(string(out)), " "); err != nil || strings.NewReplacer("[ ", "[", " ]", "]").Replace(got) != told {
		t.Errorf("%v: %s", err, out)
	}
}

// The Python on the page works as the page says.
func TestDocsPython(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := block(t, "docs/recovery.md", "from recourse_client import")
	imports, code, _ := strings.Cut(page, "\n")
	put(t, dir, "page.py", imports+`
import asyncio, json
class Session:
    async def call_tool(self, name, arguments):
        return json.loads(r'''`+failed+`''')
field_id, ask_the_farmer = "12", lambda failure: None
async def main(session):
`+regexp.MustCompile(`(?m)^`).ReplaceAllString(code, "    ")+`
asyncio.run(main(Session()))
`)
	out, err := sdk.Python(t, "run.py", filepath.Join(dir, "page.py")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != told {
		t.Errorf("%v: %s", err, out)
	}
}

// The Go on the page compiles.
func TestDocsGo(t *testing.T) {
	t.Parallel()
	page := block(t, "docs/recovery.md", "session, err := mcpClient.Connect")
	page = strings.Replace(page, "...\n", "if err != nil {\n\treturn err\n}\n", 1)
	page = regexp.MustCompile(`// (e\..*), \.{3}`).ReplaceAllString(page, "use($1)")
	dir := t.TempDir()
	program := put(t, dir, "page.go", `package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

func use(...any) {}

func call(ctx context.Context, mcpClient *mcp.Client, fieldmcp *contract.Contract, arguments any) error {
	askTheFarmer := func(context.Context, *recourse.Error) error { return nil }
`+page+`
	use(result)
	return err
}
`)
	cmd := exec.CommandContext(t.Context(), "go", "vet", program)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// block returns the indented block of a page that begins with a given line, without the indent.
func block(t *testing.T, page, begins string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range bytes.Lines(text) {
		inner, indented := bytes.CutPrefix(line, []byte("    "))
		isBlank := len(bytes.TrimSpace(line)) == 0
		switch {
		case b.Len() == 0 && !strings.HasPrefix(string(inner), begins):
		case indented:
			b.Write(inner)
		case isBlank:
			b.WriteByte('\n')
		default:
			return b.String()
		}
	}
	if b.Len() == 0 {
		t.Fatalf("%s: no block begins with %q", page, begins)
	}
	return b.String()
}

// put writes a file, and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(fmt.Errorf("put %s: %w", name, err))
	}
	return file
}
