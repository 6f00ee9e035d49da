package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/client"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// contractLint checks contract files, and their advice against a server.
type contractLint struct {
	client.ServerFlags `embed:""`

	Files []string `arg:"" help:"${contract_lint_files}"`
}

// Help shows examples.
func (*contractLint) Help() string {
	return `Prints every mistake in contract and family files with its position. With a server, given as a URL or a command, it also ` +
		`checks advice against the server's tools: a hint or a verify call that names a missing tool or parameter would be left ` +
		`out, or mislead.

Example:

    recourse contract lint shop.yaml
    recourse contract lint shop.yaml --server http://127.0.0.1:9101/mcp
    recourse contract lint fieldmcp -- farmd --stdio`
}

// Run checks the files in order.
func (c *contractLint) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	live := c.Server != "" || len(command) > 0
	var tools []contract.Tool
	if live {
		var err error
		if tools, err = c.Tools(ctx, env, command); err != nil {
			return err
		}
	}
	set := contract.Builtin()
	var mistakes strictyaml.Errors
	for _, path := range c.Files {
		err := lintFile(set, path, live, tools)
		var found strictyaml.Errors
		switch {
		case errors.As(err, &found):
			mistakes = append(mistakes, found...)
		case err != nil:
			return term.Usage(err)
		case live:
			term.Printf(env.Stdout, "%s: no mistakes, and its advice fits the %d tools of the server\n", path, len(tools))
		default:
			term.Printf(env.Stdout, "%s: no mistakes\n", path)
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// lintFile checks a file, and adds it to set for the files after it.
func lintFile(set *contract.Set, path string, live bool, tools []contract.Tool) error {
	if _, builtin := contract.Builtin().Get(path); builtin {
		if !live {
			return nil // a test lints the built-in ones
		}
		return set.LintFor(path, nil, tools)
	}
	src, err := os.ReadFile(filepath.Clean(path))
	if err == nil && contract.IsFamily(src) {
		_, err := load.AddFamily(set, path, src, nil)
		return err
	}
	if live && err == nil {
		if err := set.LintFor(path, src, tools); err != nil {
			return err
		}
	}
	_, err = load.AddContract(set, path, src, err)
	return err
}
