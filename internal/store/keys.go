package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ErrNoKey says that no key has that id.
var ErrNoKey = errors.New("there is no such key")

// A Key is an API key. Only a hash of the key itself is stored.
type Key struct {
	ID       string // it may be shown, and is used to find the key
	Name     string
	Hash     string
	Org      string // "": none
	Roles    []string
	Created  time.Time
	Expires  time.Time // zero: never
	Revoked  time.Time // zero: not revoked
	LastUsed time.Time // zero: never; see [Keys.Used]
}

// Keys are the API keys of a store.
type Keys struct{ s *Store }

// Keys returns the store's API keys.
func (s *Store) Keys() *Keys { return &Keys{s} }

const keyColumns = "id, name, hash, org, roles, created, expires, revoked, last_used"

// New stores a new key. It is an error if the id is taken.
func (k *Keys) New(ctx context.Context, key *Key) error {
	roles, err := json.Marshal(append([]string{}, key.Roles...))
	if err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	_, err = k.s.writes.ExecContext(ctx, "INSERT INTO api_keys ("+keyColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		key.ID, key.Name, key.Hash, key.Org, string(roles),
		micros(key.Created), micros(key.Expires), micros(key.Revoked), micros(key.LastUsed))
	if err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	return nil
}

// List returns all keys, oldest first.
func (k *Keys) List(ctx context.Context) ([]*Key, error) {
	return all(ctx, k.s.reads, "list the keys", readKey, "SELECT "+keyColumns+" FROM api_keys ORDER BY created, id")
}

// Lookup returns the key with that id, valid or not, or [ErrNoKey].
func (k *Keys) Lookup(ctx context.Context, id string) (*Key, error) {
	key, err := readKey(k.s.reads.QueryRowContext(ctx, "SELECT "+keyColumns+" FROM api_keys WHERE id = $1", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoKey
	}
	return key, err
}

// Revoke revokes a key, or returns [ErrNoKey]. A key that was already revoked does not change.
func (k *Keys) Revoke(ctx context.Context, id string, at time.Time) error {
	const revoke = "UPDATE api_keys SET revoked = CASE revoked WHEN 0 THEN $2 ELSE revoked END WHERE id = $1"
	done, err := k.s.writes.ExecContext(ctx, revoke, id, micros(at))
	if err != nil {
		return fmt.Errorf("revoke a key: %w", err)
	}
	if n, err := done.RowsAffected(); err == nil && n == 0 {
		return ErrNoKey
	}
	return nil
}

// Used records when keys were last used, by id. It is for many calls at once: a write for each would be slow.
func (k *Keys) Used(ctx context.Context, last map[string]time.Time) error {
	tx, err := k.s.writes.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("note the use of keys: %w", err)
	}
	defer tx.Rollback()
	const use = "UPDATE api_keys SET last_used = $2 WHERE id = $1 AND last_used < $2"
	for _, id := range slices.Sorted(maps.Keys(last)) { // always in the same order, or two processes would deadlock
		if _, err := tx.ExecContext(ctx, use, id, micros(last[id])); err != nil {
			return fmt.Errorf("note the use of keys: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("note the use of keys: %w", err)
	}
	return nil
}

// readKey reads a row.
func readKey(row scanner) (*Key, error) {
	var key Key
	var roles string
	var created, expires, revoked, used int64
	if err := row.Scan(&key.ID, &key.Name, &key.Hash, &key.Org, &roles, &created, &expires, &revoked, &used); err != nil {
		return nil, fmt.Errorf("read a key: %w", err)
	}
	if err := json.Unmarshal([]byte(roles), &key.Roles); err != nil {
		return nil, fmt.Errorf("read the roles of a key: %w", err)
	}
	key.Created, key.Expires, key.Revoked, key.LastUsed = instant(created), instant(expires), instant(revoked), instant(used)
	return &key, nil
}
