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

// A Page is the latest failures that match a filter, with the counts of the latest failures within its time. Its reading takes as long
// with a million rows as with ten thousand.
type Page struct {
	Entries []*Entry // the latest first; only Seq, RequestID and Story are set
	More    bool     // there are older ones
	Back    int64    // with few entries, or none: only failures from this Seq on were looked at; 0: all were
	Counts  []Count
	Since   time.Time // only failures since then were counted, and searched for the text; zero: all were
}

const (
	// looked is how many failures are counted, or compared with several marks, at a time, and searched how many are searched for a
	// text.
	looked   = 5_000
	searched = 10_000
	// ranked is how many failures of a server its tools and callers are ranked by.
	ranked = 2_000
)

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
// Only the latest failures are counted, or searched for a text: [Page.Since] is where to continue, as the Until of
// another filter. The list is bounded only if there are several marks: [Page.Back] is where to continue, as its Before.
func (j *Journal) Page(ctx context.Context, f *Filter) (*Page, error) {
	failures, page := *f, new(Page)
	failures.Failures = true
	var err error
	if page.Since, err = j.reach(ctx, &failures); err != nil {
		return nil, err
	}
	recent := failures
	if !page.Since.IsZero() {
		recent.Since = page.Since
	}
	var c conditions
	const (
		marks   = "server, tool, kind, origin, caller, org"
		columns = "failures, seq, " + marks + ", request_id, story"
	)
	with, from := "", "journal"
	var latest string
	if failures.Text != "" { // evaluated once
		with = "WITH found AS MATERIALIZED (SELECT seq, " + marks + " FROM journal WHERE " + every(c.within(&recent)) + ") "
		from, recent.Text = "found", ""
		latest = "SELECT seq FROM found WHERE " + every(c.chosen(&recent)) + " ORDER BY seq DESC LIMIT " + c.value(f.limit()+1)
	} else if latest, page.Back, err = j.latest(ctx, &c, &failures); err != nil {
		return nil, err
	}
	counts := "SELECT COUNT(*) AS failures, CAST(0 AS BIGINT) AS seq, " + marks + ", '' AS request_id, '' AS story FROM " + from +
		" WHERE " + every(c.within(&recent)) + " GROUP BY " + marks
	list := "SELECT CAST(0 AS BIGINT) AS failures, seq, " + marks + ", request_id, story FROM journal WHERE seq IN (" + latest + ")"
	query := with + "SELECT " + columns + " FROM (" + counts + ") AS counts UNION ALL SELECT " + columns + " FROM (" + list + ") AS list"
	if err := j.readPage(ctx, page, query, c.values...); err != nil {
		return nil, err
	}
	slices.SortFunc(page.Entries, func(a, b *Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	if most := int(failures.limit()); len(page.Entries) > most {
		page.Entries, page.More, page.Back = page.Entries[:most], true, 0
	}
	return page, nil
}

// readPage reads the counts and the entries of a page.
func (j *Journal) readPage(ctx context.Context, page *Page, query string, args ...any) error {
	rows, err := j.s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var n Count
		if err := rows.Scan(
			&n.Failures, &e.Seq, &n.Server, &n.Tool, &n.Kind, &n.Origin, &n.Caller, &n.Org, &e.RequestID, &e.Story,
		); err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if n.Failures > 0 {
			page.Counts = append(page.Counts, n)
		} else {
			page.Entries = append(page.Entries, &e)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	return nil
}

// latest returns the statement for the latest failures that match a filter without a text, and the Seq down to which it looks if that is
// not all the way. It goes through the index of one mark; with others besides, no further than so many failures.
func (j *Journal) latest(ctx context.Context, c *conditions, f *Filter) (statement string, back int64, err error) {
	is := f.marks()
	leading, others := []mark{everything}, is
	if len(is) > 0 && is[0].column != "origin" {
		leading, others = is[:1:1], is[1:]
	}
	if leading[0].column == "caller" {
		leading = append(leading, mark{"org", f.Caller})
	}
	if len(others) > 0 {
		for _, by := range leading {
			var all conditions
			beyond, err := j.beyond(ctx, f, &all, append(all.between(f), all.is(by)))
			if err != nil {
				return "", 0, err
			}
			back = max(back, beyond)
		}
	}
	var parts []string
	for _, by := range leading {
		chosen := append(c.between(f), c.is(by), "seq >= "+c.value(back))
		for _, other := range others {
			other.column = "(" + other.column + " || '')" // keeps the databases from using the index of that mark
			chosen = append(chosen, c.is(other))
		}
		parts = append(parts, "SELECT seq FROM (SELECT seq FROM journal WHERE "+every(chosen)+" ORDER BY seq DESC LIMIT "+
			c.value(f.limit()+1)+") AS by_"+strconv.Itoa(len(parts)))
	}
	return "SELECT seq FROM (" + strings.Join(parts, " UNION ") + ") AS latest ORDER BY seq DESC LIMIT " + c.value(f.limit()+1), back, nil
}

// reach returns the time since which as many failures have ended as are counted, or searched for a text; zero means that there are no
// more.
func (j *Journal) reach(ctx context.Context, f *Filter) (time.Time, error) {
	all := *f
	all.Text = ""
	var c conditions
	beyond, err := j.beyond(ctx, f, &c, c.within(&all))
	if err != nil || beyond == 0 {
		return time.Time{}, err
	}
	return instant(beyond>>seqBits + 1), nil
}

// beyond returns the Seq of the failure that comes after as many as are looked at under some conditions; 0: there are no more.
func (j *Journal) beyond(ctx context.Context, f *Filter, c *conditions, chosen []string) (seq int64, err error) {
	most := cmp.Or(f.Looked, looked)
	if f.Text != "" {
		most = cmp.Or(f.Looked, searched)
	}
	statement := "SELECT seq FROM journal WHERE " + every(chosen) + " ORDER BY seq DESC LIMIT 1 OFFSET " + c.value(int64(most))
	err = j.s.reads.QueryRowContext(ctx, statement, c.values...).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	return seq, nil
}

// Culprits returns what tools and callers the latest failures of a server are of, and whether there are more since then.
func (j *Journal) Culprits(ctx context.Context, server string, since time.Time) (counts []*Count, more bool, err error) {
	f := &Filter{Failures: true, Since: since}
	var c conditions
	latest := "SELECT tool, caller, org FROM journal WHERE " + every(append(c.within(f), c.is(mark{"server", server}))) +
		" ORDER BY seq DESC LIMIT " + c.value(int64(ranked))
	total := int64(0)
	counts, err = all(ctx, j.s.reads, "read the journal", func(row scanner) (*Count, error) {
		n := Count{Server: server}
		err := row.Scan(&n.Tool, &n.Caller, &n.Org, &n.Failures)
		total += n.Failures
		return &n, err
	}, "SELECT tool, caller, org, COUNT(*) FROM ("+latest+") AS latest GROUP BY tool, caller, org", c.values...)
	return counts, total == ranked, err
}

// Last returns the Seq of the latest entry, or 0.
func (j *Journal) Last(ctx context.Context) (seq int64, err error) {
	if err := j.s.reads.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0) FROM journal").Scan(&seq); err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	return seq, nil
}

// A mark is what a filter wants of a column.
type mark struct{ column, value string }

// everything is the mark of all failures.
var everything mark

// marks returns a filter's marks, beginning with those that few failures are likely to share.
func (f *Filter) marks() []mark {
	all := []mark{{"caller", f.Caller}, {"tool", f.Tool}, {"server", f.Server}, {"kind", f.Kind}, {"origin", f.Origin}}
	return slices.DeleteFunc(all, func(m mark) bool { return m.value == "" })
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

// within returns the conditions for a filter's time, text and outcome.
func (c *conditions) within(f *Filter) []string {
	within := []string{"seq >= " + c.value(seqAt(f.Since))}
	if !f.Until.IsZero() {
		within = append(within, "seq < "+c.value(seqAt(f.Until)))
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

// between returns the conditions for a filter's time, outcome and place in the list.
func (c *conditions) between(f *Filter) []string {
	between := c.within(f)
	if f.After != 0 {
		between = append(between, "seq > "+c.value(f.After))
	}
	if f.Before != 0 {
		between = append(between, "seq < "+c.value(f.Before))
	}
	return between
}

// is returns the condition for a mark.
func (c *conditions) is(m mark) string {
	if m == everything {
		return "TRUE"
	}
	return m.column + " = " + c.value(text(m.value, maxName))
}

// chosen returns the conditions for all of a filter.
func (c *conditions) chosen(f *Filter) []string {
	chosen := c.between(f)
	for _, m := range f.marks() {
		is := c.is(m)
		if m.column == "caller" {
			is = "(" + is + " OR " + c.is(mark{"org", m.value}) + ")"
		}
		chosen = append(chosen, is)
	}
	return chosen
}

func every(conditions []string) string { return strings.Join(conditions, " AND ") }
