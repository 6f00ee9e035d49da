// Package authn is how an MCP server finds out who is calling. The gateway and [mcptool.Guard] use the same interface, so
// the same authenticator works in both.
//
// [mcptool.Guard]: https://pkg.go.dev/github.com/recoursehq/recourse/mcptool#Guard
package authn

import (
	"net/http"
	"time"
)

// An Identity is a verified caller. The zero value is nobody. Name and Org are shown and logged: they must never be
// credentials.
type Identity struct {
	// Access names what verified the caller, if there are several ways: the same Name under another Access is somebody else.
	Access  string
	Method  string // of verification, such as "key" or "jwt"
	Name    string // unique within Access: of a key, a token's subject, a developer's id
	Org     string // "": none
	Roles   []string
	Scopes  []string  // of a token
	Users   []string  // whom the caller may be, by a token, where a path names the user; it means nothing elsewhere
	Expires time.Time // of the credential; zero: never
	Headers []string  // canonical names of those that held the credentials
}

// Known reports whether a caller was verified at all.
func (i *Identity) Known() bool { return i.Method != "" || i.Name != "" }

// An Authenticator verifies callers. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns who sent a request. It does not read the body. An error of recourse.ClassAuth means that the
	// credentials are missing or invalid (recourse.KindMissingScope: valid, but not sufficient), one of
	// recourse.ClassPermission that the caller is not allowed in, and any other that the credentials could not be checked.
	Authenticate(r *http.Request) (Identity, error)
}
