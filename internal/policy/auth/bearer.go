package auth

import (
	"net/http"
	"strings"

	"github.com/recoursehq/recourse"
)

const authorization = "Authorization"

// Bearer returns the token of a request (RFC 6750, section 2.1).
func Bearer(header http.Header) (string, error) {
	token, err := single(header, authorization)
	if err != nil {
		return "", err
	}
	scheme, token, _ := strings.Cut(token, " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", unknown(recourse.Unauthenticated().WithMessage("The header Authorization must have the form: Bearer TOKEN."))
	}
	return token, nil
}

// single returns the value of a header with credentials. Two values are refused, since two readers could each
// use a different one.
func single(header http.Header, name string) (string, error) {
	switch values := header[name]; {
	case len(values) > 1:
		return "", invalid(recourse.Unauthenticated().WithMessage("The header %s occurs more than once.", name))
	case len(values) == 0, values[0] == "":
		return "", missing("The header %s is missing.", name)
	default:
		return values[0], nil
	}
}

// isJWT reports whether a token has the form of a JWT: three parts (RFC 7515, section 7.1).
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }
