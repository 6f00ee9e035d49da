// Package endpoint holds what the gateway and an author's guard both do where a request comes
// in: the user that a path names, and how a request is refused that does not come to a tool.
//
// Both find out who calls by an authn.Authenticator, if they have one. The gateway may also
// pass credentials and users on to a server that knows them: then it asks no more than that
// they are there and can be ones.
package endpoint

import (
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/contract"
)

// Status returns the HTTP status that says where a request was refused, or 0 where the place
// has none of its own.
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

// Missing returns the first of the headers with credentials that a request lacks, or "".
func Missing(header http.Header, names []string) string {
	for _, name := range names {
		if header.Get(name) == "" {
			return name
		}
	}
	return ""
}

// URL returns the URL of a request as its client knows it: under public, the base URL of the
// configuration, or as it was received where that is "".
func URL(r *http.Request, public string) string { return Base(r, public) + r.URL.RequestURI() }

// Base returns what stands before the path in that URL.
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

// Param writes a parameter of a WWW-Authenticate header (RFC 9110, section 11.2). What a quoted string cannot hold is left out.
func Param(name, value string) string {
	value = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value)
	return name + `="` + value + `"`
}
