package store

import (
	"context"
	"fmt"
	"time"
)

// A Bar is how many failures of a kind ended in a stretch of time.
type Bar struct {
	Began    time.Time // of the stretch
	Kind     string
	Failures int64
}

// History counts the failures that match a filter in stretches of that length, which begin at whole multiples
// of it. They are not sorted.
func (j *Journal) History(ctx context.Context, f *Filter, length time.Duration) ([]*Bar, error) {
	failures := *f
	failures.Failures = true
	var c conditions
	width := length.Microseconds() << seqBits
	stretch := "seq / " + c.value(width)
	chosen := every(c.chosen("seq", &failures))
	statement := "SELECT " + stretch + " AS stretch, kind, COUNT(*) FROM journal WHERE " + chosen + " GROUP BY stretch, kind"
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

// A CodeCount is how many failures of a server had a code.
type CodeCount struct {
	Server, Code string
	Failures     int64
}

// Codes counts the failures that match a filter by server and code.
func (j *Journal) Codes(ctx context.Context, f *Filter) ([]*CodeCount, error) {
	failures := *f
	failures.Failures = true
	var c conditions
	statement := "SELECT server, code, COUNT(*) FROM journal WHERE " + every(c.chosen("seq", &failures)) + " GROUP BY server, code"
	return all(ctx, j.s.reads, "read the journal", func(row scanner) (*CodeCount, error) {
		var n CodeCount
		if err := row.Scan(&n.Server, &n.Code, &n.Failures); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		return &n, nil
	}, statement, c.values...)
}
