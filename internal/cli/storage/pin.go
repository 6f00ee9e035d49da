package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/store"
)

// PinCommand looks at the tools that are pinned.
type PinCommand struct {
	Ls     pinLsCommand     `cmd:"" help:"List the changes of tools that wait to be accepted."`
	Show   pinShowCommand   `cmd:"" help:"Show what has changed."`
	Accept pinAcceptCommand `cmd:"" help:"Accept changes: clients get the new definitions."`
}

// pinLsCommand lists tools.
type pinLsCommand struct {
	load.StoreFlags `embed:""`

	All bool `help:"Also the tools that have not changed."`
}

// Help shows an example.
func (*pinLsCommand) Help() string {
	return "With `pin`, a gateway keeps the tools of a server in its store as they were first seen, and holds back what changes.\n\n" +
		"Example:\n\n    recourse pin ls"
}

// Run lists them.
func (c *pinLsCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	servers, err := s.Pins().Waiting(ctx)
	if err != nil {
		return err
	}
	table := term.NewTable(env.Stdout, "SERVER", "TOOL", "STATE", "SINCE")
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		if servers[server] == 0 && !c.All {
			continue
		}
		r, err := s.Pins().Load(ctx, server)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
			if t := r.Tools[name]; c.All || t.Change() != "" {
				table.Row(server, name, cmp.Or(t.Change(), "pinned"), at(t.Changed))
			}
		}
	}
	return table.Flush()
}

// pinned are the tools of a server, or one of them.
type pinned struct {
	load.StoreFlags `embed:""`

	Server string `arg:"" help:"Name of the server."`
	Tool   string `arg:"" optional:"" help:"Name of the tool. Without it, all tools that have changed."`
}

// open returns what is kept of the server, and the store, which has to be closed.
func (c *pinned) open(ctx context.Context, env *term.Environment) (*store.Store, *pin.Record, error) {
	s, err := c.Open(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.Pins().Load(ctx, c.Server)
	switch {
	case err != nil:
	case r.Revision == 0:
		err = term.Hint(fmt.Errorf("nothing is pinned of a server %s", c.Server),
			"`recourse pin ls --all` lists what is pinned")
	case c.Tool != "" && r.Tools[c.Tool] == nil:
		err = term.Hint(fmt.Errorf("%s has no such tool", c.Server), "`recourse pin ls --all` lists the tools")
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, r, nil
}

// pinShowCommand shows what has changed.
type pinShowCommand struct {
	pinned `embed:""`
}

// Help shows an example.
func (*pinShowCommand) Help() string {
	return "A line that begins with - is what clients get, and one with + what the server says now. With a tool that has not changed, " +
		"its definition is shown.\n\nExample:\n\n    recourse pin show farm get_field"
}

// Run shows it.
func (c *pinShowCommand) Run(ctx context.Context, env *term.Environment) error {
	s, r, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		t := r.Tools[name]
		if c.Tool != "" && c.Tool != name || c.Tool == "" && t.Change() == "" {
			continue
		}
		term.Printf(env.Stdout, "%s (%s)\n", name, cmp.Or(t.Change(), "pinned"))
		showDifference(env, t)
	}
	return nil
}

// showDifference prints the values by which the definitions of a tool differ, each with its place.
func showDifference(env *term.Environment, t *pin.Pin) {
	for _, v := range t.Values() {
		if t.Change() == "" {
			term.Printf(env.Stdout, "    %s: %s\n", v.Place, v.Was)
			continue
		}
		if v.Was != "" && v.Was != v.Is {
			term.Printf(env.Stdout, "  - %s: %s\n", v.Place, v.Was)
		}
		if v.Is != "" && v.Was != v.Is {
			term.Printf(env.Stdout, "  + %s: %s\n", v.Place, v.Is)
		}
	}
}

// pinAcceptCommand accepts changes.
type pinAcceptCommand struct {
	pinned `embed:""`
}

// Help shows an example.
func (*pinAcceptCommand) Help() string {
	return "Clients get the new definitions when they list the tools again. A tool that the server has removed is forgotten.\n\n" +
		"Example:\n\n    recourse pin accept farm get_field"
}

// Run accepts them.
func (c *pinAcceptCommand) Run(ctx context.Context, env *term.Environment) error {
	s, _, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	accepted, err := pin.Accept(ctx, s.Pins(), c.Server, c.Tool)
	if err == nil && len(accepted) == 0 {
		err = term.Hint(errors.New("nothing waits to be accepted"), "`recourse pin ls` lists what does")
	}
	if err != nil {
		return err
	}
	slices.Sort(accepted)
	for _, name := range accepted {
		term.Printf(env.Stdout, "accepted: %s\n", name)
	}
	return acted(ctx, s, store.ActionAccepted, "server", c.Server, "tools", fmt.Sprint(accepted))
}
