// Package auth identifies callers: by an API key, a JWT, a pair of headers, or only by the address.
//
//	a request
//	  |  AnyOf           tries them in order; the first that knows the credentials decides
//	  |
//	  +-- BearerKeys     a key in Authorization       Keys: those in the configuration, and a KeyStore
//	  +-- Headers        a name and a key             the same
//	  +-- JWT            a signed token               KeySet: the issuer's keys, fetched in the background
//	  +-- Loopback       the address alone
//	  v
//	authn.Identity, or a Refusal, which says where the failure belongs (contract.At)
//
// Each way is an [authn.Authenticator] in a file of its own. Secrets are compared in constant time, and no
// secret is kept, logged or part of an error: keys are only known by their SHA-256.
package auth

import (
	"errors"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
)

// The ways in which an identity was verified.
const (
	MethodKey      = "key"
	MethodJWT      = "jwt"
	MethodHeaders  = "headers"
	MethodLoopback = "loopback"
)

// A Refusal says why a caller was not verified. It is the error of every authenticator here.
type Refusal struct { //nolint:errname // it is the caller who is refused
	Record *recourse.Error
	// At is [contract.AtCredentialsMissing], [contract.AtCredentialsInvalid], or [contract.AtSession] if the
	// credentials are not at fault.
	At contract.At
	// Scopes are the scopes that the token needs, if it lacks one.
	Scopes []string
	// Elsewhere says that another authenticator may accept the credentials, or other credentials in the
	// request.
	Elsewhere bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Record.Error() }

// Unwrap returns the record.
func (r *Refusal) Unwrap() error { return r.Record }

// RefusalOf returns the reason in an error of an [authn.Authenticator].
func RefusalOf(err error) *Refusal {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	refusal := &Refusal{Record: recourse.From(err), At: contract.AtSession}
	switch e := refusal.Record; {
	case e.Kind == recourse.KindMissingScope:
		refusal.Scopes = e.MissingScopes
	case e.Kind.Class() == recourse.ClassAuth:
		refusal.At = contract.AtCredentialsInvalid
	}
	return refusal
}

func missing(format string, args ...any) error {
	e := recourse.Unauthenticated().WithMessage(format, args...)
	return &Refusal{Record: e, At: contract.AtCredentialsMissing, Elsewhere: true}
}

func invalid(e *recourse.Error) error { return &Refusal{Record: e, At: contract.AtCredentialsInvalid} }

// unknown is the refusal of credentials that another authenticator may accept.
func unknown(e *recourse.Error) error {
	return &Refusal{Record: e, At: contract.AtCredentialsInvalid, Elsewhere: true}
}

// AnyOf tries authenticators in order. The first one that knows the credentials decides.
type AnyOf []authn.Authenticator

var _ authn.Authenticator = AnyOf(nil)

// Authenticate implements [authn.Authenticator]. If none of them knows the credentials, it returns the most
// informative refusal.
func (all AnyOf) Authenticate(r *http.Request) (authn.Identity, error) {
	told := RefusalOf(missing("No credentials are accepted here."))
	for i, a := range all {
		who, err := a.Authenticate(r)
		if err == nil {
			return who, nil
		}
		refusal := RefusalOf(err)
		if !refusal.Elsewhere {
			return authn.Identity{}, refusal
		}
		if i == 0 || informativeness(refusal.At) > informativeness(told.At) {
			told = refusal
		}
	}
	return authn.Identity{}, told
}

// informativeness ranks places by how informative they are to the caller.
func informativeness(at contract.At) int {
	switch at {
	case contract.AtCredentialsInvalid:
		return 2
	case contract.AtCredentialsMissing:
		return 1
	default:
		return 0
	}
}
