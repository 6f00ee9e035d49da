package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A Login is the sign-in of a person who has opened a link.
type Login struct {
	StateHash string
	Link      string // hash of the link
	Sealed    string // data for completing the sign-in
	Expires   time.Time
}

// maxLogins limits the sign-ins in progress for a link: the oldest are dropped.
const maxLogins = 20

// PutLogin stores a sign-in, and removes expired ones. It returns [ErrConflict] if one has that state
// already.
func (c *Connections) PutLogin(ctx context.Context, l *Login) error {
	_, err := c.s.writes.ExecContext(ctx, "DELETE FROM connection_logins WHERE expires < $1 OR link = $2 AND state_hash NOT IN "+
		"(SELECT state_hash FROM connection_logins WHERE link = $2 ORDER BY expires DESC LIMIT $3)",
		micros(time.Now()), l.Link, maxLogins-1)
	if err != nil {
		return fmt.Errorf("remove old sign-ins: %w", err)
	}
	return c.change(ctx, "INSERT INTO connection_logins (state_hash, link, sealed, expires) VALUES ($1, $2, $3, $4) "+
		"ON CONFLICT (state_hash) DO NOTHING", l.StateHash, l.Link, l.Sealed, micros(l.Expires))
}

// TakeLogin removes the sign-in with that state and returns it, or nil.
func (c *Connections) TakeLogin(ctx context.Context, stateHash string) (*Login, error) {
	l := &Login{StateHash: stateHash}
	var expires int64
	err := c.s.writes.QueryRowContext(ctx, "DELETE FROM connection_logins WHERE state_hash = $1 AND expires > $2 "+
		"RETURNING link, sealed, expires", stateHash, micros(time.Now())).Scan(&l.Link, &l.Sealed, &expires)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("take a sign-in: %w", err)
	}
	l.Expires = instant(expires)
	return l, nil
}
