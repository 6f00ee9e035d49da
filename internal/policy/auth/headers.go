package auth

import (
	"crypto/subtle"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
)

// Headers verifies callers by a key in a header of their own and, if ID is not "", by the name of the key in
// another.
type Headers struct {
	*Keys

	ID, Key string // canonical names
}

var _ authn.Authenticator = (*Headers)(nil)

// Authenticate implements [authn.Authenticator].
func (h *Headers) Authenticate(r *http.Request) (authn.Identity, error) {
	names, id := []string{h.Key}, ""
	if h.ID != "" {
		var err error
		if id, err = single(r.Header, h.ID); err != nil {
			return authn.Identity{}, err
		}
		names = []string{h.ID, h.Key}
	}
	text, err := single(r.Header, h.Key)
	if err != nil {
		return authn.Identity{}, err
	}
	key, err := h.find(r.Context(), text)
	if err != nil {
		return authn.Identity{}, err
	}
	if h.ID != "" && subtle.ConstantTimeCompare([]byte(id), []byte(key.Name)) != 1 {
		return authn.Identity{}, invalid(recourse.Unauthenticated().WithMessage("The credentials in %s and %s are not valid.", h.ID, h.Key))
	}
	return h.identity(key, MethodHeaders, names...), nil
}
