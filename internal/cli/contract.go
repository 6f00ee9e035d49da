package cli

import (
	"context"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
)

// contractCommand groups the commands about contracts.
type contractCommand struct {
	Ls     contractLs     `cmd:"" help:"List the built-in contracts."`
	Show   contractShow   `cmd:"" help:"Print the reference page of a contract, in Markdown."`
	Lint   contractLint   `cmd:"" help:"Check contract files, and print every mistake with its position."`
	Schema contractSchema `cmd:"" help:"Print the JSON Schema of a contract's wire form."`
	Diff   contractDiff   `cmd:"" help:"Print how the failures of one contract map to another, both ways."`
	Gen    contractGen    `cmd:"" help:"Print a contract as source code in another language."`
}

type contractLs struct{}

// Help shows an example.
func (*contractLs) Help() string {
	return `Example:

    recourse contract ls`
}

// Run prints one line per contract.
func (*contractLs) Run(env *term.Environment) error {
	t := term.NewTable(env.Stdout)
	for _, c := range contract.Builtin().All() {
		about, _, _ := strings.Cut(strings.Join(strings.Fields(c.Doc), " "), ". ")
		t.Row(c.Name, c.Title, strings.TrimSuffix(about, "."))
	}
	return t.Flush()
}

type contractShow struct {
	client.ServerFlags `embed:""`

	Contract string `arg:"" help:"Name of a built-in contract, or a contract file. After --, a server's command."`
}

// Help shows examples.
func (*contractShow) Help() string {
	return `With a server, given as a URL or a command, prints a page for each of its tools instead: the parameters, and the errors ` +
		`that the tool can return.

Example:

    recourse contract show fieldmcp
    recourse contract show fieldmcp --server http://127.0.0.1:8787/mcp --header 'Authorization: Bearer KEY'`
}

// Run prints the contract's page, or the pages of the tools.
func (c *contractShow) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	found, err := load.Contract(c.Contract)
	if err != nil {
		return err
	}
	if c.Server != "" || len(command) > 0 {
		tools, err := c.Tools(ctx, env, command)
		if err != nil {
			return err
		}
		term.Printf(env.Stdout, "%s", contractdoc.ToolPages(found, tools))
		return nil
	}
	term.Printf(env.Stdout, "%s", contractdoc.Page(found))
	return nil
}

type contractSchema struct {
	Contract string `arg:"" help:"Name of a built-in contract, or a contract file."`
}

// Help shows an example.
func (*contractSchema) Help() string {
	return `Example:

    recourse contract schema fieldmcp`
}

// Run prints the schema.
func (c *contractSchema) Run(env *term.Environment) error {
	found, err := load.Contract(c.Contract)
	if err != nil {
		return err
	}
	term.Printf(env.Stdout, "%s\n", strings.TrimSuffix(string(contractdoc.Schema(found)), "\n"))
	return nil
}
