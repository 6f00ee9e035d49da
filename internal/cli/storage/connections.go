package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
)

// ConnectionsCommand manages the accounts that callers have connected.
type ConnectionsCommand struct {
	LS         connectionsLSCommand         `cmd:"" name:"ls" help:"List the connections."`
	Show       connectionsShowCommand       `cmd:"" help:"Show one connection."`
	Disconnect connectionsDisconnectCommand `cmd:"" help:"Remove a connection. Its owner has to connect the account again."`
	Rekey      connectionsRekeyCommand      `cmd:"" help:"Seal all tokens with the newest of connection_keys."`
}

// connectionsLSCommand lists connections.
type connectionsLSCommand struct {
	load.StoreFlags `embed:""`

	JSON bool `help:"Print a line of JSON for each."`
}

// Help shows an example.
func (*connectionsLSCommand) Help() string {
	return `Lists whose accounts are connected at which providers, and which have to be connected again. Tokens are never shown.

Example:

    recourse connections ls`
}

// Run lists them.
func (c *connectionsLSCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.Connections().List(ctx)
	if err != nil {
		return err
	}
	pending, err := s.Connections().Devices(ctx)
	if err != nil {
		return err
	}
	all := connection.AccountsOf(rows, pending)
	if c.JSON {
		for _, one := range all {
			if err := term.PrintJSON(env.Stdout, one); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		term.Printf(env.Stderr, "recourse: there are no connections\n")
		return nil
	}
	t := term.NewTable(env.Stdout, "PROVIDER", "OWNER", "STATE", "EXPIRES", "ENDS", "SCOPES")
	for _, one := range all {
		t.Row(one.Provider, one.Owner, stateOf(one), day(one.Expires), day(one.Ends), strings.Join(one.Scopes, " "))
	}
	return t.Flush()
}

func stateOf(c connection.Account) string {
	if c.Reason == "" {
		return c.State
	}
	return c.State + " (" + c.Reason + ")"
}

func day(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04")
}

// aConnection identifies a connection.
type aConnection struct {
	load.StoreFlags `embed:""`

	Provider string `arg:"" placeholder:"PROVIDER" help:"Name of the provider in the configuration."`
	Owner    string `arg:"" placeholder:"OWNER" help:"Owner, as 'connections ls' shows it."`
}

func (c *aConnection) none() error {
	return term.Hint(fmt.Errorf("there is no connection of %q at %q", c.Owner, c.Provider), "`recourse connections ls` lists them")
}

// connectionsShowCommand shows a connection.
type connectionsShowCommand struct {
	aConnection `embed:""`
}

// Help shows an example.
func (*connectionsShowCommand) Help() string {
	return `Prints what is known of one connection, as JSON and without its token.

Example:

    recourse connections show deere anybody`
}

// Run shows the connection.
func (c *connectionsShowCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	one, err := s.Connections().Get(ctx, c.Provider, c.Owner)
	if err != nil {
		return err
	}
	if one == nil {
		return c.none()
	}
	return term.PrintJSON(env.Stdout, connection.AccountOf(one))
}

// connectionsDisconnectCommand removes a connection.
type connectionsDisconnectCommand struct {
	aConnection `embed:""`
}

// Help shows an example.
func (*connectionsDisconnectCommand) Help() string {
	return `Forgets the account. A running gateway notices within seconds. What the provider has granted stays granted there.

Example:

    recourse connections disconnect deere anybody`
}

// Run removes the connection.
func (c *connectionsDisconnectCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	err = s.Connections().Delete(ctx, c.Provider, c.Owner)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = c.none()
	case err == nil:
		term.Printf(env.Stdout, "disconnected\n")
		err = acted(ctx, s, store.ActionDisconnected, "provider", c.Provider, "owner", c.Owner)
	}
	return errors.Join(err, s.Close())
}

// connectionsRekeyCommand encrypts the tokens again with the current key.
type connectionsRekeyCommand struct {
	load.StoreFlags `embed:""`
}

// Help shows an example.
func (*connectionsRekeyCommand) Help() string {
	return `Put the new key in front of connection_keys, restart the gateway, run this, and remove the old key.

Example:

    recourse connections rekey`
}

// Run encrypts the tokens again.
func (c *connectionsRekeyCommand) Run(ctx context.Context, env *term.Environment) error {
	cfg, err := c.ReadConfig(env)
	if err != nil {
		return err
	}
	if len(cfg.ConnectionKeys) == 0 {
		return term.Usage(term.Hint(
			fmt.Errorf("%s has no connection_keys", c.Config), "add `connection_keys: [\"${CONNECTION_KEY}\"]`",
		))
	}
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	rows, by := s.Connections(), seal.New(cfg.ConnectionKeys...)
	all, err := rows.List(ctx)
	if err != nil {
		return err
	}
	changed, left := 0, error(nil)
	for _, one := range all {
		did, err := connection.Rekey(ctx, rows, one, by)
		if errors.Is(err, store.ErrConflict) { // its token was refreshed in the meantime
			if one, err = rows.Get(ctx, one.Provider, one.Owner); err == nil && one != nil {
				did, err = connection.Rekey(ctx, rows, one, by)
			}
		}
		if did && err == nil {
			changed++
		}
		left = errors.Join(left, err)
	}
	term.Printf(env.Stdout, "%d of %d tokens are sealed with another key now: %s\n", changed, len(all), by.KeyID())
	if changed > 0 {
		err = acted(ctx, s, store.ActionRekeyed, "tokens", strconv.Itoa(changed), "key", by.KeyID())
	}
	if left != nil {
		return term.Hint(errors.Join(left, err), "keep the old keys in connection_keys, and run this again")
	}
	return err
}
