package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// An Action is what an operator has done. Actions are no calls: nothing counts them, and they stay for a year, whatever the journal keeps.
type Action struct {
	At       time.Time         `json:"at"`
	Operator string            `json:"operator,omitempty"` // "": nobody had to sign in
	From     string            `json:"from"`               // a client's address, or the command line of a machine
	What     string            `json:"what"`
	On       map[string]string `json:"on,omitempty"` // such as the server and the tool
}

// What operators do by a command, most of it also in the console.
const (
	ActionSettled      = "settled a call that is made once"
	ActionAccepted     = "accepted changes of a server's tools"
	ActionDisconnected = "disconnected an account"
	ActionRekeyed      = "sealed tokens again"
)

const (
	// actionsKept is how long actions are kept, and maxActions how many, the latest.
	actionsKept = 365 * 24 * time.Hour
	maxActions  = 100_000
)

// Note writes down what an operator has just done, and removes the actions that are too old.
func (j *Journal) Note(ctx context.Context, a *Action) error {
	on := make(map[string]string, len(a.On))
	for name, value := range a.On {
		on[name] = text(value, maxText)
	}
	target, err := json.Marshal(on)
	if err != nil {
		return fmt.Errorf("write an action: %w", err)
	}
	if _, err := j.s.writes.ExecContext(ctx, "INSERT INTO actions (seq, operator, origin, what, target) VALUES ($1, $2, $3, $4, $5)",
		j.Next(), text(a.Operator, maxName), text(a.From, maxName), text(a.What, maxName), string(target)); err != nil {
		return fmt.Errorf("write an action: %w", err)
	}
	if _, err := j.s.writes.ExecContext(ctx, "DELETE FROM actions WHERE seq < $1 OR seq <= (SELECT seq FROM actions ORDER BY seq DESC "+
		"LIMIT 1 OFFSET $2)", seqAt(time.Now().Add(-actionsKept)), int64(maxActions)); err != nil {
		return fmt.Errorf("remove old actions: %w", err)
	}
	return nil
}

// Actions returns what operators have done since then, the latest so many of it, oldest first.
func (j *Journal) Actions(ctx context.Context, since time.Time, most int) ([]*Action, error) {
	const columns = "seq, operator, origin, what, target"
	return all(ctx, j.s.reads, "read actions", func(row scanner) (*Action, error) {
		var a Action
		var seq int64
		var target string
		if err := row.Scan(&seq, &a.Operator, &a.From, &a.What, &target); err != nil {
			return nil, fmt.Errorf("read actions: %w", err)
		}
		a.At = instant(seq >> seqBits)
		if err := json.Unmarshal([]byte(target), &a.On); err != nil {
			return nil, fmt.Errorf("read actions: %w", err)
		}
		return &a, nil
	}, "SELECT "+columns+" FROM (SELECT "+columns+" FROM actions WHERE seq >= $1 ORDER BY seq DESC LIMIT $2) AS latest ORDER BY seq",
		seqAt(since), int64(most))
}
