package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Bar is how many failures of a kind ended in a stretch of time.
type Bar struct {
	Began    time.Time // of the stretch
	Kind     string
	Failures int64
}

const (
	// Failures are counted by the minute, and by the half hour, some time after their end; these counts are kept for as long as charts
	// show them.
	minute, minuteKept = time.Minute, 2 * time.Hour
	half, halfKept     = 30 * time.Minute, 8 * 24 * time.Hour
	// countAfter is how long a row may take to be written, and countMost how much time is counted at once.
	countAfter = 2 * time.Minute
	countMost  = time.Hour
)

// History returns how many failures a server has had since then, in stretches of that length: whole multiples of a minute for the last
// two hours, and of half an hour for the last eight days. They begin at whole multiples of the length, and so does since. They are not
// sorted. What has been removed from the journal meanwhile is in the counts.
func (j *Journal) History(ctx context.Context, server string, since time.Time, length time.Duration) ([]*Bar, error) {
	counted := minute
	if length%half == 0 {
		counted = half
	}
	end, err := j.counted(ctx)
	if err != nil {
		return nil, err
	}
	var c conditions
	micro := c.value(length.Microseconds())
	is := c.is(mark{"server", server})
	bars := "SELECT began / " + micro + " AS stretch, kind, failures FROM journal_bars WHERE length = " + c.value(counted.Microseconds()) +
		" AND " + is + " AND began >= " + c.value(micros(since))
	latest := &Filter{Failures: true, Since: since}
	if end.After(since) {
		latest.Since = end
	}
	rows := "SELECT seq / 2048 / " + micro + " AS stretch, kind, 1 AS failures FROM journal WHERE " + every(append(c.within(latest), is))
	statement := "SELECT stretch, kind, CAST(SUM(failures) AS BIGINT) FROM (" + bars + " UNION ALL " + rows + ") AS counts " +
		"GROUP BY stretch, kind"
	return all(ctx, j.s.reads, "read the journal", func(row scanner) (*Bar, error) {
		var b Bar
		var n int64
		if err := row.Scan(&n, &b.Kind, &b.Failures); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		b.Began = time.UnixMicro(n * length.Microseconds()).UTC()
		return &b, nil
	}, statement, c.values...)
}

// counted returns until when failures have been counted; zero: none have.
func (j *Journal) counted(ctx context.Context) (time.Time, error) {
	var last int64
	const latest = "SELECT COALESCE(MAX(began), 0) FROM journal_bars WHERE length = $1"
	err := j.s.reads.QueryRowContext(ctx, latest, minute.Microseconds()).Scan(&last)
	if err != nil || last == 0 {
		return time.Time{}, err
	}
	return instant(last).Add(minute), nil
}

// Count counts failures that ended some minutes ago, for [Journal.History], and reports whether there are more. Several programs may
// do it at a time: they count the same.
func (j *Journal) Count(ctx context.Context, now time.Time) (more bool, err error) {
	began, err := j.counted(ctx)
	if err != nil {
		return false, fmt.Errorf("count failures: %w", err)
	}
	var first int64
	const next = "SELECT COALESCE(MIN(seq), 0) FROM journal WHERE kind <> '' AND seq >= $1"
	err = j.s.reads.QueryRowContext(ctx, next, seqAt(began)).Scan(&first)
	if err != nil {
		return false, fmt.Errorf("count failures: %w", err)
	}
	began, ends := instant(first>>seqBits).Truncate(minute), now.Add(-countAfter).Truncate(minute)
	if first == 0 || !began.Before(ends) {
		return false, nil
	}
	if most := began.Add(countMost); ends.After(most) {
		ends, more = most, true
	}
	bars, err := all(ctx, j.s.reads, "count failures", func(row scanner) (*bar, error) {
		var b bar
		return &b, row.Scan(&b.began, &b.server, &b.kind, &b.failures)
	}, "SELECT seq / 2048 / 60000000 * 60000000 AS start, server, kind, COUNT(*) FROM journal WHERE kind <> '' AND seq >= $1 AND seq < $2 "+
		"GROUP BY start, server, kind ORDER BY start, server, kind", seqAt(began), seqAt(ends))
	if err == nil {
		err = j.note(ctx, bars, began, ends)
	}
	return more && err == nil, err
}

// A bar is how many failures of a kind a server has had in a minute.
type bar struct {
	began        int64
	server, kind string
	failures     int64
}

// note writes down the counts of a time, and forgets old ones.
func (j *Journal) note(ctx context.Context, bars []*bar, began, ends time.Time) error {
	tx, err := j.s.writes.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("count failures: %w", err)
	}
	defer tx.Rollback()
	const write, again = "INSERT INTO journal_bars (length, server, began, kind, failures) ",
		" ON CONFLICT (length, server, began, kind) DO UPDATE SET failures = excluded.failures"
	for part := range slices.Chunk(bars, maxRows) {
		var c conditions
		rows := make([]string, len(part))
		for i, b := range part {
			rows[i] = "(" + strings.Join([]string{
				c.value(minute.Microseconds()), c.value(b.server), c.value(b.began), c.value(b.kind), c.value(b.failures),
			}, ", ") + ")"
		}
		if _, err := tx.ExecContext(ctx, write+"VALUES "+strings.Join(rows, ", ")+again, c.values...); err != nil {
			return fmt.Errorf("count failures: %w", err)
		}
	}
	for _, statement := range []struct {
		text string
		args []any
	}{
		{write + "SELECT $1, server, began / $1 * $1 AS start, kind, CAST(SUM(failures) AS BIGINT) FROM journal_bars " +
			"WHERE length = $2 AND began >= $3 AND began < $4 GROUP BY server, start, kind ORDER BY server, start, kind" + again, []any{
			half.Microseconds(), minute.Microseconds(), micros(began.Truncate(half)), micros(ends),
		}},
		{forgetBars, []any{minute.Microseconds(), micros(ends.Add(-minuteKept))}},
		{forgetBars, []any{half.Microseconds(), micros(ends.Add(-halfKept))}},
	} {
		if _, err := tx.ExecContext(ctx, statement.text, statement.args...); err != nil {
			return fmt.Errorf("count failures: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("count failures: %w", err)
	}
	return nil
}

const forgetBars = "DELETE FROM journal_bars WHERE length = $1 AND began < $2"

// A CodeCount is how many failures of a server had a code.
type CodeCount struct {
	Server, Code string
	Failures     int64
}

// Codes counts the latest failures by server and code, and returns since when they have ended; zero: these are all.
func (j *Journal) Codes(ctx context.Context) (counts []*CodeCount, since time.Time, err error) {
	if since, err = j.reach(ctx, new(Filter{Failures: true})); err != nil {
		return nil, since, err
	}
	var c conditions
	statement := "SELECT server, code, COUNT(*) FROM journal WHERE " + every(c.within(&Filter{Failures: true, Since: since})) +
		" GROUP BY server, code"
	counts, err = all(ctx, j.s.reads, "read the journal", func(row scanner) (*CodeCount, error) {
		var n CodeCount
		if err := row.Scan(&n.Server, &n.Code, &n.Failures); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		return &n, nil
	}, statement, c.values...)
	return counts, since, err
}
