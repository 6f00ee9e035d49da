package recovery

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/retry"
)

// connecting stands for a tool in the steps of [Connect].
const connecting = "connect"

// Connect connects to a server whose contract is c, and does what that says if it fails: it waits, and tries again. Nothing is done by
// connecting, so that any failure that may pass is worth another attempt. connect is called for each attempt, and makes a session of
// its own each time. Its context ends with ctx, and that of an attempt which has failed with the attempt.
func Connect[S any](ctx context.Context, c *contract.Contract, connect func(ctx context.Context) (S, error), options ...Option) (S, error) {
	var session, none S
	open := func(attempt context.Context, _ string, _ json.RawMessage, _ string) (json.RawMessage, error) {
		lasting, end := context.WithCancel(ctx) // a session outlives its attempt
		keep := context.AfterFunc(attempt, end)
		var err error
		session, err = connect(context.WithValue(lasting, httpAnswerKey{}, attempt.Value(httpAnswerKey{})))
		if !keep() { // the attempt has ended first
			err = context.Cause(attempt)
		}
		if err != nil {
			end()
			return nil, err
		}
		return json.RawMessage(`{"content":[]}`), nil
	}
	g := newEngine(c, append(slices.Clip(options), WithNature(connecting, retry.Reads)))
	if _, err := g.call(ctx, open, connecting, nil); err != nil {
		return none, err
	}
	return session, nil
}
