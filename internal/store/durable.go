package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// A durable writes to an SQLite file what must outlive a crash of the machine. Such a commit takes a disk's time, so that all
// that is written at about the same time shares one: while one commit is under way, the next one collects.
type durable struct {
	db         *sql.DB
	statements map[string]*sql.Stmt // by their text; of whoever commits

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
	runtime.Gosched() // those who are about to write come along
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

// transaction carries the writes out and commits them. The file has one connection: what else is written meanwhile waits, or is
// synced as well.
func (d *durable) transaction(ctx context.Context, together []*write) (err error) {
	if _, err := d.db.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	defer func() {
		_, back := d.db.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = NORMAL")
		err = errors.Join(err, back)
	}()
	if err := d.prepare(ctx); err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("reach the store: %w", err)
	}
	defer tx.Rollback()
	each := context.WithoutCancel(ctx) // the driver starts a goroutine for each statement that could be cancelled
	for _, w := range together {
		if w.err = w.do(each, prepared{tx, d}); w.err != nil && !isAlone(w.err) {
			return w.err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write to the store: %w", err)
	}
	return nil
}

// prepare prepares the statements that were used and are not prepared yet: parsing them takes longer than running them.
func (d *durable) prepare(ctx context.Context) error {
	for query, statement := range d.statements {
		if statement != nil {
			continue
		}
		made, err := d.db.PrepareContext(ctx, query) //nolint:sqlclosecheck // the database closes it
		if err != nil {
			return err
		}
		d.statements[query] = made
	}
	return nil
}

// A prepared is a transaction with prepared statements. Whoever commits has them to itself.
type prepared struct {
	*sql.Tx

	of *durable
}

// ExecContext implements [querier].
func (p prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if made := p.of.statement(query); made != nil {
		return p.StmtContext(ctx, made).ExecContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes it
	}
	return p.Tx.ExecContext(ctx, query, args...)
}

// statement returns a prepared statement, or nil if it is prepared for the next time.
func (d *durable) statement(query string) *sql.Stmt {
	made, known := d.statements[query]
	if !known {
		d.statements[query] = nil
	}
	return made
}

// isAlone reports whether a statement has failed without effect on the others: it has read what is not there.
func isAlone(err error) bool { return errors.Is(err, sql.ErrNoRows) }
