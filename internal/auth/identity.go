// Package auth finds out who calls: by an API key, a JWT, a pair of headers, or by the address alone.
//
// Each way is an [authn.Authenticator], a file each; [AnyOf] joins several. What is compared with a secret is compared in constant
// time, and no secret is kept, logged or part of an error: keys are known by their SHA-256 only.
package auth

import (
	"errors"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
)

// How an identity was verified.
const (
	MethodKey      = "key"
	MethodJWT      = "jwt"
	MethodHeaders  = "headers"
	MethodLoopback = "loopback"
)

// A Refusal is why nobody was verified. It is the error of every authenticator here.
type Refusal struct { //nolint:errname // it is who calls that is refused
	Record *recourse.Error
	// At is [contract.AtCredentialsMissing], [contract.AtCredentialsInvalid], or [contract.AtSession] where the credentials
	// are not what is at fault.
	At contract.At
	// Scopes are those that a token needs, if it lacks one.
	Scopes []string
	// Elsewhere says that another authenticator may know the credentials, or other ones in the request.
	Elsewhere bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Record.Error() }

// Unwrap returns the record.
func (r *Refusal) Unwrap() error { return r.Record }

// RefusalOf returns what an [authn.Authenticator] has refused somebody for.
func RefusalOf(err error) *Refusal {
	if no, ok := errors.AsType[*Refusal](err); ok {
		return no
	}
	no := &Refusal{Record: recourse.From(err), At: contract.AtSession}
	switch e := no.Record; {
	case e.Kind == recourse.KindMissingScope:
		no.Scopes = e.MissingScopes
	case e.Kind.Class() == recourse.ClassAuth:
		no.At = contract.AtCredentialsInvalid
	}
	return no
}

func missing(format string, args ...any) error {
	e := recourse.Unauthenticated().WithMessage(format, args...)
	return &Refusal{Record: e, At: contract.AtCredentialsMissing, Elsewhere: true}
}

func invalid(e *recourse.Error) error { return &Refusal{Record: e, At: contract.AtCredentialsInvalid} }

// unknown is the refusal of credentials that another authenticator may know.
func unknown(e *recourse.Error) error {
	return &Refusal{Record: e, At: contract.AtCredentialsInvalid, Elsewhere: true}
}

// AnyOf asks authenticators in order. The first one that knows the credentials decides.
type AnyOf []authn.Authenticator

var _ authn.Authenticator = AnyOf(nil)

// Authenticate implements [authn.Authenticator]. If none of them knows the credentials, the refusal that tells most is returned.
func (all AnyOf) Authenticate(r *http.Request) (authn.Identity, error) {
	told := RefusalOf(missing("No credentials are accepted here."))
	for i, a := range all {
		who, err := a.Authenticate(r)
		if err == nil {
			return who, nil
		}
		no := RefusalOf(err)
		if !no.Elsewhere {
			return authn.Identity{}, no
		}
		if i == 0 || tells(no.At) > tells(told.At) {
			told = no
		}
	}
	return authn.Identity{}, told
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
