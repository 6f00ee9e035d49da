package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// An Entry is a call in the journal. Its texts may be anything that a client has written: they are shortened,
// and made valid, when stored.
type Entry struct {
	Seq       int64 // see [Journal.Next]
	RequestID string
	Began     time.Time
	Took      time.Duration
	Server    string
	Tool      string
	Method    string
	Access    string // how the caller was verified; "": not verified
	Caller    string
	Org       string
	Ending    string
	Kind      string // of the failure; "": it succeeded
	Code      string
	Origin    string
	Effect    string
	Attempts  int
	TraceID   string
	Message   string // of the failure
	Story     string // everything else, which the store does not read
}

// A Filter selects entries. Empty or zero members select all.
type Filter struct {
	Server, Tool, Kind, Origin string
	Caller                     string    // or the organisation
	Text                       string    // a part of the message
	Looked                     int       // how many failures, the latest, a [Page] searches for the text; 0: 20,000
	Since, Until               time.Time // when they ended: not before Since, and before Until
	After, Before              int64     // each a Seq
	Failures                   bool      // failures only
	Limit                      int       // only the latest; 0: 1,000
}

// Journal is the journal of a store.
type Journal struct {
	s    *Store
	last atomic.Int64
}

// Journal returns the store's journal.
func (s *Store) Journal() *Journal { return &Journal{s: s} }

const (
	// seqBits are the low bits of a Seq, which distinguish calls that ended in the same microsecond.
	seqBits = 11
	maxName = 128 // bytes of a name
	maxText = 1 << 10
	// rowBytes is the size of a row besides its texts, and failureBytes what a failure adds in indexes, as both databases were measured.
	rowBytes, failureBytes = 200, 220
)

// Next returns the Seq of a call that ends now: it grows with time, and two replicas are unlikely to choose
// the same one.
func (j *Journal) Next() int64 {
	for {
		last := j.last.Load()
		next := max(last+1, time.Now().UnixMicro()<<seqBits|rand.Int64N(1<<seqBits))
		if j.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// seqAt returns the smallest Seq of an instant, limited to the range of a Seq.
func seqAt(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return min(max(at.UnixMicro(), 0), math.MaxInt64>>seqBits) << seqBits
}

// entryColumns are an [Entry]'s columns in the order of its fields.
const entryColumns = "seq, request_id, began, took, server, tool, method, access, caller, org, ending, kind, code, origin, effect, " +
	"attempts, trace_id, message, story"

// values returns the values of the columns, and their approximate size in bytes.
func (e *Entry) values() (values []any, size int64) {
	texts := [...]*string{
		&e.RequestID, &e.Server, &e.Tool, &e.Method, &e.Access, &e.Caller, &e.Org, &e.Ending, &e.Kind, &e.Code,
		&e.Origin, &e.Effect, &e.TraceID, &e.Message, &e.Story,
	}
	fixed := int64(rowBytes)
	if e.Kind != "" {
		fixed += failureBytes
	}
	for i, t := range texts {
		switch i {
		case len(texts) - 1: // cut JSON would be invalid
			*t = text(*t, len(*t))
		case len(texts) - 2:
			*t = text(*t, maxText)
		default:
			*t = text(*t, maxName)
			size += int64(len(*t)) // most names are in an index as well
		}
		size += int64(len(*t))
	}
	size += size/8 + fixed // pages are not full
	return []any{
		e.Seq, e.RequestID, micros(e.Began), e.Took.Microseconds(), e.Server, e.Tool, e.Method, e.Access, e.Caller, e.Org, e.Ending,
		e.Kind, e.Code, e.Origin, e.Effect, int64(e.Attempts), e.TraceID, e.Message, e.Story,
	}, size
}

// Append writes entries in one transaction, and returns their approximate size in bytes. It may be repeated
// if it is not known whether it was carried out: existing rows are left alone.
func (j *Journal) Append(ctx context.Context, entries []*Entry) (size int64, err error) {
	tx, err := j.s.writes.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	defer tx.Rollback()
	var insert *sql.Stmt
	for part := range slices.Chunk(entries, j.s.rows) {
		var all []any
		for _, e := range part {
			values, n := e.values()
			all = append(append(all, values...), n)
			size += n
		}
		if insert == nil || len(part) < j.s.rows {
			//nolint:sqlclosecheck // the transaction closes it
			insert, err = tx.PrepareContext(ctx, insertion(len(part), len(all)/len(part)))
			if err != nil {
				return 0, fmt.Errorf("write the journal: %w", err)
			}
		}
		if _, err := insert.ExecContext(ctx, all...); err != nil {
			return 0, fmt.Errorf("write the journal: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	return size, nil
}

// Retell replaces the story of an entry.
func (j *Journal) Retell(ctx context.Context, e *Entry) error {
	const retold = "UPDATE journal SET story = $1 WHERE seq = $2"
	if _, err := j.s.writes.ExecContext(ctx, retold, text(e.Story, len(e.Story)), e.Seq); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// insertion returns the statement that inserts rows.
func insertion(rows, columns int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO journal (" + entryColumns + ", size) VALUES ")
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("($")
		case i%columns == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteString(") ON CONFLICT (seq) DO NOTHING")
	return b.String()
}

// Find returns the latest entries that match a filter, oldest first.
func (j *Journal) Find(ctx context.Context, f *Filter) ([]*Entry, error) {
	var c conditions
	chosen := every(c.chosen(f))
	query := "SELECT " + entryColumns + " FROM journal WHERE " + chosen + " ORDER BY seq DESC LIMIT " + c.value(f.limit())
	return j.query(ctx, query, c.values...)
}

// Of returns the entries of a request, oldest first. There may be several: clients may choose the id.
func (j *Journal) Of(ctx context.Context, requestID string) ([]*Entry, error) {
	return j.query(ctx, "SELECT "+entryColumns+" FROM journal WHERE request_id = $1 ORDER BY seq DESC LIMIT 100", requestID)
}

// query reads entries, latest first, and returns them in reverse order.
func (j *Journal) query(ctx context.Context, statement string, args ...any) ([]*Entry, error) {
	entries, err := all(ctx, j.s.reads, "read the journal", readEntry, statement, args...)
	slices.Reverse(entries)
	return entries, err
}

// readEntry reads a row.
func readEntry(row scanner) (*Entry, error) {
	var e Entry
	var began, took int64
	if err := row.Scan(&e.Seq, &e.RequestID, &began, &took, &e.Server, &e.Tool, &e.Method, &e.Access, &e.Caller, &e.Org,
		&e.Ending, &e.Kind, &e.Code, &e.Origin, &e.Effect, &e.Attempts, &e.TraceID, &e.Message, &e.Story); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	e.Began, e.Took = instant(began), time.Duration(took)*time.Microsecond
	return &e, nil
}

// Size returns the approximate size of all entries in bytes.
func (j *Journal) Size(ctx context.Context) (size int64, err error) {
	err = j.s.reads.QueryRowContext(ctx, "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM journal").Scan(&size)
	if err != nil {
		return 0, fmt.Errorf("read the size of the journal: %w", err)
	}
	return size, nil
}

// Tidy returns part of the space left by removed entries to the operating system.
func (j *Journal) Tidy(ctx context.Context) error { return j.s.Tidy(ctx) }

// Prune removes the oldest entries: those that ended before an instant, and more until that many bytes are
// freed. It removes at most a few hundred at a time, and reports how many bytes they took up, and whether
// there are more.
func (j *Journal) Prune(ctx context.Context, before time.Time, bytes int64) (pruned int64, more bool, err error) {
	const most = 200 // calls wait meanwhile to be written
	tx, err := j.s.writes.BeginTx(ctx, nil)
	if err != nil {
		return 0, false, fmt.Errorf("prune the journal: %w", err)
	}
	defer tx.Rollback()
	last, pruned, n, err := oldest(ctx, tx, most, func(seq, gone int64) bool { return seq < seqAt(before) || gone < bytes })
	if err != nil || n == 0 {
		return 0, false, err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM journal WHERE seq <= $1", last); err != nil {
		return 0, false, fmt.Errorf("prune the journal: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, false, fmt.Errorf("prune the journal: %w", err)
	}
	return pruned, n == most, nil
}

// oldest returns the last of the oldest entries to remove, their total size in bytes, and their number.
func oldest(ctx context.Context, tx *sql.Tx, most int, goes func(seq, gone int64) bool) (last, bytes int64, n int, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq, size FROM journal ORDER BY seq LIMIT $1", int64(most))
	if err != nil {
		return 0, 0, 0, fmt.Errorf("prune the journal: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq, size int64
		if err := rows.Scan(&seq, &size); err != nil {
			return 0, 0, 0, fmt.Errorf("prune the journal: %w", err)
		}
		if !goes(seq, bytes) {
			break
		}
		last, bytes, n = seq, bytes+size, n+1
	}
	if err := rows.Err(); err != nil {
		return 0, 0, 0, fmt.Errorf("prune the journal: %w", err)
	}
	return last, bytes, n, nil
}
