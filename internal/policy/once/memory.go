package once

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	maxRows   = 100_000  // in memory
	maxMemory = 64 << 20 // bytes of the answers there; others are not kept
)

// A memory is a Store of one process, which forgets its rows when it ends.
type memory struct {
	mu    sync.Mutex
	rows  map[string]*Row
	size  int // of the answers
	swept time.Time
}

var _ Store = (*memory)(nil)

// Begin implements [Store]. When there are too many rows it refuses: to forget one could make its call happen again.
func (m *memory) Begin(_ context.Context, row *Row) (*Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := row.Created; now.Sub(m.swept) > time.Minute {
		m.swept = now
		for _, r := range m.rows {
			if r.over(now) {
				m.put(r.ID, nil)
			}
		}
	}
	if old := m.rows[row.ID]; old != nil && !old.over(row.Created) {
		existing := *old
		return &existing, nil
	}
	if len(m.rows) >= maxRows {
		return nil, errBusy
	}
	m.put(row.ID, row)
	return nil, nil
}

// over reports whether a row does not count any more.
func (r *Row) over(now time.Time) bool { return r.State != Sent && r.Expires.Before(now) }

// put replaces a row, or removes it. m.mu is held.
func (m *memory) put(id string, row *Row) {
	if old := m.rows[id]; old != nil {
		m.size -= len(old.Answer)
		delete(m.rows, id)
	}
	if row == nil {
		return
	}
	kept := *row
	if m.size+len(kept.Answer) > maxMemory {
		kept.Answer = ""
	}
	m.size += len(kept.Answer)
	m.rows[id] = &kept
}

// Row implements [Store].
func (m *memory) Row(_ context.Context, id string) (*Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row := m.rows[id]
	if row == nil {
		return nil, nil
	}
	found := *row
	return &found, nil
}

// Change implements [Store].
func (m *memory) Change(_ context.Context, row *Row, fence int64, from ...State) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.rows[row.ID]
	if old == nil || old.Fence != fence || !slices.Contains(from, old.State) {
		return false, nil
	}
	m.put(row.ID, row)
	return true, nil
}

// Remove implements [Store].
func (m *memory) Remove(_ context.Context, id string, fence int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.rows[id]; old != nil && old.Fence == fence {
		m.put(id, nil)
	}
	return nil
}

// Beat implements [Store]: there are no others who would want to know.
func (m *memory) Beat(context.Context, string, int64) error { return nil }

// Beats implements [Store].
func (m *memory) Beats(context.Context, string) (int64, error) { return 0, nil }

// Expire implements [Store]: Begin removes what has expired.
func (m *memory) Expire(context.Context, time.Time, int) (int, error) { return 0, nil }
