package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
)

// The states of a connection. If it does not exist, it has no row.
const (
	Connected       = "connected"
	ReconnectNeeded = "reconnect_needed"
	// Pending is the state of an account while a person has yet to enter a code. The connection has a state
	// of its own.
	Pending = "pending"
)

// Reasons why an account has to be connected again.
const (
	Revoked = "revoked" // the provider refuses the refresh token
	Expired = "expired" // and there is no refresh token, or it has expired too
	Lost    = "lost"    // a process ended between redeeming and storing
)

// A Vault keeps connections and links, as [store.Connections] does. It is safe for concurrent use, by any number of processes.
type Vault interface {
	Rows
	Links
}

// Rows are the connections.
type Rows interface {
	Get(ctx context.Context, provider, owner string) (*store.Connection, error)
	List(ctx context.Context) ([]*store.Connection, error)
	Put(ctx context.Context, c *store.Connection) error
	Swap(ctx context.Context, c *store.Connection) error
	Delete(ctx context.Context, provider, owner string) error
	Lease(ctx context.Context, c *store.Connection, lease string, ends time.Time) error
	Release(ctx context.Context, provider, owner, lease string) error
}

// Links are the links under which people connect accounts.
type Links interface {
	PutLink(ctx context.Context, l *store.Link) error
	Link(ctx context.Context, hash string) (*store.Link, error)
	BeginLink(ctx context.Context, hash, stateHash, sealed string) error
	EndLink(ctx context.Context, stateHash string) (*store.Link, error)
	Devices(ctx context.Context) ([]*store.Link, error)
	PutLogin(ctx context.Context, l *store.Login) error
	TakeLogin(ctx context.Context, stateHash string) (*store.Login, error)
}

var _ Vault = (*store.Connections)(nil)

func purpose(provider, owner string) []byte {
	return fmt.Appendf(nil, "connection %d %s %s", len(provider), provider, owner)
}

// putToken seals a token and stores it in a connection.
func putToken(c *store.Connection, t Token, by *seal.Sealer) {
	text, _ := json.Marshal(t)
	c.Sealed, c.KeyID = by.Seal(text, purpose(c.Provider, c.Owner)), by.KeyID()
	c.Scopes, c.Expires, c.Ends = t.Scopes, t.Expires, t.Ends
}

// A SealError says that a token cannot be unsealed.
type SealError struct {
	Provider string
	KeyID    string // of the key that it is sealed with
}

func (e *SealError) Error() string {
	return fmt.Sprintf("the connection to %s is sealed with the key %s, which is not among connection_keys", e.Provider, e.KeyID)
}

// tokenOf returns the token of a connection, or a [*SealError].
func tokenOf(c *store.Connection, by *seal.Sealer) (t Token, err error) {
	text, err := by.Open(c.Sealed, purpose(c.Provider, c.Owner))
	if err != nil || json.Unmarshal(text, &t) != nil {
		return t, &SealError{c.Provider, c.KeyID}
	}
	return t, nil
}

// Rekey seals the token of a connection with the newest key, and reports whether it was sealed with another. The error is
// [store.ErrConflict] if it has changed meanwhile.
func Rekey(ctx context.Context, s Vault, c *store.Connection, by *seal.Sealer) (changed bool, err error) {
	if c.Sealed == "" || c.KeyID == by.KeyID() {
		return false, nil
	}
	t, err := tokenOf(c, by)
	if err != nil {
		return false, err
	}
	putToken(c, t, by)
	return true, s.Swap(ctx, c)
}
