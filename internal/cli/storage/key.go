package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/store"
)

// KeyCommand manages API keys.
type KeyCommand struct {
	New    keyNewCommand    `cmd:"" help:"Make an API key. It is shown once."`
	Ls     keyLsCommand     `cmd:"" help:"List the API keys in the store."`
	Revoke keyRevokeCommand `cmd:"" help:"Revoke an API key in the store."`
}

// keyNewCommand creates a key.
type keyNewCommand struct {
	load.StoreFlags `embed:""`

	Name    string   `arg:"" placeholder:"NAME" help:"Name of the caller, for grants, limits and logs."`
	Org     string   `placeholder:"NAME" help:"The caller's organisation."`
	Role    []string `placeholder:"ROLE" help:"A role of the caller's; can be given several times."`
	Expires string   `placeholder:"DATE" help:"When the key ends, such as 2027-01-31 (UTC). Default: never."`
	Print   bool     `help:"Store nothing: print the entry for the configuration, which holds only the key's hash."`
}

// Help shows an example.
func (*keyNewCommand) Help() string {
	return `The key is a random text, which callers send as Authorization: Bearer KEY. Only its SHA-256 is kept, so that nobody ` +
		`can read the key later. It counts where the configuration has stored_keys: true.

Example:

    recourse key new --role reader ci`
}

// Run creates the key.
func (c *keyNewCommand) Run(ctx context.Context, env *term.Environment) error {
	made := &store.Key{Name: c.Name, Org: c.Org, Roles: c.Role, Created: time.Now()}
	if c.Expires != "" {
		var err error
		if made.Expires, err = time.Parse(time.DateOnly, c.Expires); err != nil {
			return term.Usage(term.Hint(errors.New("--expires is not a date"), "write it as 2027-01-31"))
		}
	}
	key, id := auth.NewKey()
	made.ID, made.Hash = id, auth.HashOf(key).String()
	if c.Print {
		term.Printf(env.Stderr, "For `keys` of an entry of `access`; the key itself is shown only now:\n")
		term.Printf(env.Stdout, "- {%s}\n%s\n", entryOf(made, c.Expires), key)
		return nil
	}
	address, err := c.Address(env)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, address) // the gateway may be started later
	if err != nil {
		return load.StoreError(err)
	}
	defer s.Close()
	if err := s.Keys().New(ctx, made); err != nil {
		return err
	}
	term.Printf(env.Stderr, "The key is shown only now:\n")
	term.Printf(env.Stdout, "%s\n", key)
	return acted(ctx, s, "made an API key", "key", made.ID, "name", made.Name, "org", made.Org, "roles", strings.Join(made.Roles, " "))
}

// entryOf returns the configuration entry for a key.
func entryOf(key *store.Key, expires string) string {
	entry := []string{fmt.Sprintf("name: %q", key.Name), "hash: " + key.Hash}
	if key.Org != "" {
		entry = append(entry, fmt.Sprintf("org: %q", key.Org))
	}
	if len(key.Roles) > 0 {
		roles := make([]string, len(key.Roles))
		for i, role := range key.Roles {
			roles[i] = fmt.Sprintf("%q", role)
		}
		entry = append(entry, "roles: ["+strings.Join(roles, ", ")+"]")
	}
	if expires != "" {
		entry = append(entry, "expires: "+expires)
	}
	return strings.Join(entry, ", ")
}

// keyLsCommand lists keys.
type keyLsCommand struct {
	load.StoreFlags `embed:""`
}

// Run lists them.
func (c *keyLsCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	keys, err := s.Keys().List(ctx)
	if err != nil {
		return err
	}
	t := term.NewTable(env.Stdout, "ID", "NAME", "ORG", "ROLES", "CREATED", "LAST USED", "STATE")
	for _, key := range keys {
		used := "never"
		if !key.LastUsed.IsZero() {
			used = key.LastUsed.UTC().Format("2006-01-02 15:04")
		}
		t.Row(key.ID, key.Name, key.Org, strings.Join(key.Roles, ","),
			key.Created.UTC().Format(time.DateOnly), used, keyState(key, time.Now()))
	}
	return t.Flush()
}

func keyState(key *store.Key, now time.Time) string {
	switch {
	case !key.Revoked.IsZero():
		return "revoked on " + key.Revoked.UTC().Format(time.DateOnly)
	case key.Expires.IsZero():
		return "good"
	case now.Before(key.Expires):
		return "good until " + key.Expires.UTC().Format(time.DateOnly)
	default:
		return "ended on " + key.Expires.UTC().Format(time.DateOnly)
	}
}

// keyRevokeCommand revokes a key.
type keyRevokeCommand struct {
	load.StoreFlags `embed:""`

	ID string `arg:"" placeholder:"ID" help:"${key_revoke_id}"`
}

// Run revokes the key.
func (c *keyRevokeCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.Keys().Revoke(ctx, c.ID, time.Now())
	if errors.Is(err, store.ErrNoKey) {
		return term.Hint(err, "`recourse key ls` lists the keys")
	}
	if err != nil {
		return err
	}
	return acted(ctx, s, "revoked an API key", "key", c.ID)
}
