package upstream

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
)

// HeaderUser tells a connection the user of a request whose contract names no header for that. It is never sent.
const HeaderUser = "Recourse-User"

// A UserRule says what a server is told of the user whom a request's path names. The zero value tells it nothing.
type UserRule struct {
	Header string // of the requests, which names the user; any but [HeaderUser] is sent on
	Place  string // what stands for the user in the server's URL, query and headers; "": nothing does
}

// Of returns the user of a request, and the headers to send: those of the request, which may be sent again, without [HeaderUser]. A
// request that names no user, where one has a place, is an error: the server would take it for somebody's.
func (u *UserRule) Of(header http.Header) (user string, sent http.Header, err error) {
	if u.Header == "" {
		return "", header, nil
	}
	user, sent = header.Get(u.Header), header
	if u.Header == HeaderUser {
		sent = header.Clone()
		delete(sent, HeaderUser)
	}
	if u.Place != "" && !door.IsUser(user) {
		return "", nil, recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
			CausedBy(errors.New("a request names no user, and the server's entry has a place for one"))
	}
	return user, sent, nil
}

// Text returns a text with the user in its place. A valid user needs no quoting in a header.
func (u *UserRule) Text(text, user string) string {
	if u.Place == "" {
		return text
	}
	return strings.ReplaceAll(text, u.Place, user)
}

// URL returns a URL with the user in its place, quoted as its path and its query need it.
func (u *UserRule) URL(text, user string) (*url.URL, error) {
	path, query, hasQuery := strings.Cut(text, "?")
	text = u.Text(path, url.PathEscape(user))
	if hasQuery {
		text += "?" + u.Text(query, url.QueryEscape(user))
	}
	return url.Parse(text)
}
