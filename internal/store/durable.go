package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// A durable writes to an SQLite file what must outlive a crash of the machine. Such a commit takes a disk's time, so that all
// that is written at about the same time shares one: while one commit is under way, the next one collects.
type durable struct {
	db *sql.DB

	mu      sync.Mutex
	waiting []*write
	busy    bool // somebody commits
}

type write struct {
	do   func(ctx context.Context, db querier) error
	err  error
	done chan struct{}
	lead chan struct{} // this one's caller commits the next
}

// maxTogether limits how much one commit has.
const maxTogether = 256

// do has something written, and waits until that is durable, even if ctx ends meanwhile.
func (d *durable) do(ctx context.Context, do func(ctx context.Context, db querier) error) error {
	w := &write{do: do, done: make(chan struct{}), lead: make(chan struct{})}
	d.mu.Lock()
	d.waiting = append(d.waiting, w)
	leads := !d.busy
	d.busy = true
	d.mu.Unlock()
	if !leads {
		select {
		case <-w.done:
			return w.err
		case <-w.lead:
		}
	}
	d.mu.Lock()
	n := min(len(d.waiting), maxTogether)
	together := d.waiting[:n:n] // w is the first
	d.waiting = d.waiting[n:]
	d.mu.Unlock()
	d.commit(ctx, together)
	d.mu.Lock()
	if d.busy = len(d.waiting) > 0; d.busy {
		close(d.waiting[0].lead)
	}
	d.mu.Unlock()
	for _, each := range together {
		close(each.done)
	}
	return w.err
}

// commit writes all of them, or says why not. A statement that fails alone fails alone.
func (d *durable) commit(ctx context.Context, together []*write) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), onceTimeout)
	defer cancel()
	if err := d.transaction(ctx, together); err != nil {
		for _, w := range together {
			w.err = err
		}
	}
}

func (d *durable) transaction(ctx context.Context, together []*write) (err error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	defer func() {
		_, back := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = NORMAL")
		err = errors.Join(err, back, conn.Close())
	}()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	for _, w := range together {
		if w.err = w.do(ctx, tx); w.err != nil && !isAlone(w.err) {
			return w.err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write to the store: %w", err)
	}
	return nil
}

// isAlone reports whether a statement has failed without effect on the others: it has read what is not there.
func isAlone(err error) bool { return errors.Is(err, sql.ErrNoRows) }
