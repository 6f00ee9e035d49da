package gateway

import "github.com/recoursehq/recourse"

// An end is how an attempt ended: all that the stages around it learn of that.
type end struct {
	why     ending
	e       *recourse.Error // why it did not succeed; nil if failure says so
	failure *failure        // if it has failed

	status     int      // of the server's HTTP answer; 0: there was none
	full       bool     // the server has begun to answer in full
	told       original // what the answer said in the form of a contract
	generation int      // that the client's session had
}

// An ending is what an end means for the call.
type ending int

// The zero value is that of an attempt that goes on, or was never made.
const (
	answered       ending = iota + 1 // the client has the server's answer
	failed                           // the call has failed for good
	repeatable                       // the request may be sent again
	heldBack                         // it was not sent, to protect the server
	sessionLost                      // the server does not know the session
	accountRefused                   // the server rejects the caller's account
	outrun                           // the other attempt is answered first
)

// again is the end of an attempt that may be made again.
func again(e *recourse.Error) end { return end{why: repeatable, e: e} }

// notSent is the end of an attempt that is not made, to protect the server.
func notSent(e *recourse.Error) end { return end{why: heldBack, e: e} }

// end returns the end of an attempt that fails in that way.
func (f *failure) end() end { return end{why: failed, failure: f} }

// settled returns the failure of a call that ends with it; nil: the client has its answer.
func (t *end) settled() *failure {
	switch t.why {
	case answered:
		return nil
	case failed:
		t.failure.last = *t
		return t.failure
	default:
		return &failure{e: t.e, last: *t}
	}
}
