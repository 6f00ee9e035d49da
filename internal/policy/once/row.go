package once

import (
	"context"
	"time"
)

// A State is what is known of a call.
type State string

// The states. Without a row, nothing is known, and the call may be sent.
const (
	Sent     State = "sent"     // it is under way, or its owner has died
	Unknown  State = "unknown"  // it may have happened
	Answered State = "answered" // it has happened
)

// A Row is a call that is remembered.
type Row struct {
	ID    string // of the key, in its scope; neither can be read from it
	Fence int64  // grows whenever the call may be sent once more
	State State
	Owner string // the process that has sent it

	Print  string // of the arguments; "" if the key is the arguments
	Fields string // fingerprints of the single arguments, to name those that differ
	Nonce  string // the key by which the other side can recognise the call, the same for each repetition

	Delivered bool   // the client has got the answer
	Answer    string // sealed; "": it is not kept
	Size      int64  // of the answer
	Note      string // how the row got its state, for people

	Server, Tool, Caller string // for people, like RequestID
	RequestID            string // of the request that sent it

	Created, Changed, Expires time.Time
}

// A Store keeps rows. It is safe for concurrent use. A change that was confirmed outlives a crash of the machine.
type Store interface {
	// Begin adds a row, unless there is one with its ID, which it returns then. A row that has expired does not
	// count, unless its call is under way.
	Begin(ctx context.Context, row *Row) (existing *Row, err error)
	// Row returns the row with that ID, or nil.
	Row(ctx context.Context, id string) (*Row, error)
	// Change replaces a row that still has that fence and one of those states. It reports false if there is none.
	Change(ctx context.Context, row *Row, fence int64, from ...State) (bool, error)
	// Remove removes a row that still has that fence.
	Remove(ctx context.Context, id string, fence int64) error
	// Beat notes that an owner lives; n grows with each beat.
	Beat(ctx context.Context, owner string, n int64) error
	// Beats returns an owner's last n; 0 if it is not known.
	Beats(ctx context.Context, owner string) (n int64, err error)
	// Expire removes up to limit rows that had expired by then, and reports how many there were. One that is under way is kept for
	// longer: the clock of whoever sends it may differ.
	Expire(ctx context.Context, by time.Time, limit int) (int, error)
}
