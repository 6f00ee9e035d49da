package cli

import (
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
)

// configCommand groups the commands about configurations.
type configCommand struct {
	Show configShowCommand `cmd:"" help:"Show what holds, and where each value comes from."`
}

// configShowCommand shows a configuration as the gateway reads it.
type configShowCommand struct {
	Config string `short:"c" default:"recourse.yaml" placeholder:"FILE" help:"${config_file}"`
}

// Help shows an example.
func (*configShowCommand) Help() string {
	return `The values of all files and the defaults are shown as one file, each with its origin: a file and its line, the ` +
		`environment, or the default. Secrets are masked.

Example:

    recourse config show -c recourse.yaml`
}

// Run prints it.
func (c *configShowCommand) Run(env *term.Environment) error {
	text, err := load.Show(c.Config, env.LookupEnv)
	if err != nil {
		return load.ConfigError(err)
	}
	term.Printf(env.Stdout, "%s", text)
	return nil
}
