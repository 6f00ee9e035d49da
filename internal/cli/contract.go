package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractdoc"
	"github.com/recoursehq/recourse/internal/strictyaml"
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
func (*contractLs) Run(env *Environment) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range contract.Builtin().All() {
		about, _, _ := strings.Cut(strings.Join(strings.Fields(c.Doc), " "), ". ")
		printf(w, "%s\t%s\t%s\n", c.Name, c.Title, strings.TrimSuffix(about, "."))
	}
	return w.Flush()
}

type contractShow struct {
	liveServer `embed:""`

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
func (c *contractShow) Run(ctx context.Context, env *Environment, command serverCommand) error {
	found, err := findContract(c.Contract)
	if err != nil {
		return err
	}
	if c.Server != "" || len(command) > 0 {
		tools, err := c.tools(ctx, env, command)
		if err != nil {
			return err
		}
		printf(env.Stdout, "%s", contractdoc.ToolPages(found, tools))
		return nil
	}
	printf(env.Stdout, "%s", contractdoc.Page(found))
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
func (c *contractSchema) Run(env *Environment) error {
	found, err := findContract(c.Contract)
	if err != nil {
		return err
	}
	printf(env.Stdout, "%s\n", strings.TrimSuffix(string(contractdoc.Schema(found)), "\n"))
	return nil
}

// findContract returns the built-in contract with that name, otherwise the contract in the file with
// that name.
func findContract(name string) (*contract.Contract, error) {
	set := contract.Builtin()
	if c, ok := set.Get(name); ok {
		return c, nil
	}
	loaded, err := loadContract(set, name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `./\`) {
		return nil, &usageError{&hintedError{
			fmt.Errorf("there is no contract %q", name),
			"the built-in ones are " + strings.Join(set.Names(), ", ") + "; for your own, give its file",
		}}
	}
	if _, mistakes := errors.AsType[strictyaml.Errors](err); err != nil && !mistakes {
		return nil, &usageError{err}
	}
	if err != nil {
		return nil, err
	}
	c, _ := set.Get(loaded)
	return c, nil
}
