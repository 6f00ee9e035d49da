// Package auth finds out who calls: by an API key, a JWT, a pair of headers, or by the address alone.
//
// Each way is an [Authenticator], a file each; [AnyOf] joins several. What is compared with a secret is compared in constant
// time, and no secret is kept, logged or part of an error: keys are known by their SHA-256 only.
package auth

import (
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

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
	Name    string // unique within Access: of a key, a token's subject, a developer's id
	Org     string // "": none
	Roles   []string
	Scopes  []string  // of a token
	Expires time.Time // of the credential; zero: never
}

// Known reports whether a caller was verified at all.
func (i *Identity) Known() bool { return i.Method != "" }

// An Authenticator finds out who calls. It is safe for concurrent use.
type Authenticator interface {
	Authenticate(r *http.Request) (Verified, *Refusal)
}

// Verified is a caller with the headers that proved who it is.
type Verified struct {
	Identity

	Headers []string // canonical names
}

// A Refusal is why nobody was verified.
type Refusal struct {
	*recourse.Error

	// At is [contract.AtCredentialsMissing], [contract.AtCredentialsInvalid], or [contract.AtSession] where the credentials
	// are not what is at fault.
	At contract.At
	// Scopes are those that a token needs, if it lacks one.
	Scopes []string
	// Elsewhere says that another authenticator may know the credentials, or other ones in the request.
	Elsewhere bool
}

func missing(format string, args ...any) *Refusal {
	return &Refusal{Error: recourse.Unauthenticated().WithMessage(format, args...), At: contract.AtCredentialsMissing, Elsewhere: true}
}

func invalid(e *recourse.Error) *Refusal {
	return &Refusal{Error: e, At: contract.AtCredentialsInvalid}
}

// unknown is the refusal of credentials that another authenticator may know.
func unknown(e *recourse.Error) *Refusal {
	return &Refusal{Error: e, At: contract.AtCredentialsInvalid, Elsewhere: true}
}

// AnyOf asks authenticators in order. The first one that knows the credentials decides.
type AnyOf []Authenticator

var _ Authenticator = AnyOf(nil)

// Authenticate implements [Authenticator]. If none of them knows the credentials, the refusal that tells most is returned.
func (all AnyOf) Authenticate(r *http.Request) (Verified, *Refusal) {
	var told *Refusal
	for _, a := range all {
		who, no := a.Authenticate(r)
		if no == nil || !no.Elsewhere {
			return who, no
		}
		if told == nil || tells(no.At) > tells(told.At) {
			told = no
		}
	}
	return Verified{}, told
}

// tells ranks places by how much they tell the caller.
func tells(at contract.At) int {
	switch at {
	case contract.AtCredentialsInvalid:
		return 2
	case contract.AtCredentialsMissing:
		return 1
	default:
		return 0
	}
}
