package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Write exports write for tests of a store that cannot be written to.
func (u *Uses) Write(ctx context.Context) { u.write(ctx) }

// LimitPages limits an SQLite file to that many pages, like a full disk.
func (s *Store) LimitPages(ctx context.Context, most int) error {
	_, err := s.writes.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", most))
	return err
}

// OpenFull opens a store on a disk with room for that many pages.
func OpenFull(ctx context.Context, address string, most int) error {
	s, err := connect(address, true)
	if err != nil {
		return err
	}
	err = s.LimitPages(ctx, most)
	if err == nil {
		err = s.migrate(ctx)
	}
	return errors.Join(err, s.Close())
}

// MigrateBefore makes a store as the program before the last migration did.
func MigrateBefore(ctx context.Context, address string) error {
	s, err := connect(address, true)
	if err != nil {
		return err
	}
	provider, err := s.migrations()
	if err == nil {
		_, err = provider.UpTo(ctx, schema-1)
	}
	return errors.Join(err, s.Close())
}

// Plan returns how SQLite finds the latest failures that match a filter, a line for each part.
func (j *Journal) Plan(ctx context.Context, f *Filter) (string, error) {
	var c conditions
	statement, _, err := j.latest(ctx, &c, f)
	if err != nil {
		return "", err
	}
	var plan strings.Builder
	_, err = all(ctx, j.s.reads, "explain", func(row scanner) (*string, error) {
		var id, parent, unused int
		var line string
		err := row.Scan(&id, &parent, &unused, &line)
		plan.WriteString(line + "\n")
		return &line, err
	}, "EXPLAIN QUERY PLAN "+statement, c.values...)
	return plan.String(), err
}
