package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/recoursehq/recourse/internal/pause"
)

//go:embed migrations
var migrations embed.FS

// schemaTable lists the migrations that have been run.
const schemaTable = "recourse_schema"

// schema is the schema version of this program.
const schema = 10

// usable returns why this program cannot use a schema version.
func usable(have int64) error {
	switch {
	case have > schema:
		return fmt.Errorf("%w: its schema is %d, and this program knows %d", ErrNewer, have, schema)
	case have < schema:
		return fmt.Errorf("%w: nothing has been written yet, or only by an earlier version", ErrNone)
	default:
		return nil
	}
}

// version returns the version of the schema; 0 if there is none yet.
func (s *Store) version(ctx context.Context) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, pingError(err)
	}
	var version int64
	err := s.writes.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+schemaTable).Scan(&version)
	if err != nil && ctx.Err() == nil { // the table does not exist yet; any other problem will show up again at once
		return 0, s.empty(ctx)
	}
	return version, err
}

// busyFor is how long a file may be busy that others are opening or closing: SQLite does not wait for each of their locks by itself.
const busyFor = 2 * time.Second

// reach opens a connection.
func (s *Store) reach(ctx context.Context) error {
	for until := time.Now().Add(busyFor); ; {
		err := s.writes.PingContext(ctx)
		refused, ok := errors.AsType[*sqlite.Error](err)
		if !ok || refused.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(until) || !pause.For(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

// pingError returns the cause of a failed connection. The driver repeats it for each address that it tried.
func pingError(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return &causedError{ErrUnreachable, dns.Err}
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		cause := failed.Err
		if call, ok := errors.AsType[*os.SyscallError](cause); ok {
			cause = call.Err
		}
		return &causedError{ErrUnreachable, cause.Error()}
	}
	if refused, ok := errors.AsType[*sqlite.Error](err); ok && refused.Code()&0xff == sqlite3.SQLITE_BUSY {
		return ErrLocked
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &causedError{ErrUnreachable, "the database does not answer"}
	}
	return fullOr("reach the database", err)
}

// fullOr returns ErrFull if the disk is full, and otherwise wraps the error with what.
func fullOr(what string, err error) error {
	if refused, ok := errors.AsType[*sqlite.Error](err); ok && refused.Code() == sqlite3.SQLITE_FULL {
		return ErrFull
	}
	return fmt.Errorf("%s: %w", what, err)
}

// A causedError is one of this package's errors with its cause as the text.
type causedError struct {
	is    error
	cause string
}

func (e *causedError) Error() string { return e.cause }
func (e *causedError) Unwrap() error { return e.is }

// empty returns why an empty database cannot even be read.
func (s *Store) empty(ctx context.Context) error {
	var one int
	if err := s.writes.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	return nil
}

// migrate updates the schema. Processes that start at the same time wait for each other.
func (s *Store) migrate(ctx context.Context) error {
	have, err := s.version(ctx)
	if err != nil || have == schema {
		return err
	}
	if have > schema {
		return usable(have)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		if have, again := s.version(ctx); again == nil && have == schema { // the previous holder of the lock has migrated it
			return nil
		}
		return err
	}
	err = s.up(ctx)
	unlock(err == nil)
	return err
}

// up runs the missing migrations, after determining them again.
func (s *Store) up(ctx context.Context) error {
	provider, err := s.migrations()
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fullOr("bring the schema up to date", err)
	}
	return nil
}

func (s *Store) migrations() (*goose.Provider, error) {
	dialect, folder := goose.DialectSQLite3, "sqlite"
	if _, ok := s.writes.Driver().(*stdlib.Driver); ok {
		dialect, folder = goose.DialectPostgres, "postgres"
	}
	steps, err := steps(folder)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(dialect, s.writes, nil,
		goose.WithGoMigrations(steps...), goose.WithTableName(schemaTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}

// steps returns the migrations. Each of them runs as one text, with what the database's own folder adds: to find its statements,
// goose would take several megabytes for a file.
func steps(folder string) ([]*goose.Migration, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]*goose.Migration, 0, len(names))
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		own, err := migrations.ReadFile(path.Join(path.Dir(name), folder, path.Base(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		up += string(own)
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, up)
			return err
		}}, nil))
	}
	return steps, nil
}
