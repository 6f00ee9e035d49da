package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/store"
)

// ActionsCommand lists what operators have done.
type ActionsCommand struct {
	load.StoreFlags `embed:""`

	Since string `placeholder:"WHEN" help:"${actions_since}"`
	Limit int    `default:"50" placeholder:"N" help:"How many at most, the latest ones (default: 50)."`
	JSON  bool   `help:"Print a line of JSON for each."`
}

// Help shows an example.
func (*ActionsCommand) Help() string {
	return "Who has settled a call, accepted changes of tools, closed a breaker, disconnected an account or changed a key: in the " +
		"console, or by a command. The latest is last.\n\nExample:\n\n    recourse actions --since 7d"
}

// Run lists them.
func (c *ActionsCommand) Run(ctx context.Context, env *term.Environment) error {
	since, err := sinceWhen(c.Since, time.Now())
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return term.Usage(errors.New("--limit must be at least 1"))
	}
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Journal().Actions(ctx, since, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		for _, a := range all {
			if err := term.PrintJSON(env.Stdout, a); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		term.Printf(env.Stderr, "recourse: the journal has no such actions\n")
		return nil
	}
	t := term.NewTable(env.Stdout, "DONE (UTC)", "WHO", "WHAT", "ON", "FROM")
	for _, a := range all {
		on := make([]string, 0, len(a.On))
		for _, name := range slices.Sorted(maps.Keys(a.On)) {
			on = append(on, name+"="+cmp.Or(a.On[name], "-"))
		}
		t.Row(at(a.At), a.Operator, a.What, strings.Join(on, " "), a.From)
	}
	return t.Flush()
}

// acted notes in the journal what the user of a command has done: on are names and values, one after the other.
func acted(ctx context.Context, s *store.Store, what string, on ...string) error {
	a := &store.Action{From: "a command line", What: what, On: map[string]string{}}
	if by, err := user.Current(); err == nil {
		a.Operator = by.Username
	}
	if host, err := os.Hostname(); err == nil {
		a.From += " on " + host
	}
	for pair := range slices.Chunk(on, 2) {
		if pair[1] != "" {
			a.On[pair[0]] = pair[1]
		}
	}
	if err := s.Journal().Note(ctx, a); err != nil {
		return fmt.Errorf("it is done, but the journal does not say so: %w", err)
	}
	return nil
}
