package once

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// Times says how patient a [Ledger] is. Zero values mean the defaults, which only tests have a reason to change.
type Times struct {
	Lease time.Duration // for which a process that does not beat is taken to live; 15 s
	Poll  time.Duration // between two looks at a row that another process has sent, at most; 500 ms
	Sweep time.Duration // between two removals of rows that have expired; 1 min
}

// A Ledger decides who may send a call. It is safe for concurrent use. Create it with [New], and end it with Close.
type Ledger struct {
	store Store
	owner string
	times Times
	log   *slog.Logger
	began time.Time
	end   chan struct{}
	work  sync.WaitGroup

	mu      sync.Mutex
	flights map[string]*flight       // by ID: what this process has sent
	doubts  map[string]doubt         // by ID: since when a row is known to be unknown
	owners  map[string]heartbeat     // the last beats of others
	pending map[string]*func() error // what could not be written yet, by ID
	open    int                      // claims that have not ended
	beats   int64
	beaten  time.Time // when the last beat that was written began
}

// A flight is a call that this process is making.
type flight struct {
	ended chan struct{}
	claim *Claim
	late  bool // its client has been answered, and only its answer is waited for

	arrived bool // its answer is there, and may be known to its client
}

type doubt struct {
	fence int64
	since time.Time
}

type heartbeat struct {
	beat  int64
	since time.Time
}

// maxDoubts limits how many rows are remembered as unknown. What is forgotten waits for its grace again.
const maxDoubts = 10_000

// New returns a ledger that keeps its rows in a store.
func New(store Store, times Times, log *slog.Logger) *Ledger {
	l := newLedger(store, times, log)
	l.work.Go(l.keepUp)
	return l
}

// NewInMemory returns a ledger of this process alone, which need not be closed. Its rows take a bounded amount of memory.
func NewInMemory(log *slog.Logger) *Ledger {
	return newLedger(&memory{rows: map[string]*Row{}}, Times{}, log) // that never fails, and needs no upkeep
}

func newLedger(store Store, times Times, log *slog.Logger) *Ledger {
	return &Ledger{
		store: store, owner: rand.Text(), times: times.or(), log: log, began: time.Now(), end: make(chan struct{}),
		flights: map[string]*flight{}, doubts: map[string]doubt{}, owners: map[string]heartbeat{}, pending: map[string]*func() error{},
	}
}

func (t Times) or() Times {
	for _, each := range []struct {
		of        *time.Duration
		otherwise time.Duration
	}{{&t.Lease, 15 * time.Second}, {&t.Poll, 500 * time.Millisecond}, {&t.Sweep, time.Minute}} {
		if *each.of == 0 {
			*each.of = each.otherwise
		}
	}
	return t
}

// Close ends the ledger's own work, after the calls that it knows have ended. What could not be written by then stays sent,
// and becomes unknown.
func (l *Ledger) Close() {
	close(l.end)
	l.work.Wait()
	l.settlePending()
}

// now returns the time of the clock when the ledger was made, and what has passed since: it does not jump.
func (l *Ledger) now() time.Time { return l.began.Add(time.Since(l.began)) }

// A Ruling says what a call may do.
type Ruling int

// The verdicts.
const (
	First    Ruling = iota + 1 // send it, and say what became of it
	Repeat                     // it has happened: Row has the answer, if it was kept
	Doubted                    // it may have happened
	Late                       // it may have happened, and the answer may still come: ask again with Looked
	Other                      // its key belongs to a call with other arguments
	UnderWay                   // it is still under way, and there is no more time to wait for it
)

// A Claim is what a call is told.
type Claim struct {
	Verdict Ruling
	Row     *Row
	Waited  bool // for a call that was under way

	l      *Ledger
	flight *flight
	once   sync.Once
}

// An Ask is what a call wants to know.
type Ask struct {
	Row   Row           // ID, Print, Fields, Server, Tool, Caller and RequestID
	Keep  time.Duration // for which the row counts
	Until time.Time     // how long it may wait
	// Again says that a call whose answer has been delivered may be made again.
	Again bool
	// Looked says that it is known already that the call may have happened.
	Looked bool
}

// errBusy is the error for more calls than can be remembered at a time.
var errBusy = errors.New("too many calls are under way")

// maxOpen limits the claims that have not ended.
const maxOpen = 100_000

// Claim asks whether a call may be sent. It waits while the same call is under way. An error means that the store cannot
// be used, or that ctx has ended: the call must not be sent.
func (l *Ledger) Claim(ctx context.Context, ask *Ask) (*Claim, error) {
	waited := false
	for wait := time.Duration(0); ; {
		row, c, err := l.begin(ctx, ask, waited)
		if c != nil || err != nil {
			return c, err
		}
		verdict := l.judge(ctx, row, ask, waited)
		if verdict == First {
			c, err := l.takeOver(ctx, row, ask)
			if c != nil || err != nil {
				return c, err
			}
			if err := l.await(ctx, ask.Row.ID, l.times.Poll/16); err != nil { // somebody else did
				return nil, err
			}
			continue
		}
		if verdict != UnderWay {
			return &Claim{Verdict: verdict, Row: row, Waited: waited}, nil
		}
		if !ask.Looked && l.isLate(ask.Row.ID) {
			return &Claim{Verdict: Late, Row: row, Waited: waited}, nil
		}
		waited = waited || !row.Delivered // else whoever asks may know the answer
		left := time.Until(ask.Until)
		if left <= 0 {
			return &Claim{Verdict: UnderWay, Row: row, Waited: true}, nil
		}
		wait = min(max(2*wait, l.times.Poll/16), l.times.Poll)
		if err := l.await(ctx, ask.Row.ID, min(wait, left)); err != nil {
			return nil, err
		}
	}
}

// begin adds the row of a call that is new. Otherwise it returns the row that there is. One that was waited for counts, whatever the
// clock of its owner makes of the time for which it does.
func (l *Ledger) begin(ctx context.Context, ask *Ask, waited bool) (*Row, *Claim, error) {
	l.mu.Lock()
	if waited && l.flights[ask.Row.ID] == nil {
		l.mu.Unlock()
		if row, err := l.store.Row(ctx, ask.Row.ID); err != nil || row != nil {
			return row, nil, err
		}
		l.mu.Lock()
	}
	if f := l.flights[ask.Row.ID]; f != nil {
		arrived := f.arrived
		l.mu.Unlock()
		row, err := l.inFlight(ctx, ask, arrived)
		return row, nil, err
	}
	if l.open >= maxOpen {
		l.mu.Unlock()
		return nil, nil, errBusy
	}
	f := l.take(ask.Row.ID)
	l.mu.Unlock()
	row := l.rowFor(ask)
	row.Fence = row.Created.UnixMicro()
	err := l.ensureBeat(ctx)
	var existing *Row
	if err == nil {
		existing, err = l.store.Begin(ctx, row)
	}
	switch {
	case errors.Is(err, errBusy): // it was not written
		l.leave(row.ID, f)
		return nil, nil, err
	case err != nil:
		l.abandon(row, f)
		return nil, nil, err
	case existing != nil:
		l.leave(row.ID, f)
		return existing, nil, nil
	}
	return nil, l.first(row, f), nil
}

// inFlight returns the row of a call that this process makes.
func (l *Ledger) inFlight(ctx context.Context, ask *Ask, arrived bool) (*Row, error) {
	row, err := l.store.Row(ctx, ask.Row.ID)
	switch {
	case err != nil:
		return nil, err
	case row == nil: // it is being written, or removed
		row = &Row{ID: ask.Row.ID, State: Sent, Owner: l.owner, Print: ask.Row.Print}
	case row.State == Unknown: // others have taken this process for dead
		row.State, row.Owner = Sent, l.owner
	}
	row.Delivered = row.Delivered || arrived
	return row, nil
}

// first returns the claim of the call that is sent.
func (l *Ledger) first(row *Row, f *flight) *Claim {
	c := &Claim{Verdict: First, Row: row, l: l, flight: f}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.claim = c
	delete(l.doubts, row.ID)
	return c
}

// rowFor returns the row of a call that this process sends now.
func (l *Ledger) rowFor(ask *Ask) *Row {
	row := ask.Row
	now := l.now()
	row.State, row.Owner, row.Nonce = Sent, l.owner, rand.Text()
	row.Created, row.Changed, row.Expires = now, now, now.Add(ask.Keep)
	return &row
}

// judge says what a row means for a call, which may have waited for that of the row.
func (l *Ledger) judge(ctx context.Context, row *Row, ask *Ask, waited bool) Ruling {
	switch {
	case row.Print != ask.Row.Print:
		return Other
	case row.State == Answered && row.Delivered && ask.Again && !waited:
		return First
	case row.State == Answered:
		return Repeat
	case row.State == Unknown:
		l.doubtsAbout(row)
		return Doubted
	case row.Owner != l.owner && l.isDead(ctx, row.Owner) && l.lost(ctx, row):
		return Doubted
	default:
		return UnderWay
	}
}

// lost makes a row unknown whose owner is dead.
func (l *Ledger) lost(ctx context.Context, row *Row) bool {
	now := *row
	now.State, now.Changed, now.Note = Unknown, l.now(), "the process that sent it has gone"
	done, err := l.store.Change(ctx, &now, row.Fence, Sent)
	if err != nil || !done {
		return false
	}
	*row = now
	l.doubtsAbout(row)
	return true
}

// takeOver makes the row of a call that may be made once more that of a call that this process sends.
func (l *Ledger) takeOver(ctx context.Context, old *Row, ask *Ask) (*Claim, error) {
	return l.sendAgain(ctx, old, l.rowFor(ask), Answered)
}

// Resend lets the call of an unknown row be sent, once, by whoever asks first; it returns nil to all others. The other side
// can recognise the repetition by its nonce.
func (l *Ledger) Resend(ctx context.Context, row *Row, ask *Ask) (*Claim, error) {
	again := l.rowFor(ask)
	again.Nonce = row.Nonce
	return l.sendAgain(ctx, row, again, Unknown)
}

func (l *Ledger) sendAgain(ctx context.Context, old, row *Row, from State) (*Claim, error) {
	l.mu.Lock()
	if l.flights[row.ID] != nil {
		l.mu.Unlock()
		return nil, nil
	}
	f := l.take(row.ID)
	l.mu.Unlock()
	row.Fence = old.Fence + 1
	err := l.ensureBeat(ctx)
	done := false
	if err == nil {
		done, err = l.store.Change(ctx, row, old.Fence, from)
	}
	switch {
	case err != nil: // it may have been written: whoever asks next finds out, and nothing was sent
		l.later(row.ID, func() error {
			_, err := l.store.Change(context.Background(), old, row.Fence, Sent)
			return err
		})
		l.leave(row.ID, f)
		return nil, err
	case !done:
		l.leave(row.ID, f)
		return nil, nil
	}
	return l.first(row, f), nil
}

// take notes that this process makes a call. l.mu is held.
func (l *Ledger) take(id string) *flight {
	f := &flight{ended: make(chan struct{})}
	l.flights[id] = f
	l.open++
	return f
}

// leave notes that a call has ended.
func (l *Ledger) leave(id string, f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, id)
	l.open--
	close(f.ended)
}

// abandon removes a row that may have been written, of a call that is not sent.
func (l *Ledger) abandon(row *Row, f *flight) {
	l.later(row.ID, func() error { return l.store.Remove(context.Background(), row.ID, row.Fence) })
	l.leave(row.ID, f)
}

// await waits until this process has ended the call, or for some time.
func (l *Ledger) await(ctx context.Context, id string, wait time.Duration) error {
	l.mu.Lock()
	f := l.flights[id]
	l.mu.Unlock()
	if f == nil {
		if !pause.For(ctx, wait) {
			return context.Cause(ctx)
		}
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.ended:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Ledger) isLate(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[id]
	return f != nil && f.late
}

// doubtsAbout notes since when a row is known to be unknown.
func (l *Ledger) doubtsAbout(row *Row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.doubts[row.ID]; ok && d.fence == row.Fence {
		return
	}
	if len(l.doubts) >= maxDoubts {
		clear(l.doubts)
	}
	l.doubts[row.ID] = doubt{fence: row.Fence, since: time.Now()}
}

// DoubtedFor returns for how long this process has known that a row is unknown.
func (l *Ledger) DoubtedFor(row *Row) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.doubts[row.ID]; ok && d.fence == row.Fence {
		return time.Since(d.since)
	}
	return 0
}

// Delivered notes that the client has got the answer that a row has kept. If that cannot be written, it will get it again.
func (l *Ledger) Delivered(ctx context.Context, row *Row) error {
	now := *row
	now.Delivered = true
	_, err := l.store.Change(ctx, &now, row.Fence, Answered)
	return err
}

// Landed notes that a call has happened that may have, with the answer that says so.
func (l *Ledger) Landed(ctx context.Context, row *Row, answer, note string) error {
	now := *row
	now.State, now.Answer, now.Size, now.Note, now.Changed = Answered, answer, int64(len(answer)), note, l.now()
	done, err := l.store.Change(ctx, &now, row.Fence, Unknown, Sent)
	l.mu.Lock()
	f := l.flights[row.ID]
	late := f != nil && f.late
	l.mu.Unlock()
	if done && late { // nobody needs the call's own answer any more
		f.claim.close(func(context.Context) error { return nil })
	}
	return err
}
