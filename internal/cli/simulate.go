package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/simulate"
)

type simulateCommand struct {
	Seed  uint64 `default:"1"       help:"Random seed: the same seed gives the same figures."`
	Tasks int    `default:"10000"   help:"Number of tasks for each agent in each world."`
	Write string `placeholder:"DIR" help:"Write the page and its figures into a directory instead of printing the page."`
}

// Help shows an example.
func (*simulateCommand) Help() string {
	return `Scripted agents work against a server that fails in many ways, in virtual time, without and with the gateway. It counts ` +
		`the results: goals met, things done twice, false claims, attempts and waits. docs/simulation.md explains it.

Example:

    recourse simulate --tasks 1000`
}

// Run runs the simulation, and prints the page or writes it.
func (c *simulateCommand) Run(ctx context.Context, env *term.Environment) error {
	if c.Tasks < 1 {
		return term.Usage(errors.New("--tasks must be at least 1"))
	}
	if c.Write != "" { // before minutes of work
		if info, err := os.Stat(c.Write); err != nil || !info.IsDir() {
			return term.Usage(fmt.Errorf("--write %s is not a directory", c.Write))
		}
	}
	result, err := simulate.Run(ctx, simulate.Options{Seed: c.Seed, Tasks: c.Tasks})
	if err != nil {
		return err
	}
	files, err := result.Files()
	if err != nil {
		return err
	}
	if c.Write == "" {
		term.Printf(env.Stdout, "%s", files[simulate.Page])
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(c.Write, name)
		if err := os.WriteFile(path, files[name], 0o644); err != nil { //nolint:gosec // a page is for everybody to read
			return err
		}
		term.Printf(env.Stdout, "%s\n", path)
	}
	return nil
}
