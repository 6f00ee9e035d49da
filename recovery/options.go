package recovery

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/retry"
)

// Option changes how a client recovers.
type Option func(*options)

type options struct {
	server    *Shared
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

// defaultTimeout is how long a call may take by default.
const defaultTimeout = 5 * time.Minute

// WithShared makes the client share budget, pace, circuits and known mistakes with all other clients of s. By default the
// client shares them with nobody.
func WithShared(s *Shared) Option { return func(o *options) { o.server = s } }

// WithTimeout bounds the time of a call with all its retries and waits; the default is 5 minutes. An earlier deadline of the
// call's context takes precedence.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithAttemptTimeout bounds the time of each attempt, so that one that hangs leaves time for the next. By default an attempt
// may take as long as the call or, if it could be repeated or verified, all but a quarter of that time, at most 15 seconds.
func WithAttemptTimeout(d time.Duration) Option { return func(o *options) { o.attempt = d } }

// WithNature says what a tool does to the world, if the contract does not.
func WithNature(tool string, n retry.Nature) Option {
	return func(o *options) { o.natures[tool] = n }
}

// WithTools lists the server's tools, as tools/list does. The client then asks for failures in machine-readable form if a
// tool has an argument for it ([contract.Contract.FormatArgument]), and ignores advice that names any other tool.
func WithTools(tools ...contract.Tool) Option {
	return func(o *options) {
		o.tools = make(map[string]contract.Tool, len(tools))
		for _, t := range tools {
			o.tools[t.Name] = t
		}
	}
}

// WithUntrustedServer makes the client ignore what the server says about whether a call took effect. It is for servers that do not
// keep their contract: a failed write is then verified whatever the server says, unless the protocol itself refused it.
func WithUntrustedServer() Option { return func(o *options) { o.untrusted = true } }

// WithConnect sets the function to call if an account must be connected, or its access renewed or extended. If it returns
// nil, the call is made once more. e says which account and which scopes.
func WithConnect(connect func(ctx context.Context, e *recourse.Error) error) Option {
	return func(o *options) { o.connect = connect }
}

// WithAnswer sets the function to call if the server asks a question. The call is made again, with the returned arguments
// added.
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

// A Verification is what a verify call found out about a write.
type Verification struct {
	Tool      string          // that writes
	Arguments json.RawMessage // of its call
	Failure   *recourse.Error // that it ended with
	Verify    recourse.Verify // the call that was made
	Result    json.RawMessage // its result, as in an answer to tools/call; nil where there is no such thing
}

// WithLanded sets the function that judges whether a write took effect, if the contract does not say how.
func WithLanded(landed func(ctx context.Context, v Verification) Verdict) Option {
	return func(o *options) { o.landed = landed }
}

// WithSucceeded sets the function to call with the items of a batch that were done, as soon as they are known: before the
// failed items are tried again. The call waits for it, at most until the call ends.
func WithSucceeded(succeeded func(ctx context.Context, items []recourse.Succeeded)) Option {
	return func(o *options) { o.succeeded = succeeded }
}

// WithObserver sets the function to call with every step, on the call's goroutine: before a wait begins, and after
// everything else has ended. The call waits for it; a panic is logged.
func WithObserver(observe func(ctx context.Context, s Step)) Option {
	return func(o *options) { o.observe = observe }
}

// WithLogger logs every step to log, at level debug. The default is slog.Default.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithRandom sets the source of the random part of waits: a function that returns numbers in [0, 1).
func WithRandom(random func() float64) Option { return func(o *options) { o.random = random } }

// A Clock tells the time and waits.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// Sleep waits for d. An error, such as that of ctx if it ends first, ends the call.
	Sleep(ctx context.Context, d time.Duration) error
}

// WithClock replaces the clock of package time, for tests and simulations.
func WithClock(c Clock) Option { return func(o *options) { o.clock = c } }

func newOptions(list []Option) *options {
	o := &options{timeout: defaultTimeout, natures: map[string]retry.Nature{}, log: slog.Default(), clock: realClock{}}
	for _, option := range list {
		option(o)
	}
	if o.server == nil {
		o.server = NewShared()
	}
	return o
}

// realClock is the clock of package time.
type realClock struct{}

// Now implements [Clock].
func (realClock) Now() time.Time { return time.Now() }

// Sleep implements [Clock].
func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	pause.For(ctx, d)
	return ctx.Err()
}
