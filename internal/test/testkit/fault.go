package testkit

import (
	"net/http"
	"slices"
	"time"
)

// A Fault is what goes wrong with one message. The zero Fault means that the server behaves.
type Fault struct {
	// Name is unique among those of package faults.
	Name string
	// Runs says that a tool runs before the fault occurs, so that a write may have happened. If it is false
	// the server has refused the call.
	Runs bool
	// Happen answers the message, or does not; nil means that the server behaves.
	Happen func(e *Exchange)

	headers []func(http.Header)
}

// apply applies the fault to an exchange.
func (f Fault) apply(e *Exchange) {
	for _, set := range f.headers {
		set(e.w.Header())
	}
	if f.Happen == nil {
		e.behave()
		return
	}
	f.Happen(e)
}

// Named returns the fault under another name.
func (f Fault) Named(name string) Fault {
	f.Name = name
	return f
}

// Running returns the fault with Runs set.
func (f Fault) Running(runs bool) Fault {
	f.Runs = runs
	return f
}

// Late returns the fault delayed by that time; it does not occur if the client goes or cancels before.
func (f Fault) Late(wait time.Duration) Fault {
	now := f
	f.headers = nil
	f.Happen = func(e *Exchange) {
		if Pause(e.Context(), wait) {
			now.apply(e)
		}
	}
	return f
}

// With returns the fault with one more header. Faults that write below net/http, such as resets, send none.
func (f Fault) With(name, value string) Fault {
	return f.withHeader(func(h http.Header) { h.Set(name, value) })
}

// RetryIn returns the fault with a Retry-After header that is an HTTP date this far from the time of the
// answer.
func (f Fault) RetryIn(wait time.Duration) Fault {
	return f.withHeader(func(h http.Header) {
		h.Set("Retry-After", time.Now().Add(wait).UTC().Format(http.TimeFormat))
	})
}

func (f Fault) withHeader(set func(http.Header)) Fault {
	f.headers = append(slices.Clip(f.headers), set)
	return f
}
