// Package authn is how an MCP server finds out who calls. The gateway and [mcptool.Guard] ask the same interface, so that what
// verifies callers in front of one server verifies them in another.
//
// [mcptool.Guard]: https://pkg.go.dev/github.com/recoursehq/recourse/mcptool#Guard
package authn

import (
	"net/http"
	"time"
)

// An Identity is a caller who was verified. The zero value is nobody. Name and Org are shown and logged: they are never a
// credential.
type Identity struct {
	// Access names what verified the caller, where there are several: the same Name under another Access is somebody else.
	Access  string
	Method  string // of verification, such as "key" or "jwt"
	Name    string // unique within Access: of a key, a token's subject, a developer's id
	Org     string // "": none
	Roles   []string
	Scopes  []string  // of a token
	Expires time.Time // of the credential; zero: never
	Headers []string  // canonical names of those that held the credentials
}

// Known reports whether a caller was verified at all.
func (i *Identity) Known() bool { return i.Method != "" || i.Name != "" }

// An Authenticator verifies callers. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns who sends a request, whose body it does not read. An error of recourse.ClassAuth says that the
	// credentials are missing or not valid (recourse.KindMissingScope: that they are, and not enough), one of
	// recourse.ClassPermission that their bearer may not come in, any other that they could not be checked.
	Authenticate(r *http.Request) (Identity, error)
}
