// Package hedge sends a request a second time if its answer does not begin in time. The first attempt to be
// answered counts.
//
//	Start
//	  |  Within     has its answer begun in time? Then it is the only attempt
//	  v
//	Start again
//	  |  Outruns    which of the two is answered first
//	  v
//	that answer; the other attempt is ended (Cancel, Drop)
package hedge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// ErrOutrun is why an attempt ends when the other one was answered first.
var ErrOutrun = errors.New("the other attempt was answered first")

// A Copy is one of two.
type Copy struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed once it is over, or its answer has begun

	// Set by then:
	Resp     *wire.Answer
	Err      error
	Answered bool  // an answer with status 200 has begun
	Broken   error // why one has not begun; nil: it is empty
}

// Start makes an attempt by send, which may outlive the call that it is made for.
func Start(ctx context.Context, send func(context.Context) (*wire.Answer, error)) *Copy {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Copy{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.Resp, a.Err = send(ctx) //nolint:bodyclose // whoever gets the answer closes it
		if a.Err == nil && a.Resp.Status == http.StatusOK {
			// The head alone says nothing: a server that streams sends it at once, whatever its tool does.
			first, err := a.Resp.Peek(1)
			a.Answered, a.Broken = len(first) > 0, err
		}
	}()
	return a
}

// Wait waits until the attempt is over, or its answer has begun.
func (a *Copy) Wait() { <-a.done }

// Within is Wait with a limit. It reports whether the attempt was over, or its answer had begun, in time.
func (a *Copy) Within(most time.Duration) bool { return pause.Until(a.done, most) }

// Outruns waits for the first of two attempts, and reports whether it is a.
func (a *Copy) Outruns(other *Copy) bool {
	select {
	case <-a.done:
		return true
	case <-other.done:
		return false
	}
}

// Cancel ends an attempt that may still be running.
func (a *Copy) Cancel() { a.cancel(ErrOutrun) }

// Drop waits for an attempt whose answer is not needed, and ends it.
func (a *Copy) Drop() {
	a.Wait()
	if a.Resp != nil {
		_ = a.Resp.Close()
	}
	a.Cancel()
}
