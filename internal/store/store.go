// Package store keeps what outlives the gateway's process: the journal of calls, API keys, and the accounts
// that callers have connected. It is an SQLite file or a PostgreSQL database that replicas share; the
// statements are the same.
//
//	package journal    access control     package connection
//	      |                  |                    |
//	   Journal             Keys              Connections      the statements about each; Connections has
//	      |                  |                    |           links and sign-ins as well
//	      +------------------+--------------------+
//	                         |
//	                       Store                              opened by Open, which updates the schema (migrate.go)
//	                         |
//	             +-----------+-----------+
//	          sqlite.go             postgres.go
//	       one writes, some read    a pool for both
//
// API keys come here as hashes and tokens sealed: whoever has a copy of the database can use neither.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Store is an open database. It is safe for concurrent use, also by several processes.
type Store struct {
	name   string  // for messages; without credentials
	writes *sql.DB // SQLite has one writer
	reads  *sql.DB
	rows   int                                                           // that one statement inserts
	lock   func(ctx context.Context) (unlock func(done bool), err error) // of the schema; done: it is up to date
	tidy   func(ctx context.Context) error                               // releases space, a little at a time

	durable *durable // of an SQLite file: writes what must outlive a crash of the machine
}

// Prefixes of a store's address.
const (
	schemeSQLite     = "sqlite:"
	schemePostgres   = "postgres:"
	schemePostgresql = "postgresql:"
)

var (
	// ErrNone is the error for an address without a store.
	ErrNone = errors.New("there is no store")
	// ErrNewer says that a later version of the program has written the store.
	ErrNewer = errors.New("the store was written by a later version of this program")

	// ErrAddress says that an address is not valid for a store.
	ErrAddress = errors.New("the address of a store has to begin with `sqlite:` or `postgres:`")
	// ErrUnreachable says that no connection to the database could be made.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrLocked says that another program has locked the SQLite file.
	ErrLocked = errors.New("another program has locked the file")
	// ErrFull is the error for an SQLite file on a full disk.
	ErrFull = errors.New("the disk is full")
)

// startTimeout limits how long opening may take, including the wait for another process that is updating the
// schema.
const startTimeout = time.Minute

// Open opens the store at an address, sqlite:PATH or postgres://..., and updates its schema. A missing SQLite
// file is created, readable by its owner only. The error is [ErrNewer] if this program is too old for the
// schema.
func Open(ctx context.Context, address string) (*Store, error) {
	s, err := connect(address, true)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store %s: %w", s.name, err), s.Close())
	}
	return s, nil
}

// OpenExisting opens the store at an address without changing it. The error is [ErrNone] if nothing has been
// written there yet, and [ErrNewer] as with [Open].
func OpenExisting(ctx context.Context, address string) (*Store, error) {
	s, err := connect(address, false)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	have, err := s.version(ctx)
	if err == nil {
		err = usable(have)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store %s: %w", s.name, err), s.Close())
	}
	return s, nil
}

// Check returns why [Open] would fail, as far as that shows without creating or changing anything. pending says
// that Open would create the store or update its schema.
func Check(ctx context.Context, address string) (pending bool, err error) {
	s, err := OpenExisting(ctx, address)
	if err == nil {
		return false, s.Close()
	}
	if !errors.Is(err, ErrNone) {
		return false, err
	}
	if path, ok := strings.CutPrefix(address, schemeSQLite); ok {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return false, fmt.Errorf("open the store: %w", err)
		}
	}
	return true, nil
}

// connect returns a store without checking its schema.
func connect(address string, create bool) (*Store, error) {
	switch {
	case strings.HasPrefix(address, schemeSQLite):
		return openSQLite(strings.TrimPrefix(address, schemeSQLite), create)
	case strings.HasPrefix(address, schemePostgres), strings.HasPrefix(address, schemePostgresql):
		return openPostgres(address)
	default:
		return nil, ErrAddress
	}
}

// String returns the store's address without credentials.
func (s *Store) String() string { return s.name }

// File returns the path of the store's file; "" if it has none here.
func (s *Store) File() string {
	if s.durable == nil {
		return ""
	}
	return s.name
}

// Ping returns why the database cannot be reached, or nil.
func (s *Store) Ping(ctx context.Context) error { return s.reads.PingContext(ctx) }

// Close closes the store.
func (s *Store) Close() error {
	err := s.writes.Close()
	if s.reads != s.writes {
		err = errors.Join(err, s.reads.Close())
	}
	if err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// Tidy returns part of the space left by deleted rows to the operating system.
func (s *Store) Tidy(ctx context.Context) error {
	if s.tidy == nil {
		return nil
	}
	return s.tidy(ctx)
}

// all returns what read makes of each row of a query. what names its purpose, for errors.
func all[T any](
	ctx context.Context, db *sql.DB, what string, read func(row scanner) (*T, error), query string, args ...any,
) ([]*T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	var found []*T
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return found, nil
}

// A scanner is a row of a query.
type scanner interface{ Scan(to ...any) error }

// micros returns an instant in its stored form.
func micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// instant returns a stored instant.
func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// text returns a text that both databases accept: valid, without zero bytes, and at most that long.
func text(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
