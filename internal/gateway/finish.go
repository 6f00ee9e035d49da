package gateway

import (
	"time"

	"github.com/recoursehq/recourse"
)

// An outcome is how a call goes, and how it has ended. Every call has one.
type outcome struct {
	began time.Time
	took  time.Duration
	end   ending

	attempts int           // that the server may have acted on
	sent     int           // attempts of any sort
	last     attempt       // the last one that was sent
	tries    []Attempt     // all of them, or the first maxTries
	wait     time.Duration // before the next one
	queued   time.Duration // for its turn
	renewed  bool          // the session was made anew for it
	reason   string        // why the call was not sent again
	key      string        // by which the provider of an HTTP API knows its repetitions

	form      string    // in which the client was told of the failure: see [Outcome]
	allowance allowance // what the call takes of the limits

	record *recourse.Error // of a failure, as the client was told, with its effect; nil: there was none
	told   []told          // all that there is to tell of failures
}

// An ending is what became of a call.
type ending string

const (
	succeeded ending = "success"
	failed    ending = "failure"
	brokenOff ending = "broken off" // in the middle of an answer
	left      ending = "client gone"
)

// maxTries bounds the attempts that an outcome tells: a stream that is held open makes more.
const maxTries = 16

// An attempt is one request to the server, with what only the stages have to know of it.
type attempt struct {
	Attempt

	session    string // that it named at the server
	generation int    // which one of the client's session that was

	answered bool // the server has begun to answer in full
	lost     bool // the server does not know the session
	refused  bool // the server refuses the caller's account

	outlived verdict // of the other one of two, which had failed before
}

// told is what there is to tell of one failure.
type told struct {
	message  string
	e        *recourse.Error
	note     string // what is special about it
	attempts int
	reason   string
	cause    error // what it comes of, private
	before   error // what the server said, where that was passed on
	after    error // and what would have been said instead
}

// An observer is told of each call once, when it has ended. The call is valid until ended returns.
type observer interface {
	ended(c *call)
}

// finish tells every observer of the one outcome.
func finish(c *call, next next) error {
	c.out.end = failed // of the gateway itself, should a stage panic
	defer func() {
		c.out.took = time.Since(c.out.began)
		if c.relayed() {
			c.closeAnswer()
			return
		}
		for _, o := range c.g.observers {
			o.ended(c)
		}
		if len(c.g.outside) > 0 {
			told := outcomeOf(c)
			for _, o := range c.g.outside {
				o.Ended(told)
			}
		}
		c.closeAnswer()
	}()
	err := next(c)
	switch {
	case c.reply.broken:
		c.out.end = brokenOff
	case c.reply.gone, c.req.http.Context().Err() != nil:
		c.out.end = left
	case c.out.record == nil:
		c.out.end = succeeded
	}
	return err
}

// attempt begins another attempt.
func (o *outcome) attempt() {
	o.attempts++
	o.sent++
	o.last = attempt{Attempt: Attempt{Wait: o.wait, Began: time.Now()}}
	o.wait = 0
}

// ended ends the last attempt.
func (o *outcome) ended(e *recourse.Error) {
	o.last.Took = time.Since(o.last.Began)
	if e != nil {
		o.last.Failure = e.Kind
	}
	if len(o.tries) < maxTries {
		o.tries = append(o.tries, o.last.Attempt)
	}
}

// decided takes down why the call is sent again after the last attempt, and after which wait, or why it is not.
func (o *outcome) decided(reason string, wait time.Duration) {
	o.wait = wait
	if o.sent > 0 && o.sent == len(o.tries) {
		o.tries[o.sent-1].Reason = reason
	}
}

// record takes down the failure of the call. note says what is special about it.
func (c *call) record(e *recourse.Error, note string) {
	c.out.record = e
	c.out.told = append(c.out.told, c.failureOf(e, note))
}

func (c *call) failureOf(e *recourse.Error, note string) told {
	return told{message: "failure", e: e, cause: e.Cause(), note: note, attempts: c.out.attempts, reason: c.out.reason}
}
