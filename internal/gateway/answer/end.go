package answer

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An End is how an attempt ended: all that the stages around it learn of that.
type End struct {
	Why     Ending
	Err     *recourse.Error // why it did not succeed; nil if failure says so
	Failure *Failure        // if it has failed

	Status     int      // of the server's HTTP answer; 0: there was none
	Full       bool     // the server has begun to answer in full
	Told       Original // what the answer said in the form of a contract
	Generation int      // that the client's session had

	Late    *recourse.Error  // a failure that was found when the client had its beginning
	Seeming *observe.Seeming // that the success looks like a failure, or nil
}

// An Ending is what an end means for the call.
type Ending int

// The zero value is that of an attempt that goes on, or was never made.
const (
	Answered       Ending = iota + 1 // the client has the server's answer
	Failed                           // the call has failed for good
	Repeatable                       // the request may be sent again
	HeldBack                         // it was not sent, to protect the server
	SessionLost                      // the server does not know the session
	AccountRefused                   // the server rejects the caller's account
	Outrun                           // the other attempt is answered first
)

// Again is the end of an attempt that may be made again.
func Again(e *recourse.Error) End { return End{Why: Repeatable, Err: e} }

// NotSent is the end of an attempt that is not made, to protect the server.
func NotSent(e *recourse.Error) End { return End{Why: HeldBack, Err: e} }

// Cause returns why the attempt did not succeed, or nil.
func (t *End) Cause() *recourse.Error {
	if t.Failure != nil {
		return t.Failure.Err
	}
	return t.Err
}

// Settled returns the failure of a call that ends with it; nil: the client has its answer.
func (t *End) Settled() *Failure {
	switch t.Why {
	case Answered:
		return nil
	case Failed:
		t.Failure.Last = *t
		return t.Failure
	default:
		return &Failure{Err: t.Err, Last: *t}
	}
}

// A Failure ends a call for good. Besides the record it has what is needed to write it.
type Failure struct {
	Err  *recourse.Error
	Last End // of the last attempt; its zero value: none was made

	Refusal bool        // the request was not accepted as a call
	At      contract.At // how far it had come
	Status  int         // the HTTP status for it

	Original Original // what it was read from

	Text    []byte    // a message from the server, passed on under its own code
	ID, RPC wire.Span // in the text
	Cut     bool      // it is incomplete

	Passed bool // the text is that of an HTTP answer, passed on with its own status

	Expected bool // clients ask in order to get this answer: nothing has failed

	OfCaller bool // the caller is not let in; contracts with codes for tools say nothing about that

	Off bool // it was found in the middle of an answer

	Reason string // why the call is not made again, if it says so
}

// End returns the end of an attempt that fails in that way.
func (f *Failure) End() End { return End{Why: Failed, Failure: f} }

// An Original is what a failure was read from, masked: a result, a JSON-RPC error or the body of an HTTP answer.
type Original struct {
	Raw  json.Value
	At   contract.Surface
	From *contract.Contract // the contract in whose form it was
}

// IsResult reports whether it was a tool's result.
func (o *Original) IsResult() bool { return o.Raw != nil && o.At == contract.SurfaceResult }

// Tells reports whether it is what e was read from.
func (o *Original) Tells(e *recourse.Error) bool { return o.From != nil && e.Contract == o.From.Name }

// Settled returns e as a failure that is not tried again.
func Settled(e *recourse.Error) *Failure { return &Failure{Err: e} }

// Refuse returns the failure for a request that is not accepted as a call, with an HTTP status.
func Refuse(status int, e *recourse.Error) *Failure {
	return &Failure{Err: e, Refusal: true, At: contract.AtSession, Status: status}
}

// RefuseAt does so at a stage that has a status of its own.
func RefuseAt(at contract.At, e *recourse.Error) *Failure {
	return &Failure{Err: e, Refusal: true, At: at, Status: door.Status(at)}
}
