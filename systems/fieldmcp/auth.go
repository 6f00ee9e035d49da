package fieldmcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
)

// organisations are the organisations with an API key.
var organisations = []string{"willow", "lapsed", "revoked", "narrow", "new", suspended}

// suspended is an organisation without access.
const suspended = "suspended"

// APIKey returns the API key of an organisation: willow, lapsed, revoked, narrow, new or suspended. Keys of a
// real system are random; these are fixed.
func APIKey(organisation string) string {
	sum := sha256.Sum256([]byte("demonstration key of " + organisation))
	return keyPrefix + hex.EncodeToString(sum[:16])
}

const keyPrefix = "field_live_"

var keyForm = regexp.MustCompile(`^field_live_[0-9a-f]{32}$`)

// authenticator identifies organisations by their credentials.
type authenticator struct {
	keys   map[[sha256.Size]byte]string // organisations by the hash of their keys
	tokens *tokenVerifier               // nil: tokens are not accepted
}

var _ authn.Authenticator = (*authenticator)(nil)

func newAuthenticator(identity *Identity, now func() time.Time) *authenticator {
	a := &authenticator{keys: map[[sha256.Size]byte]string{}}
	for _, organisation := range organisations {
		a.keys[sha256.Sum256([]byte(APIKey(organisation)))] = organisation
	}
	if identity != nil {
		a.tokens = newTokenVerifier(*identity, now)
	}
	return a
}

// Authenticate returns the organisation with these credentials.
func (a *authenticator) Authenticate(r *http.Request) (who authn.Identity, err error) {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return who, recourse.Unauthenticated()
	}
	organisation, err := a.organisation(r.Context(), strings.TrimSpace(credential))
	if err != nil {
		return who, err
	}
	if organisation == suspended {
		return who, recourse.PermissionDenied()
	}
	return authn.Identity{Name: organisation, Org: organisation}, nil
}

func (a *authenticator) organisation(ctx context.Context, credential string) (string, error) {
	if strings.HasPrefix(credential, keyPrefix) {
		// The key is found by its hash, not compared: the time this takes reveals nothing about the keys.
		organisation, ok := a.keys[sha256.Sum256([]byte(credential))]
		if !ok || !keyForm.MatchString(credential) {
			return "", recourse.Unauthenticated().CausedBy(errors.New("no such API key"))
		}
		return organisation, nil
	}
	if a.tokens == nil {
		return "", recourse.Unauthenticated().CausedBy(errors.New("no API key, and no tokens are accepted"))
	}
	return a.tokens.organisation(ctx, credential)
}

func (a *authenticator) close() {
	if a.tokens != nil {
		a.tokens.http.CloseIdleConnections()
	}
}
