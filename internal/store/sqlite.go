package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

const (
	// maxReaders limits how many statements read a file at a time.
	maxReaders = 4
	// ownerOnly is the mode of the file: it contains hashes of keys, and what callers did.
	ownerOnly = 0o600
	// freedPages limits how many pages are released at a time, so that the writer is not blocked for long.
	freedPages = 256
)

// openSQLite opens the file at path. There is one writer: two would only wait for each other, and no longer
// than the timeout.
func openSQLite(path string, create bool) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Clean(path), flag, ownerOnly)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, fmt.Errorf("%w at %s", ErrNone, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if info.Size() == 0 && !create { // opening it would write to it
		return nil, fmt.Errorf("%w at %s: the file is empty", ErrNone, path)
	}
	forWrites := url.Values{"_txlock": {"immediate"}}
	if info.Size() == 0 { // setting it takes the write lock, and later has no effect
		forWrites.Set("_auto_vacuum", "INCREMENTAL")
	}
	writes, err := openFile(path, forWrites)
	if err != nil {
		return nil, err
	}
	reads, err := openFile(path, url.Values{"_query_only": {"1"}})
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	writes.SetMaxOpenConns(1)
	reads.SetMaxOpenConns(maxReaders)
	s := &Store{name: path, writes: writes, reads: reads, rows: 1} // SQLite finds a parameter by going through all of the statement's
	s.lock = func(ctx context.Context) (func(bool), error) { return lockFile(ctx, path+"-lock") }
	s.tidy = func(ctx context.Context) error { return freeFile(ctx, writes) }
	s.durable = &durable{db: writes, statements: map[string]*sql.Stmt{}}
	return s, nil
}

// openFile returns the connections to a file. Committed data survives a crash of the program. A crash of the
// machine may lose the last moments (synchronous NORMAL in WAL), but never corrupts the file.
func openFile(path string, more url.Values) (*sql.DB, error) {
	more.Set("_busy_timeout", "5000")
	more.Set("_journal_mode", "WAL")
	more.Set("_synchronous", "NORMAL")
	more.Set("_error_rc", "1")
	db, err := sql.Open("sqlite", fileURL(path, more))
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return db, nil
}

// fileURL returns the URL of an absolute path in a form that SQLite's driver always accepts.
func fileURL(path string, options url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a Windows drive
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

// lockFile holds a lock until unlock is called or the process ends: an exclusive transaction on an empty file
// beside the store. Once the schema is up to date nobody needs the file; those who are still waiting get an
// error.
func lockFile(ctx context.Context, path string) (unlock func(done bool), err error) {
	db, err := sql.Open("sqlite", fileURL(path, url.Values{"_busy_timeout": {"60000"}}))
	if err != nil {
		return nil, fmt.Errorf("lock the schema: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the schema: %w", err), db.Close())
	}
	return func(done bool) {
		if done {
			_ = os.Remove(path) // if it cannot be removed, it is empty
		}
		_ = db.Close() // this ends the transaction
	}, nil
}

// freeFile releases pages that are no longer used.
func freeFile(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", freedPages))
	if err != nil {
		return fmt.Errorf("give space back: %w", err)
	}
	defer rows.Close()
	for rows.Next() { // each step releases a page
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("give space back: %w", err)
	}
	return nil
}
