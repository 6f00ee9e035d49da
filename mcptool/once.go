package mcptool

import (
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Once says which calls of a tool are the same, so that one that is repeated does not happen again. The zero value is useful. A call
// that only reads is not affected.
type Once struct {
	// Key are JSON Pointers (RFC 6901) into the arguments, such as /reference: calls with the same values there are the same. With
	// [OnceRequired] alone, those with the same key of the client's own are, and a call without one is refused. The default is the
	// client's own key, or else all arguments. A call that lacks one of Key goes by all arguments.
	Key []string
	// Within is how long a call is remembered. The default is 24 hours.
	Within time.Duration
	// Delivered says what a repetition without a key gets once the first call is answered: the same answer with [OnceReplay], the
	// default, or a call of its own with [OnceAgain]. A server cannot see whether an answer has arrived: with OnceAgain, the
	// repetition of one that was lost on its way happens again, unless its client had already cancelled it.
	Delivered string
}

// The words of Once.
const (
	OnceRequired = "required"
	OnceReplay   = "replay"
	OnceAgain    = "again"
)

// WithOnce makes a call happen once, whoever repeats it. A repetition gets the answer of the first call, with "replayed" in its _meta,
// and waits for it if need be; it is refused as a conflict if it has the same key and other arguments. If the first call failed
// without an effect, the repetition is made. If it is not known whether it had one (after a panic, a timeout, an error that leaves
// that open), the repetition is told so, and nothing is done until Within is over. A client that leaves does not end a call that
// has begun: the handler's context only ends with its timeout.
//
// A client sends a key of its own in _meta["io.github.recoursehq/idempotencyKey"] or the header Idempotency-Key. Callers are told apart
// by what a [Guard] or the SDK knows of them, or else by their credentials.
//
// Without [WithOnceStore], calls are remembered in memory, 100,000 at most; any more are refused as unavailable. Of answers, 64 MiB
// are kept, and none above 256 KiB: instead of another one, a repetition is told that the call has been made. Nothing outlives the
// process, and replicas know nothing of each other.
//
// WithOnce panics if o is not valid.
func WithOnce(o Once) ToolOption {
	required := slices.Equal(o.Key, []string{OnceRequired})
	if required {
		o.Key = nil
	}
	switch {
	case slices.ContainsFunc(o.Key, func(pointer string) bool { return !strings.HasPrefix(pointer, "/") }):
		panic("mcptool: Once.Key has to consist of JSON Pointers, such as /reference, or of OnceRequired")
	case o.Within < 0:
		panic("mcptool: Once.Within is negative")
	case o.Delivered != "" && o.Delivered != OnceReplay && o.Delivered != OnceAgain:
		panic("mcptool: Once.Delivered is neither OnceReplay nor OnceAgain")
	case o.Within == 0:
		o.Within = 24 * time.Hour
	}
	return forTool{handler.WithOnce(&handler.Once{
		Key: slices.Clone(o.Key), Required: required, Within: o.Within, Again: o.Delivered == OnceAgain,
	})}
}

// An OnceStore remembers the calls of a server that are made [Once], in a database. Package oncestore opens one; there are no others.
type OnceStore interface {
	// Close closes the store. Close it after the server has ended: a call that is under way then becomes unknown.
	Close() error
}

// WithOnceStore remembers calls that are made [Once] in store, which outlives the process, and which replicas share. A call is
// written there before the handler runs, and after it; one that cannot be written is refused as unavailable, and not made. If a
// process dies in between, nobody knows what became of the call: repetitions are told so until Within is over, or until an operator
// says what did, with recourse once settle. It panics if store does not come from package oncestore.
func WithOnceStore(store OnceStore) Option {
	calls, ok := store.(*handler.Calls)
	if !ok {
		panic("mcptool: the store does not come from oncestore.Open")
	}
	return forServer{handler.WithCalls(calls)}
}
