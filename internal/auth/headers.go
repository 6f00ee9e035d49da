package auth

import (
	"crypto/subtle"
	"net/http"

	"github.com/recoursehq/recourse"
)

// Headers verifies callers by a key in a header of its own and, if ID is not "", by the name of the key in another.
type Headers struct {
	*Keys

	ID, Key string // canonical names
}

var _ Authenticator = (*Headers)(nil)

// Authenticate implements [Authenticator].
func (h *Headers) Authenticate(r *http.Request) (Verified, *Refusal) {
	names, id := []string{h.Key}, ""
	if h.ID != "" {
		var no *Refusal
		if id, no = single(r.Header, h.ID); no != nil {
			return Verified{}, no
		}
		names = []string{h.ID, h.Key}
	}
	text, no := single(r.Header, h.Key)
	if no != nil {
		return Verified{}, no
	}
	key, no := h.find(r.Context(), text)
	if no != nil {
		return Verified{}, no
	}
	if h.ID != "" && subtle.ConstantTimeCompare([]byte(id), []byte(key.Name)) != 1 {
		return Verified{}, invalid(recourse.Unauthenticated().WithMessage("The credentials in %s and %s are not valid.", h.ID, h.Key))
	}
	return Verified{Identity: h.identity(key, MethodHeaders), Headers: names}, nil
}
