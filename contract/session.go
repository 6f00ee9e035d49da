package contract

import (
	"regexp"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// SessionRule says what a request has to bring before any message in it is looked
// at. The checks come in the order of the places: [AtCredentialsMissing],
// [AtCredentialsInvalid], [AtUserMissing], [AtUserInvalid]. The zero value asks for
// nothing.
type SessionRule struct {
	// Path is the path of the endpoint, in the form of http.ServeMux, with a segment
	// in braces for the user; empty: the server's own choice.
	Path string
	// Credentials are the headers that hold a client's credentials. Each has to be
	// there.
	Credentials []string
	// UserHeader is the header in which the server behind is told the user of the
	// path. One that a client sends is never passed on. Empty: there is none.
	UserHeader string
}

// sessionPath is a path with at most one segment in braces.
var sessionPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*(/\{[a-z][a-z0-9_]*\})?(/[A-Za-z0-9._~-]+)*$`)

// headerName is a field name of HTTP (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (k *compiler) session(f *contractform.SessionFile) SessionRule {
	if f.Path != "" && !sessionPath.MatchString(f.Path) {
		k.mistakef(f.Node.Get("path"), "for example /mcp/{user_id}", "%q is no path with at most one place for the user", f.Path)
	}
	header := func(n *strictyaml.Node, name string) {
		if !headerName.MatchString(name) {
			k.mistakef(n, "for example X-Api-Key", "%q is no name of a header", name)
		}
	}
	for i, name := range f.Credentials {
		header(f.Node.Get("credentials").Item(i), name)
	}
	if f.User != "" {
		header(f.Node.Get("user"), f.User)
	}
	return SessionRule{Path: f.Path, Credentials: f.Credentials, UserHeader: f.User}
}
