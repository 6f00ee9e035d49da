package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/store"
)

// StoreFlags say where a command finds a gateway's store.
type StoreFlags struct {
	Config string `short:"c" default:"recourse.yaml" placeholder:"FILE" help:"${store_flags_config}"`
	Store  string `placeholder:"ADDRESS" help:"${store_flags_store}"`
}

// Open opens the store that the flags select.
func (c *StoreFlags) Open(ctx context.Context, env *term.Environment) (*store.Store, error) {
	address, err := c.Address(env)
	if err != nil {
		return nil, err
	}
	s, err := store.OpenExisting(ctx, address)
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, term.Hint(err, "a gateway makes it when it starts with this `store`")
	case err != nil:
		return nil, StoreError(err)
	default:
		return s, nil
	}
}

// Address returns the address of the store that the flags select.
func (c *StoreFlags) Address(env *term.Environment) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	if file, err := userStore(); err == nil && c.Config == defaultConfig && !IsThere(c.Config) && IsThere(file) {
		return sqlite + file, nil
	}
	cfg, err := c.ReadConfig(env)
	if err != nil {
		return "", err
	}
	if cfg.Store == "" {
		return "", term.Usage(term.Hint(fmt.Errorf("%s has no store", c.Config), "add `store: sqlite:recourse.db` to the file"))
	}
	return cfg.Store, nil
}

const (
	defaultConfig = "recourse.yaml"
	sqlite        = "sqlite:"
)

// userStore returns the file in which wrappers keep a journal, in the user's own folder for configurations.
func userStore() (file string, err error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "recourse", "recourse.db"), err
}

// MakeUserStore returns the address of the store of wrappers that keep a journal, and makes its folder.
func MakeUserStore() (address string, err error) {
	file, err := userStore()
	if err != nil {
		return "", term.Usage(errors.New("--journal needs a folder of the user's own: set HOME"))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fmt.Errorf("keep a journal: %w", err)
	}
	return sqlite + file, nil
}

// IsThere reports whether there is a file or folder of that name.
func IsThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadConfig reads the configuration file.
func (c *StoreFlags) ReadConfig(env *term.Environment) (*config.Config, error) {
	r, err := Config(c.Config, env.LookupEnv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, term.Usage(term.Hint(err, "name the configuration with -c, or the store with --store"))
	}
	return r.Config, err
}

// StoreError adds advice to the error of a store that cannot be opened.
func StoreError(err error) error {
	switch {
	case errors.Is(err, store.ErrAddress): // from --store: the configuration's has been checked
		return term.Usage(term.Hint(err, "write --store sqlite:FILE or --store postgres://USER@HOST/DATABASE"))
	case errors.Is(err, store.ErrUnreachable):
		return &term.CallError{Failure: recourse.Unreachable("The database").WithMessage("%s", err).
			WithHint("check the address of the store, and that the database runs there").CausedBy(err)}
	case errors.Is(err, store.ErrLocked):
		return term.Hint(err, "end that program or its transaction, or name another `store`")
	case errors.Is(err, store.ErrFull):
		return term.Hint(err, "free some space there, or name another `store`")
	case errors.Is(err, store.ErrNewer):
		return term.Hint(err, "use that version or a later one, or name another `store`")
	default:
		return term.Hint(err, "check `store` in the file, and that this program may read and write there")
	}
}
