package client

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/recovery"
)

// open opens a session with the server, and recovers like a call if that fails.
func (c *CallCommand) open(
	ctx context.Context, env *term.Environment, command term.ServerCommand, rules *contract.Contract,
) (*liveSession, error) {
	connect := func(ctx context.Context) (*liveSession, error) { return c.connect(ctx, env, command) }
	_, err := c.headers()
	if err != nil || !c.Recover || len(command) > 0 || c.check(command) != nil {
		// No other attempt would help. A program says why it does not start.
		return connect(ctx)
	}
	rules, options := c.rules(env, rules)
	return recovery.Connect(ctx, rules, connect, options...)
}

// rules returns the contract that is followed, and how.
func (c *CallCommand) rules(env *term.Environment, rules *contract.Contract) (*contract.Contract, []recovery.Option) {
	if rules == nil {
		rules = contract.MustBuiltin(contract.Default)
	}
	p := &progress{out: env.Stderr, bar: term.IsTerminal(env.Stderr), json: c.JSON}
	return rules, []recovery.Option{
		recovery.WithTimeout(c.timeout()), recovery.WithHooks(recovery.Hooks{Observe: p.step}), recovery.WithClock(p),
		recovery.WithLogger(slog.New(slog.DiscardHandler)),
	}
}

// recover calls the tool with package recovery, and reports each wait.
func (c *CallCommand) recover(
	ctx context.Context, env *term.Environment, session *liveSession, rules *contract.Contract,
	tools []*mcp.Tool, params *mcp.CallToolParams,
) (*mcp.CallToolResult, error) {
	rules, options := c.rules(env, rules)
	if tools != nil {
		options = append(options, recovery.WithTools(tools))
	}
	return recovery.New(session, rules, options...).CallTool(ctx, params)
}

// progress shows a person, or with json a program, what is done about a call. It is the clock for the
// call.
type progress struct {
	out  io.Writer
	bar  bool
	json bool
}

// step shows a step.
func (p *progress) step(_ context.Context, s recovery.Step) {
	if p.json {
		_ = term.PrintJSON(p.out, s)
		return
	}
	switch s.Action {
	case recovery.ActionWait:
		term.Printf(p.out, "recourse: waiting %s before the next call: %s\n", recourse.FormatWait(s.Took), s.Reason)
	case recovery.ActionDecide:
		if s.Repeat {
			term.Printf(p.out, "recourse: attempt %d failed: %s\n", s.Attempt, s.Failure.Sentence())
		} else {
			term.Printf(p.out, "recourse: after attempt %d: %s\n", s.Attempt, s.Reason)
		}
	case recovery.ActionVerify:
		term.Printf(p.out, "recourse: asked %s whether the call took effect\n", s.Tool)
	case recovery.ActionPoll:
		term.Printf(p.out, "recourse: asked %s how the work is going\n", s.Tool)
	case recovery.ActionCall, recovery.ActionConnect, recovery.ActionAnswer:
	}
}

// Now implements [recovery.Clock].
func (*progress) Now() time.Time { return time.Now() }

// Sleep implements [recovery.Clock]. On a terminal it draws how much of the wait is over.
func (p *progress) Sleep(ctx context.Context, d time.Duration) error {
	const frame = 100 * time.Millisecond
	timer := time.NewTimer(d)
	defer timer.Stop()
	var frames <-chan time.Time
	if p.bar && !p.json {
		ticker := time.NewTicker(frame)
		defer ticker.Stop()
		frames = ticker.C
		defer p.draw("") // remove the bar after the wait
	}
	for ends := time.Now().Add(d); ; {
		select {
		case <-timer.C:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-frames:
			p.draw(waitBar(d, time.Until(ends)))
		}
	}
}

// draw replaces the line at the cursor with a text.
func (p *progress) draw(text string) {
	_, _ = io.WriteString(p.out, "\r\x1b[K"+text) // errors do not matter if the terminal is gone
}

// waitBar draws the progress of a wait.
func waitBar(whole, left time.Duration) string {
	const width = 30
	done := min(max(width-int(width*left/max(whole, 1)), 0), width)
	return "[" + strings.Repeat("#", done) + strings.Repeat("-", width-done) + "] " + recourse.FormatWait(max(left, 0).Round(time.Second))
}
