// Package door holds what the gateway and an author's guard both do with an incoming request before it reaches a tool.
//
//	a request
//	  |  which user does its path name         UserPath, IsUser
//	  |  from which address does it come       Proxies
//	  |  has that address failed too often     Lockout
//	  |  which credentials does it lack        Missing
//	  |  what is wrong with its message        Refused, FirstID
//	  v
//	a stage of the gateway, or mcptool.Guard: lets it pass, or refuses it with the Status of that place
//
// Both identify callers by an authn.Authenticator, if they have one. The gateway may also pass credentials
// and users on to a server that knows them: then it only checks that they are present and well-formed.
package door

import (
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/contract"
)

// Status returns the HTTP status for the place where a request was refused, or 0 if the place has none of its
// own.
func Status(at contract.At) int {
	switch at {
	case contract.AtCredentialsMissing, contract.AtCredentialsInvalid:
		return http.StatusUnauthorized
	case contract.AtUserMissing, contract.AtUserInvalid:
		return http.StatusNotFound
	default:
		return 0
	}
}

// Missing returns the first of the credential headers that a request lacks, or "".
func Missing(header http.Header, names []string) string {
	for _, name := range names {
		if header.Get(name) == "" {
			return name
		}
	}
	return ""
}

// URL returns the URL of a request as its client knows it: under public, the base URL of the configuration,
// or as it was received if public is "".
func URL(r *http.Request, public string) string { return Base(r, public) + r.URL.RequestURI() }

// Base returns the part of that URL before the path.
func Base(r *http.Request, public string) string {
	if public != "" {
		return strings.TrimSuffix(public, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// Param writes a parameter of a WWW-Authenticate header (RFC 9110, section 11.2). Characters that a quoted
// string cannot contain are left out.
func Param(name, value string) string {
	value = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value)
	return name + `="` + value + `"`
}
