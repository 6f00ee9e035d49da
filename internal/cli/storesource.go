package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/store"
)

// storeSource says where a command finds a gateway's store.
type storeSource struct {
	Config string `short:"c" default:"recourse.yaml" placeholder:"FILE" help:"File that names the store (default: recourse.yaml)."`
	Store  string `placeholder:"ADDRESS" help:"The store itself, instead of a configuration file: sqlite:FILE or postgres://..."`
}

// open opens the store that the flags select.
func (c *storeSource) open(ctx context.Context, env *Environment) (*store.Store, error) {
	address, err := c.address(env)
	if err != nil {
		return nil, err
	}
	s, err := store.OpenExisting(ctx, address)
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, &hintedError{err, "a gateway makes it when it starts with this `store`"}
	case err != nil:
		return nil, storeError(err)
	default:
		return s, nil
	}
}

// address returns the address of the store.
func (c *storeSource) address(env *Environment) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	cfg, err := c.read(env)
	if err != nil {
		return "", err
	}
	if cfg.Store == "" {
		return "", &usageError{&hintedError{fmt.Errorf("%s has no store", c.Config), "add `store: sqlite:recourse.db` to the file"}}
	}
	return cfg.Store, nil
}

// read reads the configuration file.
func (c *storeSource) read(env *Environment) (*config.Config, error) {
	r := &reading{set: contract.Builtin(), files: fingerprints{}}
	err := r.readConfig(c.Config, env)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &usageError{&hintedError{err, "name the configuration with -c, or the store with --store"}}
	}
	return r.config, err
}
