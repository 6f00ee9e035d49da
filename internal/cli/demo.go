package cli

import (
	"context"
	"log/slog"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/demo"
)

// demoCommand shows what Recourse is for.
type demoCommand struct {
	Listen string `placeholder:"ADDR" help:"Address of the gateway; 127.0.0.1:8787 unless said otherwise."`
	Once   bool   `help:"End after the calls instead of serving on."`
}

// Help shows an example.
func (*demoCommand) Help() string {
	return `Starts a real MCP server that fails in many ways, the gateway in front of it, and a real client ` +
		`that makes each call to both; prints what an agent sees, and keeps serving.

Example:

    recourse demo --once --listen 127.0.0.1:0`
}

// Run shows the demo until ctx ends.
func (c *demoCommand) Run(ctx context.Context, env *Environment) error {
	level := new(slog.LevelVar)
	return demo.Run(ctx, env.Stdout, newLogger(env.Stderr, config.LogText, level), level, c.Listen, c.Once)
}
