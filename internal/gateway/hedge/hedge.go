// Package hedge sends a request a second time if its answer does not begin in time. The first attempt to be
// answered counts.
package hedge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// ErrOutrun is why an attempt ends when the other one was answered first.
var ErrOutrun = errors.New("the other attempt was answered first")

// A Send sends the request once. It may outlive the call that it is made for.
type Send func(ctx context.Context) (*http.Response, error)

// An Attempt is one of two.
type Attempt struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed once it is over, or its answer has begun

	// Set by then:
	Resp     *http.Response
	Err      error
	Answered bool // an answer with status 200 has begun
}

// Start makes an attempt.
func Start(ctx context.Context, send Send) *Attempt {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		if a.Resp, a.Err = send(ctx); a.Err == nil { //nolint:bodyclose // by whoever gets the answer
			a.Answered = a.Resp.StatusCode == http.StatusOK && begins(a.Resp)
		}
	}()
	return a
}

// Wait waits until the attempt is over, or its answer has begun.
func (a *Attempt) Wait() { <-a.done }

// Within waits no longer than that, and reports whether it was long enough.
func (a *Attempt) Within(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-a.done:
		return true
	case <-timer.C:
		return false
	}
}

// Outruns waits for the first of two attempts, and reports whether it is a.
func (a *Attempt) Outruns(other *Attempt) bool {
	select {
	case <-a.done:
		return true
	case <-other.done:
		return false
	}
}

// Cancel ends an attempt that may still be running.
func (a *Attempt) Cancel() { a.cancel(ErrOutrun) }

// Drop waits for an attempt whose answer is not needed, and ends it.
func (a *Attempt) Drop() {
	a.Wait()
	if a.Resp != nil {
		_ = a.Resp.Body.Close()
	}
	a.Cancel()
}

// Broken returns why the answer of an attempt that is over, with status 200, did not begin, or nil if it was
// empty.
func (a *Attempt) Broken() error {
	if body, ok := a.Resp.Body.(*begun); ok && !errors.Is(body.err, io.EOF) {
		return body.err
	}
	return nil
}

// begins waits for the first byte of an answer, which whoever reads it still gets: a server that streams
// sends the head at once, whatever its tool does.
func begins(resp *http.Response) bool {
	var first [1]byte
	n, err := resp.Body.Read(first[:])
	for n == 0 && err == nil {
		n, err = resp.Body.Read(first[:])
	}
	resp.Body = &begun{ReadCloser: resp.Body, first: first[:n], err: err}
	return n > 0
}

// begun is an answer whose first byte, or an error, has been read.
type begun struct {
	io.ReadCloser

	first []byte
	err   error
}

// Read implements io.Reader.
func (b *begun) Read(p []byte) (int, error) {
	switch {
	case len(b.first) > 0 && len(p) > 0:
		n := copy(p, b.first)
		b.first = nil
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}
