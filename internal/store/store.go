// Package store keeps what a gateway remembers beyond its process: the journal of calls, and API keys. It lies in a file of SQLite or
// in a PostgreSQL that replicas share; the statements are the same.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Store is an open database. It is safe for concurrent use, also by several processes.
type Store struct {
	name   string  // for messages: without credentials
	writes *sql.DB // SQLite has one writer
	reads  *sql.DB
	lock   func(ctx context.Context) (unlock func(done bool), err error) // of the schema; done: it is up to date
	tidy   func(ctx context.Context) error                               // gives space back, a little at a time
}

// The beginnings of a store's address.
const (
	schemeSQLite     = "sqlite:"
	schemePostgres   = "postgres:"
	schemePostgresql = "postgresql:"
)

var (
	// ErrNone says that there is no store at an address.
	ErrNone = errors.New("there is no store")
	// ErrNewer says that a later version of the program has written the store.
	ErrNewer = errors.New("the store was written by a later version of this program")

	// ErrAddress says that an address is not that of a store.
	ErrAddress = errors.New("the address of a store has to begin with `sqlite:` or `postgres:`")
	// ErrUnreachable says that no connection to the database could be made.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrLocked says that another program keeps the file of SQLite to itself.
	ErrLocked = errors.New("another program has locked the file")
)

// startTimeout bounds how long opening may take, which includes waiting for another process that brings the schema up to date.
const startTimeout = time.Minute

// Open opens the store at an address, sqlite:PATH or postgres://..., and brings its schema up to date. A file of SQLite that is not
// there is made, readable for its owner alone. The error is [ErrNewer] where this program is too old for the schema.
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

// OpenExisting opens the store at an address as it is. The error is [ErrNone] where nothing has written it yet, and [ErrNewer] as
// with [Open].
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

// connect returns a store whose schema has not been looked at.
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

// Ping returns why the database cannot be reached, if it cannot.
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

// Tidy gives a part of the space back to the operating system that rows have left which were deleted.
func (s *Store) Tidy(ctx context.Context) error {
	if s.tidy == nil {
		return nil
	}
	return s.tidy(ctx)
}

// all returns what read makes of each row of a query. what says, in errors, what it is for.
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

// micros returns an instant as it is stored.
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

// text returns a text as both databases take it: valid, without zero bytes, and not longer than most.
func text(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
