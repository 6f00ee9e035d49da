package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/policy/pin"
)

// Pins are the tools of servers as they were first seen. It implements [pin.Records].
type Pins struct{ s *Store }

var _ pin.Records = (*Pins)(nil)

// Pins returns the store's pins.
func (s *Store) Pins() *Pins { return &Pins{s} }

// Revision implements [pin.Records].
func (p *Pins) Revision(ctx context.Context, server string) (revision int64, err error) {
	err = p.s.reads.QueryRowContext(ctx, "SELECT revision FROM pin_servers WHERE server = $1", server).Scan(&revision)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read pins: %w", err)
	}
	return revision, nil
}

// Load implements [pin.Records].
func (p *Pins) Load(ctx context.Context, server string) (*pin.Record, error) {
	r := &pin.Record{Tools: map[string]*pin.Pin{}}
	// One statement, so that the tools are those of the revision.
	rows, err := p.s.reads.QueryContext(ctx, "SELECT s.revision, s.whole, COALESCE(p.tool, ''), COALESCE(p.pinned, ''), "+
		"COALESCE(p.waiting, ''), COALESCE(p.gone, 0), COALESCE(p.changed, 0) "+
		"FROM pin_servers AS s LEFT JOIN pins AS p ON p.server = s.server WHERE s.server = $1", server)
	if err != nil {
		return nil, fmt.Errorf("read pins: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t pin.Pin
		var whole, gone, changed int64
		if err := rows.Scan(&r.Revision, &whole, &t.Name, &t.Pinned, &t.Waiting, &gone, &changed); err != nil {
			return nil, fmt.Errorf("read pins: %w", err)
		}
		r.Whole, t.Gone, t.Changed = whole == 1, gone == 1, instant(changed)
		if t.Name != "" {
			r.Tools[t.Name] = &t
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read pins: %w", err)
	}
	return r, nil
}

// Save implements [pin.Records].
func (p *Pins) Save(ctx context.Context, server string, c *pin.Changes) (saved bool, err error) {
	tx, err := p.s.writes.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("write pins: %w", err)
	}
	defer tx.Rollback()
	done, err := tx.ExecContext(ctx, "INSERT INTO pin_servers (server, revision, whole) VALUES ($1, 1, $2) ON CONFLICT (server) DO UPDATE "+
		"SET revision = pin_servers.revision + 1, whole = excluded.whole WHERE pin_servers.revision = $3", server, bit(c.Whole), c.Since)
	if err != nil {
		return false, fmt.Errorf("write pins: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return false, err // another process has changed them
	}
	if err := p.write(ctx, tx, server, c); err != nil {
		return false, fmt.Errorf("write pins: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("write pins: %w", err)
	}
	return true, nil
}

// write writes as many rows with a statement as the database takes fast: it may be far away.
func (p *Pins) write(ctx context.Context, tx *sql.Tx, server string, c *pin.Changes) error {
	var insert *sql.Stmt
	for part := range slices.Chunk(c.Tools, p.s.rows) {
		var v conditions
		rows := make([]string, len(part))
		for i, t := range part {
			rows[i] = "(" + strings.Join([]string{
				v.value(server), v.value(t.Name), v.value(t.Pinned), v.value(t.Waiting), v.value(bit(t.Gone)), v.value(micros(t.Changed)),
			}, ", ") + ")"
		}
		if insert == nil || len(part) < p.s.rows {
			var err error
			//nolint:gosec,sqlclosecheck // it names parameters only; the transaction closes it
			insert, err = tx.PrepareContext(ctx, "INSERT INTO pins (server, tool, pinned, waiting, gone, changed) VALUES "+
				strings.Join(rows, ", ")+" ON CONFLICT (server, tool) DO UPDATE SET pinned = excluded.pinned, waiting = excluded.waiting, "+
				"gone = excluded.gone, changed = excluded.changed")
			if err != nil {
				return err
			}
		}
		if _, err := insert.ExecContext(ctx, v.values...); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(c.Dropped, p.s.rows) {
		var v conditions
		where := "server = " + v.value(server)
		names := make([]string, len(part))
		for i, name := range part {
			names[i] = v.value(name)
		}
		//nolint:gosec // it names parameters only
		if _, err := tx.ExecContext(ctx, "DELETE FROM pins WHERE "+where+" AND tool IN ("+strings.Join(names, ", ")+")", v.values...,
		); err != nil {
			return err
		}
	}
	return nil
}

// Revisions implements [pin.Records].
func (p *Pins) Revisions(ctx context.Context) (map[string]int64, error) {
	return numbers[int64](ctx, p.s, "SELECT server, revision FROM pin_servers")
}

// Waiting returns how many changes wait at each server that has pins.
func (p *Pins) Waiting(ctx context.Context) (map[string]int, error) {
	return numbers[int](ctx, p.s, "SELECT s.server, COUNT(p.tool) FROM pin_servers AS s LEFT JOIN pins AS p "+
		"ON p.server = s.server AND (p.waiting <> '' OR p.gone = 1) GROUP BY s.server")
}

// numbers returns a number of each server that has pins.
func numbers[N int | int64](ctx context.Context, s *Store, query string) (map[string]N, error) {
	rows, err := s.reads.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("count pins: %w", err)
	}
	defer rows.Close()
	all := map[string]N{}
	for rows.Next() {
		var server string
		var n N
		if err := rows.Scan(&server, &n); err != nil {
			return nil, fmt.Errorf("count pins: %w", err)
		}
		all[server] = n
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count pins: %w", err)
	}
	return all, nil
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}
