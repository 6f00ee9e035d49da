package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrConflict says that a row no longer exists, or has changed meanwhile.
var ErrConflict = errors.New("the row has changed meanwhile")

// A Connection is an owner's account at a provider; package connection explains its members.
type Connection struct {
	Provider, Owner string

	State   string
	Reason  string
	Scopes  []string
	Expires time.Time // of the access token; zero: not known
	Ends    time.Time // of the access: then it has to be made again; zero: not known
	Sealed  string    // the token
	KeyID   string    // of the key that it is sealed with
	Version int64     // counts changes, from 1

	Lease     string // identifies who is refreshing the token; "": nobody
	LeaseEnds time.Time

	By               string // who connected it
	Created, Updated time.Time
}

// Connections are the connections of a store.
type Connections struct{ s *Store }

// Connections returns the store's connections.
func (s *Store) Connections() *Connections { return &Connections{s} }

const connectionColumns = "provider, owner, state, reason, scopes, expires, sealed, key_id, version, lease, " +
	"lease_ends, made_by, created, updated, ends"

// Get returns a connection, or nil.
func (c *Connections) Get(ctx context.Context, provider, owner string) (*Connection, error) {
	found, err := readConnection(c.s.reads.QueryRowContext(ctx,
		"SELECT "+connectionColumns+" FROM connections WHERE provider = $1 AND owner = $2", provider, owner))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return found, err
}

// List returns all connections by provider and owner.
func (c *Connections) List(ctx context.Context) ([]*Connection, error) {
	return all(ctx, c.s.reads, "list the connections", readConnection,
		"SELECT "+connectionColumns+" FROM connections ORDER BY provider, owner")
}

// Put stores a connection, replacing any other, as the next version and without a lease.
func (c *Connections) Put(ctx context.Context, next *Connection) error {
	scopes, err := json.Marshal(append([]string{}, next.Scopes...))
	if err != nil {
		return fmt.Errorf("keep a connection: %w", err)
	}
	_, err = c.s.writes.ExecContext(ctx, "INSERT INTO connections ("+connectionColumns+") "+
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, '', 0, $9, $10, $10, $11) "+
		"ON CONFLICT (provider, owner) DO UPDATE SET state = excluded.state, reason = excluded.reason, scopes = excluded.scopes, "+
		"expires = excluded.expires, sealed = excluded.sealed, key_id = excluded.key_id, version = connections.version + 1, "+
		"lease = '', lease_ends = 0, made_by = excluded.made_by, updated = excluded.updated, ends = excluded.ends",
		next.Provider, next.Owner, next.State, next.Reason, string(scopes), micros(next.Expires), next.Sealed, next.KeyID, next.By,
		micros(time.Now()), micros(next.Ends))
	if err != nil {
		return fmt.Errorf("keep a connection: %w", err)
	}
	return nil
}

// Swap replaces that version of a connection with the next one, without a lease. It returns [ErrConflict] if
// the version is a different one.
func (c *Connections) Swap(ctx context.Context, next *Connection) error {
	scopes, err := json.Marshal(append([]string{}, next.Scopes...))
	if err != nil {
		return fmt.Errorf("change a connection: %w", err)
	}
	return c.change(ctx, "UPDATE connections SET state = $4, reason = $5, scopes = $6, expires = $7, sealed = $8, key_id = $9, "+
		"version = version + 1, lease = '', lease_ends = 0, updated = $10, ends = $11 WHERE provider = $1 AND owner = $2 AND version = $3",
		next.Provider, next.Owner, next.Version, next.State, next.Reason, string(scopes), micros(next.Expires), next.Sealed, next.KeyID,
		micros(time.Now()), micros(next.Ends))
}

// Lease takes the lease of a version, or returns [ErrConflict] if the version is a different one or someone
// else has the lease.
func (c *Connections) Lease(ctx context.Context, of *Connection, lease string, ends time.Time) error {
	return c.change(ctx, "UPDATE connections SET lease = $4, lease_ends = $5 "+
		"WHERE provider = $1 AND owner = $2 AND version = $3 AND lease = ''",
		of.Provider, of.Owner, of.Version, lease, micros(ends))
}

// Release gives up a lease, unless it has already ended.
func (c *Connections) Release(ctx context.Context, provider, owner, lease string) error {
	err := c.change(ctx, "UPDATE connections SET lease = '', lease_ends = 0 WHERE provider = $1 AND owner = $2 AND lease = $3",
		provider, owner, lease)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// Delete removes a connection, or returns [ErrConflict] if there is none.
func (c *Connections) Delete(ctx context.Context, provider, owner string) error {
	return c.change(ctx, "DELETE FROM connections WHERE provider = $1 AND owner = $2", provider, owner)
}

// change runs a statement that affects one row.
func (c *Connections) change(ctx context.Context, statement string, args ...any) error {
	done, err := c.s.writes.ExecContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("change a connection: %w", err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return fmt.Errorf("change a connection: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	return nil
}

// readConnection reads a row.
func readConnection(row scanner) (*Connection, error) {
	var c Connection
	var scopes string
	var expires, leaseEnds, created, updated, ends int64
	err := row.Scan(&c.Provider, &c.Owner, &c.State, &c.Reason, &scopes, &expires, &c.Sealed, &c.KeyID, &c.Version, &c.Lease, &leaseEnds,
		&c.By, &created, &updated, &ends)
	if err != nil {
		return nil, fmt.Errorf("read a connection: %w", err)
	}
	if err := json.Unmarshal([]byte(scopes), &c.Scopes); err != nil {
		return nil, fmt.Errorf("read the scopes of a connection: %w", err)
	}
	c.Expires, c.Ends, c.LeaseEnds = instant(expires), instant(ends), instant(leaseEnds)
	c.Created, c.Updated = instant(created), instant(updated)
	return &c, nil
}
