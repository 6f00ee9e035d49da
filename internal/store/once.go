package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/policy/once"
)

// Once are the calls that are made once. It implements [once.Store].
type Once struct {
	s      *Store
	commit func(ctx context.Context, do func(ctx context.Context, db querier) error) error
}

var _ once.Store = (*Once)(nil)

// A querier is a database, a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// onceTimeout limits how long a statement may take. Its caller may leave before that, but what it has begun must not be
// left half done.
const onceTimeout = 10 * time.Second

// Once returns the store's calls that are made once.
func (s *Store) Once() *Once {
	o := &Once{s: s}
	if s.durable != nil {
		o.commit = s.durable.do
		return o
	}
	o.commit = func(ctx context.Context, do func(ctx context.Context, db querier) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), onceTimeout)
		defer cancel()
		return do(ctx, s.writes)
	}
	return o
}

const onceColumns = "id, fence, state, owner, print, fields, nonce, delivered, answer, size, note, server, tool, caller, request_id, " +
	"created, changed, expires"

const (
	onceInsert = "INSERT INTO once (" + onceColumns + ") " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) " +
		"ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, state = excluded.state, owner = excluded.owner, " +
		"print = excluded.print, fields = excluded.fields, nonce = excluded.nonce, delivered = excluded.delivered, " +
		"answer = excluded.answer, size = excluded.size, note = excluded.note, server = excluded.server, tool = excluded.tool, " +
		"caller = excluded.caller, request_id = excluded.request_id, created = excluded.created, changed = excluded.changed, " +
		"expires = excluded.expires WHERE once.expires < excluded.created AND once.state <> 'sent'" // another clock may be wrong
	onceEnd = "UPDATE once SET state = $2, delivered = $3, answer = $4, size = $5, note = $6, changed = $7, expires = $8 " +
		"WHERE id = $1 AND fence = $9 AND state IN ($10, $11)"
	onceUpdate = "UPDATE once SET fence = $2, state = $3, owner = $4, print = $5, fields = $6, nonce = $7, delivered = $8, answer = $9, " +
		"size = $10, note = $11, server = $12, tool = $13, caller = $14, request_id = $15, created = $16, changed = $17, expires = $18 " +
		"WHERE id = $1 AND fence = $19 AND state IN ($20, $21)"
	onceSelect = "SELECT " + onceColumns + " FROM once"
)

// Begin implements [once.Store].
func (o *Once) Begin(ctx context.Context, row *once.Row) (existing *once.Row, err error) {
	err = o.commit(ctx, func(ctx context.Context, db querier) error {
		existing = nil
		done, err := db.ExecContext(ctx, onceInsert, onceValues(row)...)
		if err != nil {
			return fmt.Errorf("begin a call: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		existing, err = readOnce(db.QueryRowContext(ctx, onceSelect+" WHERE id = $1", row.ID))
		return err
	})
	return existing, err
}

// Row implements [once.Store].
func (o *Once) Row(ctx context.Context, id string) (*once.Row, error) {
	row, err := readOnce(o.s.reads.QueryRowContext(ctx, onceSelect+" WHERE id = $1", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

// Change implements [once.Store].
func (o *Once) Change(ctx context.Context, row *once.Row, fence int64, from ...once.State) (changed bool, err error) {
	update, values := onceUpdate, onceValues(row)
	if row.Fence == fence { // it ends; otherwise it is sent once more
		update = onceEnd
		values = []any{
			row.ID, string(row.State), delivered(row), row.Answer, row.Size, text(row.Note, maxText),
			micros(row.Changed), micros(row.Expires),
		}
	}
	values = append(values, fence, string(from[0]), string(from[len(from)-1]))
	err = o.commit(ctx, func(ctx context.Context, db querier) error {
		done, err := db.ExecContext(ctx, update, values...)
		if err != nil {
			return fmt.Errorf("change a call: %w", err)
		}
		n, err := done.RowsAffected()
		changed = n > 0
		return err
	})
	return changed, err
}

// Remove implements [once.Store].
func (o *Once) Remove(ctx context.Context, id string, fence int64) error {
	return o.exec(ctx, "remove a call", "DELETE FROM once WHERE id = $1 AND fence = $2", id, fence)
}

// Beat implements [once.Store].
func (o *Once) Beat(ctx context.Context, owner string, n int64) error {
	return o.exec(ctx, "note a beat", "INSERT INTO once_owners (owner, beat, seen) VALUES ($1, $2, $3) "+
		"ON CONFLICT (owner) DO UPDATE SET beat = excluded.beat, seen = excluded.seen WHERE once_owners.beat < excluded.beat",
		owner, n, micros(time.Now()))
}

// Beats implements [once.Store].
func (o *Once) Beats(ctx context.Context, owner string) (n int64, err error) {
	err = o.s.reads.QueryRowContext(ctx, "SELECT beat FROM once_owners WHERE owner = $1", owner).Scan(&n)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read a beat: %w", err)
	}
	return n, nil
}

// ownersKept is how long an owner is remembered after its last beat.
const ownersKept = 7 * 24 * time.Hour

// Expire implements [once.Store].
func (o *Once) Expire(ctx context.Context, by time.Time, limit int) (removed int, err error) {
	err = o.commit(ctx, func(ctx context.Context, db querier) error {
		const expired = "DELETE FROM once WHERE id IN (SELECT id FROM once WHERE expires < $1 AND (state <> 'sent' OR expires < $2) " +
			"ORDER BY expires LIMIT $3)"
		done, err := db.ExecContext(ctx, expired, micros(by), micros(by.Add(-ownersKept)), limit)
		if err != nil {
			return fmt.Errorf("remove calls: %w", err)
		}
		n, err := done.RowsAffected()
		if removed = int(n); err != nil || removed >= limit {
			return err
		}
		_, err = db.ExecContext(ctx, "DELETE FROM once_owners WHERE seen < $1", micros(by.Add(-ownersKept)))
		return err
	})
	return removed, err
}

// onceOpen is the condition of the index on calls that have not been answered: SQLite uses it only if it is repeated.
const onceOpen = "state <> 'answered'"

// A OnceFilter selects calls. Empty or zero members select all.
type OnceFilter struct {
	State, Server, Tool string
	ID                  string // its beginning
	RequestID           string
	Until               time.Time // of the last change
	Limit               int       // 0: 1,000
}

// List returns calls, those that changed last first.
func (o *Once) List(ctx context.Context, f *OnceFilter) ([]*once.Row, error) {
	var c conditions
	where := []string{"1 = 1"}
	for _, is := range [...]struct{ column, value string }{
		{"state", f.State}, {"server", f.Server}, {"tool", f.Tool}, {"request_id", f.RequestID},
	} {
		if is.value != "" {
			where = append(where, is.column+" = "+c.value(is.value))
		}
	}
	if f.State != "" && f.State != string(once.Answered) {
		where = append(where, onceOpen)
	}
	if f.ID != "" {
		where = append(where, "id >= "+c.value(f.ID)+" AND id < "+c.value(f.ID+"g")) // of hexadecimal digits
	}
	if !f.Until.IsZero() {
		where = append(where, "changed <= "+c.value(micros(f.Until)))
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 1000
	}
	return all(ctx, o.s.reads, "list calls", readOnce,
		onceSelect+" WHERE "+strings.Join(where, " AND ")+" ORDER BY changed DESC LIMIT "+c.value(limit), c.values...)
}

// Settle notes what somebody says of a call that is unknown: it has happened, or it has not, and is forgotten. It reports false if the
// call has changed meanwhile.
func (o *Once) Settle(ctx context.Context, r *once.Row, landed bool, who string) (bool, error) {
	now := *r
	now.Changed = time.Now()
	if landed {
		now.State, now.Note = once.Answered, who+" said so"
		return o.Change(ctx, &now, r.Fence, once.Unknown)
	}
	now.Fence++ // so that whoever sent it can no longer say otherwise
	now.Note = who + " said that it has not happened"
	done, err := o.Change(ctx, &now, r.Fence, once.Unknown)
	if err != nil || !done {
		return done, err
	}
	return true, o.Remove(ctx, now.ID, now.Fence)
}

// CountUnknown returns how many calls have been unknown since then or longer.
func (o *Once) CountUnknown(ctx context.Context, since time.Time) (n int, err error) {
	const count = "SELECT COUNT(*) FROM once WHERE state = 'unknown' AND " + onceOpen + " AND changed <= $1"
	if err := o.s.reads.QueryRowContext(ctx, count, micros(since)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count calls: %w", err)
	}
	return n, nil
}

func (o *Once) exec(ctx context.Context, what, statement string, values ...any) error {
	return o.commit(ctx, func(ctx context.Context, db querier) error {
		if _, err := db.ExecContext(ctx, statement, values...); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

func onceValues(r *once.Row) []any {
	return []any{
		r.ID, r.Fence, string(r.State), r.Owner, r.Print, r.Fields, r.Nonce, delivered(r), r.Answer, r.Size, text(r.Note, maxText),
		text(r.Server, maxName), text(r.Tool, maxName), text(r.Caller, maxName), text(r.RequestID, maxName),
		micros(r.Created), micros(r.Changed), micros(r.Expires),
	}
}

func delivered(r *once.Row) int {
	if r.Delivered {
		return 1
	}
	return 0
}

// readOnce reads a row.
func readOnce(row scanner) (*once.Row, error) {
	var r once.Row
	var state string
	var delivered, created, changed, expires int64
	err := row.Scan(&r.ID, &r.Fence, &state, &r.Owner, &r.Print, &r.Fields, &r.Nonce, &delivered, &r.Answer, &r.Size, &r.Note,
		&r.Server, &r.Tool, &r.Caller, &r.RequestID, &created, &changed, &expires)
	if err != nil {
		return nil, fmt.Errorf("read a call: %w", err)
	}
	r.State, r.Delivered = once.State(state), delivered == 1
	r.Created, r.Changed, r.Expires = instant(created), instant(changed), instant(expires)
	return &r, nil
}
