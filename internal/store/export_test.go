package store

import (
	"context"
	"errors"
	"fmt"
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
