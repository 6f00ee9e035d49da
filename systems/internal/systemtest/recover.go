package systemtest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// aWhile is longer than any wait of a test. No test actually waits.
const aWhile = 10_000 * time.Hour

// toolCall is a tools/call as package recovery passes it to a session.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// scripted is a session whose calls are made by a function. It only knows the contract: our own records are
// removed from its results.
type scripted struct {
	t        *testing.T
	contract *contract.Contract
	make     func(toolCall) Reply
	last     Reply
}

// CallTool implements [recovery.Session].
func (s *scripted) CallTool(_ context.Context, c toolCall) (json.RawMessage, error) {
	s.t.Helper()
	s.last = s.make(c)
	if s.last.Error != nil || s.last.Result == nil {
		return nil, s.last.Read(s.t, s.contract)
	}
	return s.last.bare(s.t), nil
}

// Recover calls a tool as package recovery does for a client that only knows c, and does not actually wait.
// It returns the result and the error that the client gets, and what was done.
func Recover(
	t *testing.T, c *contract.Contract, client Client, tool, arguments string, options ...recovery.Option,
) (json.RawMessage, *recovery.Report, error) {
	t.Helper()
	s := &scripted{t: t, contract: c, make: func(c toolCall) Reply { return client.Call(t, c.Name, string(c.Arguments)) }}
	report := new(recovery.Report)
	options = append([]recovery.Option{
		recovery.WithTimeout(aWhile), recovery.WithClock(NewClock()), recovery.WithLogger(Quiet()),
	}, options...)
	result, err := recovery.New(s, c, options...).
		CallTool(recovery.WithReport(t.Context(), report), toolCall{tool, json.RawMessage(arguments)})
	return result, report, err
}

// Follow calls a tool of that nature like Recover, and returns the last answer and the waits. random is the
// source of jitter, in [0, 1).
func Follow(t *testing.T, c *contract.Contract, nature retry.Nature, random float64, ask func() Reply) (last Reply, waits []time.Duration) {
	t.Helper()
	const tool = "tool"
	s := &scripted{t: t, contract: c, make: func(toolCall) Reply { return ask() }}
	asleep := NewClock()
	client := recovery.New(s, c, recovery.WithNature(tool, nature), recovery.WithRandom(func() float64 { return random }),
		recovery.WithTimeout(aWhile), recovery.WithLogger(Quiet()), recovery.WithClock(asleep))
	_, _ = client.CallTool(t.Context(), toolCall{Name: tool, Arguments: json.RawMessage("{}")}) // the last answer shows how it ended
	return s.last, asleep.Waits()
}
