package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/auth"
)

// keyCommand deals with API keys.
type keyCommand struct {
	New keyNewCommand `cmd:"" help:"Make an API key. It is shown once."`
}

// keyNewCommand makes a key.
type keyNewCommand struct {
	Name    string   `arg:"" placeholder:"NAME" help:"Name of the caller, for grants, limits and logs."`
	Org     string   `placeholder:"NAME" help:"The caller's organisation."`
	Role    []string `placeholder:"ROLE" help:"A role of the caller's; can be given several times."`
	Expires string   `placeholder:"DATE" help:"When the key ends, such as 2027-01-31 (UTC). Default: never."`
	Print   bool     `help:"Print the entry for the configuration, which holds only the key's hash."`
}

// Help shows an example.
func (*keyNewCommand) Help() string {
	return `The key is a random text, which callers send as Authorization: Bearer KEY. Only its SHA-256 is kept, so that nobody ` +
		`can read the key later.

Example:

    recourse key new --print --role reader ci`
}

// Run makes the key.
func (c *keyNewCommand) Run(env *Environment) error {
	if c.Expires != "" {
		if _, err := time.Parse(time.DateOnly, c.Expires); err != nil {
			return &usageError{&hintedError{errors.New("--expires is not a date"), "write it as 2027-01-31"}}
		}
	}
	if !c.Print {
		err := errors.New("there is no store that could keep the key")
		return &usageError{&hintedError{err, "add --print, and put the entry into the configuration"}}
	}
	key, _ := auth.NewKey()
	entry := []string{fmt.Sprintf("name: %q", c.Name), "hash: " + auth.HashOf(key).String()}
	if c.Org != "" {
		entry = append(entry, fmt.Sprintf("org: %q", c.Org))
	}
	if len(c.Role) > 0 {
		roles := make([]string, len(c.Role))
		for i, role := range c.Role {
			roles[i] = fmt.Sprintf("%q", role)
		}
		entry = append(entry, "roles: ["+strings.Join(roles, ", ")+"]")
	}
	if c.Expires != "" {
		entry = append(entry, "expires: "+c.Expires)
	}
	printf(env.Stderr, "For `keys` of an entry of `access`; the key itself is shown only now:\n")
	printf(env.Stdout, "- {%s}\n%s\n", strings.Join(entry, ", "), key)
	return nil
}
