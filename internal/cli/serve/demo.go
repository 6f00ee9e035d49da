package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/cli/demo"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
)

// DemoCommand shows what Recourse does.
type DemoCommand struct {
	Name   string   `arg:"" optional:"" help:"A reference system (${systems}), api, or all."`
	Listen string   `placeholder:"ADDR" help:"${demo_listen}"`
	Once   bool     `help:"Exit after the calls instead of continuing to serve."`
	With   []string `placeholder:"SETTING" sep:"none" help:"${demo_with}"`
	Stdio  bool     `help:"Run the reference system on standard input and output, without the calls."`
}

// Help shows an example.
func (*DemoCommand) Help() string {
	return `Without a name: starts a real MCP server that fails in many ways, the gateway in front of it, and a real client ` +
		`that makes each call to both; prints what an agent sees, shows the failures in the console, and keeps serving. With the ` +
		`name of a reference system: starts it, a server that follows the contract of that name, and shows how it fails. fieldmcp ` +
		`then lets you connect a farmer's ` +
		`account in a browser, take the access back, and see what an agent is told. api is an HTTP API with an OpenAPI ` +
		`description, to be served as tools.

Example:

    recourse demo --once --listen 127.0.0.1:0

Settings for --with:
` + demo.SettingsHelp()
}

// Run shows the demo until ctx ends.
func (c *DemoCommand) Run(ctx context.Context, env *term.Environment) error {
	if err := checkListen(c.Listen); err != nil {
		return err
	}
	names := demo.Systems()
	isSystem := slices.Contains(names, c.Name)
	switch {
	case c.Name != "" && c.Name != demo.All && c.Name != demo.API && !isSystem:
		return term.Usage(fmt.Errorf("there is no reference system %q: there are %s, api and all", c.Name, strings.Join(names, ", ")))
	case c.Stdio && !isSystem:
		return term.Usage(errors.New("--stdio runs one reference system: name it"))
	case c.Stdio && (c.Once || c.Listen != ""):
		return term.Usage(errors.New("--stdio serves nothing over HTTP: leave out --once and --listen"))
	}
	var settings demo.Settings
	if len(c.With) > 0 {
		if !isSystem {
			return term.Usage(errors.New("--with changes one reference system: name it"))
		}
		var err error
		if settings, err = demo.ParseSettings(c.Name, c.With); err != nil {
			return term.Usage(err)
		}
	}
	level := new(slog.LevelVar)
	show := &demo.Show{
		Out: env.Stdout, Log: newLogger(env.Stderr, config.LogText, level), Level: level, Listen: c.Listen, Once: c.Once, With: settings,
	}
	switch {
	case c.Stdio:
		return show.Stdio(ctx, c.Name, env.Stdin, env.Stdout)
	case c.Name == demo.API:
		return show.API(ctx)
	case isSystem:
		return show.System(ctx, c.Name)
	case c.Name == demo.All:
		return show.All(ctx)
	default:
		return show.Gateway(ctx)
	}
}
