package recovery

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

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
	hooks     Hooks
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

// WithNature says what a tool does to the world. It overrides the contract and the tool's annotations.
func WithNature(tool string, n retry.Nature) Option {
	return func(o *options) { o.natures[tool] = n }
}

// WithTools has the server's tools, as tools/list or an SDK lists them: the Go SDK's []*mcp.Tool, mcp-go's []mcp.Tool, a
// [][contract.Tool], or anything else with the protocol's JSON form. The client then goes by the annotations of tools about which
// the contract says nothing, unless it is given [WithUntrustedServer]; asks for failures in machine-readable form if a tool has an
// argument for it ([contract.Contract.FormatArgument]); and ignores advice that names any other tool.
func WithTools[T any](tools []T) Option {
	list, own := any(tools).([]contract.Tool)
	if !own {
		raw, err := json.Marshal(tools)
		if err != nil || json.Unmarshal(raw, &list) != nil {
			return func(*options) {} // they are not known
		}
	}
	return func(o *options) {
		o.tools = make(map[string]contract.Tool, len(list))
		for _, t := range list {
			o.tools[t.Name] = t
		}
	}
}

// WithUntrustedServer makes the client ignore what the server says about whether a call took effect. It is for servers that do not
// keep their contract: a failed write is then verified whatever the server says, with the contract's own call, unless the protocol
// itself refused it. Of refused writes, only those with the HTTP status 429 are repeated, or with 401 or 403 after [Hooks].Connect.
// Questions about writes are returned unanswered.
func WithUntrustedServer() Option { return func(o *options) { o.untrusted = true } }

// WithHooks sets functions that take part in calls. If it is given more than once, a later hook replaces the earlier one of its name.
func WithHooks(h Hooks) Option { return func(o *options) { o.hooks.add(h) } }

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
