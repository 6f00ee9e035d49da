package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The page for clients' authors is generated from the table that TestFailures uses.
func TestDocs(t *testing.T) {
	t.Parallel()
	contracttest.Golden(t, "../../../docs/clients.md", page(failures()))
}

const (
	intro = `# What a client's program gets

What an SDK returns or throws to its program when something fails behind the gateway. Every line is a test: with the Go
SDK 1.8, the TypeScript SDK 1.32 (` + "`@modelcontextprotocol/sdk`" + `) and the TypeScript client 2.4
(` + "`@modelcontextprotocol/client`" + `), in the versions of the protocol that they speak. After each failure the same
session goes on, unless it says "connect again".

The record of a failure tells what happened, whose fault it is, whether anything was changed and what to do next. A program
finds it here:

| | in a result with ` + "`isError`" + ` | in an error that is thrown |
|---|---|---|
| Go SDK | ` + "`result.Meta[recourse.MetaKey]`" + ` | ` + "`Data` of the `*jsonrpc.Error` that `errors.As` finds" + ` |
| TypeScript SDK 1.32 | ` + "`result._meta[\"io.github.recoursehq/error\"]`" + ` | ` + "`data` of the `McpError`" + ` |
| TypeScript client 2.4 | ` + "`result._meta[\"io.github.recoursehq/error\"]`" + ` | ` + "`data` of the `ProtocolError`" + ` |

Where a TypeScript SDK throws an error of HTTP, the record is the ` + "`data`" + ` of the JSON-RPC error in the error's text.
`

	resultIntro = `
## A result, the same for every client

The result has ` + "`isError`" + `, a text for the model, and the record in ` + "`_meta`" + `. There is no
` + "`structuredContent`" + `: some agents show it in place of the text. One that the server sent stands in the record, in
` + "`details.structuredContent`" + `. In the contract ` + "`fieldmcp`" + ` the text and ` + "`structuredContent`" + `, unless the tool declares an outputSchema,
are its own JSON object.

| what happens | text, in the contract ` + "`recourse`" + ` | code in ` + "`fieldmcp`" + ` | kind, origin, effect |
|---|---|---|---|
`

	thrownIntro = `
## An error that is thrown

An empty cell: the program gets what it asked for, because there is nothing to lose in that version of the protocol.

When a session is lost, the gateway answers 404. The protocol requires the client to start another then (MCP 2025-11-25,
basic/transports, "Session Management"), but none of these SDKs does so by itself: they tell
their program, and go on telling it until it connects again. mcp-go 1.2 returns ` + "`transport.ErrSessionTerminated`" + ` until its
program calls ` + "`Initialize`" + ` again.

`

	fineIntro = `
## Nothing to notice

The gateway mends it, and the program gets what it asked for:

`
)

// page returns the page that documents the table.
func page(rows []failure) string {
	var results, errs, fine strings.Builder
	columns := clients()
	errs.WriteString("| what happens |")
	for _, c := range columns {
		errs.WriteString(" " + c.name + " |")
	}
	errs.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, f := range rows {
		switch {
		case f.told != nil:
			fmt.Fprintf(&results, "| %s | %s | %s | `%s`, %s, %s |\n",
				f.name, cell(f.told.text), f.told.object(), f.told.kind, f.told.origin, f.told.effect)
		case f.thrown != nil:
			errs.WriteString("| " + f.name + " |")
			for _, c := range columns {
				errs.WriteString(f.cell(c.name) + " |")
			}
			errs.WriteByte('\n')
		default:
			fine.WriteString("- " + f.name + "\n")
		}
	}
	return intro + resultIntro + results.String() + thrownIntro + errs.String() + fineIntro + fine.String()
}

// object describes the object of fieldmcp.
func (w *told) object() string {
	text := "`" + w.code + "`"
	if w.retryable {
		text += ", retryable"
	}
	if w.retryAfter > 0 {
		text += fmt.Sprintf(", retryAfter %d", w.retryAfter)
	}
	return text
}

// cell describes what a client throws.
func (f *failure) cell(client string) string {
	t, ok := f.thrown[client]
	if !ok {
		return ""
	}
	text := " " + t.String()
	if slices.Contains(f.lost, client) {
		text += "; connect again"
	}
	return text
}

// cell turns text with line breaks into a table cell.
func cell(text string) string {
	return strings.NewReplacer("\n", "<br>", "|", `\|`).Replace(text)
}
