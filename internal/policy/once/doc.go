// Package once remembers writes, so that whoever repeats one does not cause it to happen again.
//
// Each call has a key: its own, some of its arguments, or all of them. What became of the call is a row of a [Store],
// which replicas share. It is written before the call is sent, and again when its outcome is known:
//
//	(no row) --Claim--> sent --Answered--> answered     a repeat gets the same answer
//	   ^                 |  \
//	   |                 |   --Unknown--> unknown --Landed--> answered
//	   +------Free-------+                   |
//	                     ^------Resend-------+            only what has been proven not to have happened
//
// A row is changed only by whoever knows its fence, a number that grows whenever the call may be sent once more. Whoever
// was overtaken can thus no longer say what became of the call.
//
// The owner of a row is a process. While it has calls under way it beats: it writes a number that grows. Another process
// that has seen the same number for longer than the lease takes the owner for dead, and its rows for unknown, never for free.
// An owner that could not beat for most of that time sends nothing any more; see [Claim.MaySend]. All such times are
// measured by each process on its own, so that a clock that jumps, or differs from another one, proves nothing.
//
// Who decides:
//
//	gateway, a stage    what the key is, whether the answer has reached the client, what a failure means,
//	                    and what the verify call says
//	Ledger              who may send a call, and who waits for whom
//	Store               that there is one row for a key
//
// An author's server decides as the gateway does, without verify calls, and with a Store in memory: [NewInMemory].
package once
