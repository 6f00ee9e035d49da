package store

import (
	"context"
	"fmt"
	"time"
)

// A Group is failures that are equal but for when they were, and whose.
type Group struct {
	Server, Tool, Kind, Code, Origin, Message string

	Failures, Callers int64
	First, Last       time.Time // when they ended
}

// Groups returns the groups of the latest failures that match a filter, of as many as a [Page] looks at. They are not sorted.
func (j *Journal) Groups(ctx context.Context, f *Filter) ([]*Group, error) {
	failures := *f
	failures.Failures, failures.Limit = true, looked
	if failures.Text != "" {
		since, err := j.reach(ctx, &failures)
		if err != nil {
			return nil, err
		}
		if !since.IsZero() {
			failures.Since = since
		}
	}
	var c conditions
	latest, _, err := j.latest(ctx, &c, &failures)
	if err != nil {
		return nil, err
	}
	const marks = "server, tool, kind, code, origin, message"
	return all(ctx, j.s.reads, "read the journal", func(row scanner) (*Group, error) {
		var g Group
		var first, last int64
		if err := row.Scan(&g.Server, &g.Tool, &g.Kind, &g.Code, &g.Origin, &g.Message, &g.Failures, &g.Callers, &first,
			&last); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		g.First, g.Last = instant(first>>seqBits), instant(last>>seqBits)
		return &g, nil
	}, "SELECT "+marks+", COUNT(*), COUNT(DISTINCT caller), MIN(seq), MAX(seq) FROM journal WHERE seq IN ("+latest+") GROUP BY "+marks,
		c.values...)
}
