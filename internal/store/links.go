package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Link lets a person connect an account, once.
type Link struct {
	Hash string // of the secret in the link

	Provider, Owner      string
	Access, Name, Server string // who asked for it, and where
	Scopes               []string
	Expires              time.Time
	Used                 time.Time // zero: not yet

	StateHash string // of the current sign-in at the provider; "": none
	Sealed    string // data for that sign-in
}

const linkColumns = "hash, provider, owner, access, name, server, scopes, expires, used, state_hash, sealed"

// PutLink stores a new link, and removes expired ones.
func (c *Connections) PutLink(ctx context.Context, l *Link) error {
	scopes, err := json.Marshal(append([]string{}, l.Scopes...))
	if err != nil {
		return fmt.Errorf("keep a link: %w", err)
	}
	if _, err := c.s.writes.ExecContext(ctx, "DELETE FROM connection_links WHERE expires < $1", micros(time.Now())); err != nil {
		return fmt.Errorf("remove old links: %w", err)
	}
	_, err = c.s.writes.ExecContext(ctx, "INSERT INTO connection_links ("+linkColumns+") "+
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', '')",
		l.Hash, l.Provider, l.Owner, l.Access, l.Name, l.Server, string(scopes), micros(l.Expires))
	if err != nil {
		return fmt.Errorf("keep a link: %w", err)
	}
	return nil
}

// Link returns the link with that hash, or nil.
func (c *Connections) Link(ctx context.Context, hash string) (*Link, error) {
	return readLink(c.s.reads.QueryRowContext(ctx, "SELECT "+linkColumns+" FROM connection_links WHERE hash = $1", hash))
}

// BeginLink records that a sign-in has begun, replacing an earlier one. It returns [ErrConflict] if the link
// has been used or has expired.
func (c *Connections) BeginLink(ctx context.Context, hash, stateHash, sealed string) error {
	return c.change(ctx, "UPDATE connection_links SET state_hash = $2, sealed = $3 WHERE hash = $1 AND used = 0 AND expires > $4",
		hash, stateHash, sealed, micros(time.Now()))
}

// EndLink marks the link whose sign-in has that state as used, and returns it; nil if there is no such link.
func (c *Connections) EndLink(ctx context.Context, stateHash string) (*Link, error) {
	now := micros(time.Now())
	return readLink(c.s.writes.QueryRowContext(ctx, "UPDATE connection_links SET used = $2 "+
		"WHERE state_hash = $1 AND state_hash <> '' AND used = 0 AND expires > $2 RETURNING "+linkColumns, stateHash, now))
}

// Devices returns the links that are codes which people have yet to enter; those that expire last come first.
func (c *Connections) Devices(ctx context.Context) ([]*Link, error) {
	return all(ctx, c.s.reads, "list the codes", scanLink, "SELECT "+linkColumns+" FROM connection_links "+
		"WHERE state_hash LIKE 'device %' AND used = 0 AND expires > $1 ORDER BY expires DESC", micros(time.Now()))
}

// readLink reads a row; nil: there is none.
func readLink(row scanner) (*Link, error) {
	l, err := scanLink(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return l, err
}

func scanLink(row scanner) (*Link, error) {
	var l Link
	var scopes string
	var expires, used int64
	err := row.Scan(&l.Hash, &l.Provider, &l.Owner, &l.Access, &l.Name, &l.Server, &scopes, &expires, &used, &l.StateHash, &l.Sealed)
	if err != nil {
		return nil, fmt.Errorf("read a link: %w", err)
	}
	if err := json.Unmarshal([]byte(scopes), &l.Scopes); err != nil {
		return nil, fmt.Errorf("read the scopes of a link: %w", err)
	}
	l.Expires, l.Used = instant(expires), instant(used)
	return &l, nil
}
