// Package auth finds out who calls: by an API key, a JWT, a pair of headers, or by the address alone.
package auth

import "time"

// A Method is how an identity was verified.
type Method string

// The methods.
const (
	MethodKey      Method = "key"
	MethodJWT      Method = "jwt"
	MethodHeaders  Method = "headers"
	MethodLoopback Method = "loopback"
)

// An Identity is a caller who was verified. The zero value is nobody. Name and Org may be shown and logged: they are never a
// credential.
type Identity struct {
	// Access is the name of the configuration's access entry that verified the caller. Names of two entries are not related:
	// the same Name under another Access is somebody else.
	Access  string
	Method  Method
	Name    string // unique within Access: a key's id, a token's subject, a developer's id
	Org     string // "": none
	Roles   []string
	Scopes  []string  // of a token
	Expires time.Time // of the credential; zero: never
}

// Known reports whether a caller was verified at all.
func (i *Identity) Known() bool { return i.Method != "" }
