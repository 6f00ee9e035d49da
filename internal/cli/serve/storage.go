package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
)

// lastWrites limits how long the program continues at its end to write what remains of the journal.
const lastWrites = 5 * time.Second

// A storage is what a gateway keeps beyond its process. Most fields are nil without a store.
type storage struct {
	store       *store.Store
	journal     *journal.Journal
	connections *connection.Manager // never nil; without keys it has no store
	uses        *store.Uses         // of API keys
}

// openStorage opens the configured store. Close it after the gateway.
func openStorage(ctx context.Context, cfg *config.Config, log *slog.Logger) (*storage, error) {
	s := new(storage)
	if cfg.Store == "" {
		s.connections = connection.NewManager(nil, nil, nil, log) // token exchange keeps nothing
		return s, nil
	}
	opened, err := store.Open(ctx, cfg.Store)
	if err != nil {
		return nil, load.StoreError(err)
	}
	s.store = opened
	s.journal = journal.New(opened.Journal(), cfg.Journal, log)
	if err := s.journal.CountKilled(unwritten(opened)); err != nil {
		log.LogAttrs(ctx, slog.LevelInfo, "calls that a kill loses will not be counted", slog.String("cause", err.Error()))
	}
	s.uses = opened.Keys().Uses(log)
	var rows connection.Vault
	if len(cfg.ConnectionKeys) > 0 {
		rows = opened.Connections()
	}
	s.connections = connection.NewManager(rows, seal.New(cfg.ConnectionKeys...), nil, log)
	log.LogAttrs(ctx, slog.LevelInfo, "keeping a journal", slog.String("store", opened.String()))
	return s, nil
}

// unwritten returns how the paths of files begin that say what of a journal has not been written: beside an SQLite file, otherwise in
// the user's folder for caches.
func unwritten(s *store.Store) string {
	if file := s.File(); file != "" {
		return file + "-unwritten-"
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	sum := sha256.Sum256([]byte(s.String()))
	return filepath.Join(folder, "recourse", "unwritten-"+hex.EncodeToString(sum[:6])+"-")
}

// check returns an error if the store cannot be reached, or the journal cannot be written.
func (s *storage) check(ctx context.Context) error {
	if err := s.store.Ping(ctx); err != nil {
		return err
	}
	return s.journal.Fault()
}

// keys returns the API keys in the store; nil without a store.
func (s *storage) keys() auth.KeyStore {
	if s.store == nil {
		return nil
	}
	return storedKeys{s.uses, s.store.Keys()}
}

// once returns the calls that are made once; nil without a store.
func (s *storage) once() once.Store {
	if s.store == nil {
		return nil
	}
	return s.store.Once()
}

// pins returns the tools of servers as they were first seen; nil without a store.
func (s *storage) pins() pin.Records {
	if s.store == nil {
		return nil
	}
	return s.store.Pins()
}

// observe records all calls in the journal.
func (s *storage) observe(g *gateway.Gateway) {
	if s.journal != nil {
		g.Observe(s.journal)
	}
}

// count adds the journal's counts to the metrics.
func (s *storage) count(parts *admin.Sources) {
	if j := s.journal; j != nil {
		parts.Journal = func() admin.JournalCounts {
			counted := j.Stats()
			return admin.JournalCounts{Written: counted.Written, Lost: counted.Lost}
		}
	}
}

// openFor is how long a call may be unknown before it is reported, and countTime limits the count.
const (
	openFor   = 15 * time.Minute
	countTime = 2 * time.Second
)

// doubt adds what waits for an operator to the metrics: calls that nobody has settled, and changes of tools.
func (s *storage) doubt(parts *admin.Sources) {
	if s.store == nil {
		return
	}
	calls, pins := s.store.Once(), s.store.Pins()
	parts.Pins = func() (map[string]int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), countTime)
		defer cancel()
		return pins.Waiting(ctx)
	}
	parts.Unknown = func() (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), countTime)
		defer cancel()
		return calls.CountUnknown(ctx, time.Now().Add(-openFor))
	}
}

// configure changes what the journal keeps.
func (s *storage) configure(cfg *config.Config) {
	if s.journal != nil && cfg.Journal != nil {
		s.journal.Configure(cfg.Journal)
	}
}

// close writes what has not been written yet, and closes the store.
func (s *storage) close(ctx context.Context, log *slog.Logger) {
	s.connections.Close()
	if s.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	s.uses.Close(ctx)
	s.journal.Close(ctx)
	if err := s.store.Close(); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "the store was not closed in good order", slog.String("cause", err.Error()))
	}
}

// storedKeys are the keys in a store, for authentication.
type storedKeys struct {
	*store.Uses

	keys *store.Keys
}

// Key implements [auth.KeyStore].
func (s storedKeys) Key(ctx context.Context, id string) (*auth.Key, error) {
	key, err := s.keys.Lookup(ctx, id)
	if errors.Is(err, store.ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hash, ok := auth.ParseHash(key.Hash)
	if !ok {
		return nil, fmt.Errorf("the hash of the key %s cannot be read", id)
	}
	return &auth.Key{
		ID: key.ID, Name: key.Name, Org: key.Org, Roles: key.Roles, Hash: hash, Expires: key.Expires, Revoked: key.Revoked,
	}, nil
}
