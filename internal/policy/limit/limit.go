// Package limit limits how often, and how often at the same time, something may be done.
//
//	a call
//	  |
//	  +-- at the same time: Gate         in this process; a call may wait in a queue until another one leaves
//	  |
//	  +-- in a sliding window of time: Counter
//	        |
//	        +-- Memory                   in this process
//	        +-- Shared ----> Redis       by all replicas, in one script (count.lua)
//	               \-------> Memory      remembers what Redis told, and counts on from there while Redis fails (told.go)
//
// A call is charged to all of its windows or to none, and what turns out not to count is given back.
package limit

import (
	"context"
	"net/netip"
	"strings"
	"time"
)

// A Window limits the calls in any stretch of time of that length, whenever it begins. A call may count for
// up to a sixtieth of the length longer.
type Window struct {
	// ID identifies what is counted, such as "{farm}:minute": windows with the same ID and length share their
	// counts, in memory and between replicas. The part in braces decides where a Redis cluster keeps the
	// counts: it must be the same for all windows of one call.
	ID     string
	Name   string // for people
	Calls  int64
	Length time.Duration // at least a millisecond; Redis counts whole ones
}

// A Key says which calls are counted together. Members that a limit does not use are left empty.
type Key struct {
	Access, Name string     // of a verified caller
	Digest       [32]byte   // of the credentials of an unverified caller
	Address      netip.Addr // of the client
	Org          string
	Tool         string
}

// clone returns a copy that shares no memory with k.
func (k Key) clone() Key {
	k.Access, k.Name = strings.Clone(k.Access), strings.Clone(k.Name)
	k.Org, k.Tool = strings.Clone(k.Org), strings.Clone(k.Tool)
	return k
}

// A Charge is a call in one window.
type Charge struct {
	Window *Window
	Key    Key

	// The members below are the state after Take or Look.

	Remaining int64
	// Reset is the time until the window has room for one more call than now.
	Reset time.Duration

	at     int64 // when it was charged, by Redis's clock, in microseconds
	here   int64 // the same on the clock of this process's memory
	weight int64 // as how many calls it counts in memory
	owed   int64 // earlier calls with this key that Redis has not counted yet
	asked  bool  // of Redis, which has not answered yet
	local  bool  // in memory alone, because Redis did not answer
}

// Full reports whether the window has no room for another call.
func (c *Charge) Full() bool { return c.Remaining <= 0 }

// A Counter counts calls. It is safe for concurrent use.
type Counter interface {
	// Take charges a call to all windows if each has room for it, or else to none. It fills in the state of
	// each charge. An error says that nobody could count.
	Take(ctx context.Context, now time.Time, charges []Charge) (ok bool, err error)
	// Look fills in the state of each charge, and charges nothing. An error says that nobody could count.
	Look(ctx context.Context, now time.Time, charges []Charge) error
	// Give takes back what Take has charged.
	Give(ctx context.Context, charges []Charge)
}

var (
	_ Counter = (*Memory)(nil)
	_ Counter = (*Redis)(nil)
	_ Counter = (*Shared)(nil)
)
