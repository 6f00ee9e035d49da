package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Page is the latest failures that match a filter, with the counts of all failures within its time.
type Page struct {
	Entries []*Entry // the latest first; only Seq, RequestID and Story are set
	More    bool     // there are older ones
	Counts  []Count
	Since   time.Time // only failures since then were searched for the text; zero: all were
}

// looked is how many failures are searched for a text at a time by default, since their rows have to be read.
const looked = 20_000

// A Count is how many failures share the same marks.
type Count struct {
	Server, Tool, Kind, Origin, Caller, Org string

	Failures int64
}

// Chosen reports whether a filter selects the failures, ignoring its time and text.
func (c *Count) Chosen(f *Filter) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(f.Server, c.Server) && is(f.Tool, c.Tool) && is(f.Kind, c.Kind) && is(f.Origin, c.Origin) &&
		(is(f.Caller, c.Caller) || is(f.Caller, c.Org))
}

// Page returns a page of failures. One statement reads the list and the counts, so that they are consistent
// while others write.
//
// Only the latest failures are searched for a text: [Page.Since] is where to continue, as the Until of
// another filter.
func (j *Journal) Page(ctx context.Context, f *Filter) (*Page, error) {
	failures, page := *f, new(Page)
	failures.Failures = true
	var c conditions
	const (
		marks   = "server, tool, kind, origin, caller, org"
		columns = "failures, seq, " + marks + ", request_id, story"
	)
	with, from := "", "journal"
	if failures.Text != "" { // evaluated once
		var err error
		if page.Since, err = j.reach(ctx, &failures); err != nil {
			return nil, err
		}
		if !page.Since.IsZero() {
			failures.Since = page.Since
		}
		with = "WITH found AS MATERIALIZED (SELECT seq, " + marks + " FROM journal WHERE " + every(c.within("seq", &failures)) + ") "
		from, failures.Text = "found", ""
	}
	// +seq keeps the databases from using the index on seq: the index on the marks has everything that is
	// counted, in the order of the groups.
	const bySeq, byMarks = "seq", "+seq"
	counts := "SELECT COUNT(*) AS failures, CAST(0 AS BIGINT) AS seq, " + marks + ", '' AS request_id, '' AS story FROM " + from +
		" WHERE " + every(c.within(byMarks, &failures)) + " GROUP BY " + marks
	// Rare marks are looked up in that index, too; frequent ones, or none, by going back in time.
	seq := bySeq
	if failures.narrow() {
		seq = byMarks
	}
	latest := "SELECT seq FROM " + from + " WHERE " + every(c.chosen(seq, &failures)) + " ORDER BY " + seq + " DESC LIMIT " +
		c.value(failures.limit()+1)
	list := "SELECT CAST(0 AS BIGINT) AS failures, seq, " + marks + ", request_id, story FROM journal WHERE seq IN (" + latest + ")"
	//nolint:gosec // it is put together from constants, and from conditions that name parameters
	query := with + "SELECT " + columns + " FROM (" + counts + ") AS counts UNION ALL SELECT " + columns + " FROM (" + list + ") AS list"
	rows, err := j.s.reads.QueryContext(ctx, query, c.values...)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var n Count
		if err := rows.Scan(
			&n.Failures, &e.Seq, &n.Server, &n.Tool, &n.Kind, &n.Origin, &n.Caller, &n.Org, &e.RequestID, &e.Story,
		); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if n.Failures > 0 {
			page.Counts = append(page.Counts, n)
		} else {
			page.Entries = append(page.Entries, &e)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	slices.SortFunc(page.Entries, func(a, b *Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	if most := int(failures.limit()); len(page.Entries) > most {
		page.Entries, page.More = page.Entries[:most], true
	}
	return page, nil
}

// reach returns the time since which as many failures have ended as are searched for a text; zero means that
// there are no more.
func (j *Journal) reach(ctx context.Context, f *Filter) (time.Time, error) {
	all := *f
	all.Text = ""
	var c conditions
	statement := "SELECT seq FROM journal WHERE " + every(c.within("seq", &all)) + " ORDER BY seq DESC LIMIT 1 OFFSET " +
		c.value(int64(cmp.Or(f.Looked, looked)))
	var beyond int64
	err := j.s.reads.QueryRowContext(ctx, statement, c.values...).Scan(&beyond)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("read the journal: %w", err)
	}
	return instant(beyond>>seqBits + 1), nil
}

// Last returns the Seq of the latest entry, or 0.
func (j *Journal) Last(ctx context.Context) (seq int64, err error) {
	if err := j.s.reads.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0) FROM journal").Scan(&seq); err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	return seq, nil
}

// narrow reports whether a filter selects by marks.
func (f *Filter) narrow() bool {
	return f.Server != "" || f.Tool != "" || f.Kind != "" || f.Origin != "" || f.Caller != ""
}

func (f *Filter) limit() int64 {
	if f.Limit <= 0 {
		return 1000
	}
	return int64(f.Limit)
}

// conditions are the conditions of a statement, with the values of its parameters.
type conditions struct{ values []any }

// value adds a parameter, and returns its name.
func (c *conditions) value(v any) string {
	c.values = append(c.values, v)
	return "$" + strconv.Itoa(len(c.values))
}

// within returns the conditions for a filter's time, text and outcome. seq is the name of the column.
func (c *conditions) within(seq string, f *Filter) []string {
	within := []string{seq + " >= " + c.value(seqAt(f.Since))}
	if !f.Until.IsZero() {
		within = append(within, seq+" < "+c.value(seqAt(f.Until)))
	}
	if f.Failures {
		within = append(within, "kind <> ''")
	}
	if f.Text != "" {
		like := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text(f.Text, maxText))
		within = append(within, "LOWER(message) LIKE LOWER("+c.value("%"+like+"%")+`) ESCAPE '\'`)
	}
	return within
}

// chosen returns the conditions for all of a filter.
func (c *conditions) chosen(seq string, f *Filter) []string {
	chosen := c.within(seq, f)
	if f.After != 0 {
		chosen = append(chosen, seq+" > "+c.value(f.After))
	}
	if f.Before != 0 {
		chosen = append(chosen, seq+" < "+c.value(f.Before))
	}
	for _, is := range [...]struct{ column, value string }{
		{"server", f.Server}, {"tool", f.Tool}, {"kind", f.Kind}, {"origin", f.Origin},
	} {
		if is.value != "" {
			chosen = append(chosen, is.column+" = "+c.value(text(is.value, maxName)))
		}
	}
	if f.Caller != "" {
		caller := c.value(text(f.Caller, maxName))
		chosen = append(chosen, "(caller = "+caller+" OR org = "+caller+")")
	}
	return chosen
}

func every(conditions []string) string { return strings.Join(conditions, " AND ") }
