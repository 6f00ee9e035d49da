package recovery

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a client recovers.
type Option func(*options)

type options struct {
	server    *Server
	timeout   time.Duration
	attempt   time.Duration
	untrusted bool
	natures   map[string]retry.Nature
	tools     map[string]contract.Tool // nil: not known
	connect   func(context.Context, *recourse.Error) error
	answer    func(context.Context, *recourse.NeedsInput) (map[string]any, error)
	landed    func(context.Context, Verification) Verdict
	succeeded func(context.Context, []recourse.Succeeded)
	observe   func(context.Context, Step)
	random    func() float64
	clock     Clock
	log       *slog.Logger
}

// defaultTimeout is how long a call may take where nobody says anything.
const defaultTimeout = 2 * time.Minute

// WithServer has the client share budget, pace, circuits and mistakes with all others of that server. Left out, the client
// is a server's only one.
func WithServer(s *Server) Option { return func(o *options) { o.server = s } }

// WithTimeout bounds the time of a call with all its repetitions and waits; left out it is 2 minutes. An earlier deadline
// of the call's context counts.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithAttemptTimeout bounds the time of each attempt, so that one that hangs leaves time for the next. Left out, an
// attempt may take as long as the call; where it could be repeated or verified, a quarter of that less, at most 15 seconds.
func WithAttemptTimeout(d time.Duration) Option { return func(o *options) { o.attempt = d } }

// WithNature says what a tool does to the world, where the contract does not say it.
func WithNature(tool string, n retry.Nature) Option {
	return func(o *options) { o.natures[tool] = n }
}

// WithTools tells of the tools that the server has, as tools/list does. The client then asks for the failures' machine-readable
// form where a tool has an argument for it ([contract.Contract.FormatArgument]), and advice that names
// another tool is not followed.
func WithTools(tools ...contract.Tool) Option {
	return func(o *options) {
		o.tools = make(map[string]contract.Tool, len(tools))
		for _, t := range tools {
			o.tools[t.Name] = t
		}
	}
}

// Untrusted says that the server's word is not believed on whether a call took effect. It is for servers that do not
// keep their contract: a write that has failed is then verified whatever the server says, unless it was refused
// by the protocol itself.
func Untrusted() Option { return func(o *options) { o.untrusted = true } }

// WithConnect has connect called when an account has to be connected, or its access renewed or extended. The call is made once
// more when it returns nil. The error says which account and which scopes.
func WithConnect(connect func(ctx context.Context, e *recourse.Error) error) Option {
	return func(o *options) { o.connect = connect }
}

// WithAnswer has answer called when the server asks for what is missing. The call is made again with the arguments that it
// returns beside its own.
func WithAnswer(answer func(ctx context.Context, question *recourse.NeedsInput) (map[string]any, error)) Option {
	return func(o *options) { o.answer = answer }
}

// A Verdict says what became of a write.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota
	Landed
	NotLanded
)

// A Verification is what there is to judge whether a write took effect.
type Verification struct {
	Tool      string          // that writes
	Arguments json.RawMessage // of its call
	Failure   *recourse.Error // that it ended with
	Verify    recourse.Verify // the call that was made
	Result    json.RawMessage // its result, as in an answer to tools/call; nil where there is no such thing
}

// WithLanded has landed called to judge whether a write took effect, where the contract does not say how.
func WithLanded(landed func(ctx context.Context, v Verification) Verdict) Option {
	return func(o *options) { o.landed = landed }
}

// WithSucceeded has succeeded called with the items of a batch that were done, as soon as they are known: before the
// items that failed are tried again. The call waits for it, but no longer than until its own end.
func WithSucceeded(succeeded func(ctx context.Context, items []recourse.Succeeded)) Option {
	return func(o *options) { o.succeeded = succeeded }
}

// WithObserver has observe called with every step, on the goroutine of the call. A wait is told before it begins, and
// everything else when it has ended. The call waits for it; when it panics, that is logged.
func WithObserver(observe func(ctx context.Context, s Step)) Option {
	return func(o *options) { o.observe = observe }
}

// WithLogger has every step logged, at level debug. Left out, it is slog.Default.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithRandom has the random part of waits taken from random, which returns numbers in [0, 1).
func WithRandom(random func() float64) Option { return func(o *options) { o.random = random } }

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d. Its error, such as that of ctx when it ends meanwhile, ends the call.
	Sleep(ctx context.Context, d time.Duration) error
}

// WithClock has the client go by another clock than that of package time, for tests and simulations.
func WithClock(c Clock) Option { return func(o *options) { o.clock = c } }

func newOptions(list []Option) *options {
	o := &options{timeout: defaultTimeout, natures: map[string]retry.Nature{}, log: slog.Default(), clock: realClock{}}
	for _, option := range list {
		option(o)
	}
	if o.server == nil {
		o.server = NewServer()
	}
	return o
}

// realClock is the clock of package time.
type realClock struct{}

// Now implements [Clock].
func (realClock) Now() time.Time { return time.Now() }

// Sleep implements [Clock].
func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
