package terra

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/mcptool"
)

// The headers of requests. The contract names them, too.
const (
	devIDHeader = "Dev-Id"
	keyHeader   = "X-Api-Key"
	userHeader  = "Provider-User-Id" // tells the MCP servers the user; the gateway sets it
)

// The credentials that the system accepts.
const (
	DevID  = "recourse-demo"
	APIKey = "demo-api-key"
)

// The users for the cases in the package's documentation.
const (
	Ada         = "8f7c2a10-5f1e-4f43-9d0c-000000000001"
	downUser    = "8f7c2a10-5f1e-4f43-9d0c-000000000002"
	lostUser    = "8f7c2a10-5f1e-4f43-9d0c-000000000003"
	legacyUser  = "8f7c2a10-5f1e-4f43-9d0c-000000000004"
	foreignUser = "8f7c2a10-5f1e-4f43-9d0c-000000000005"
	brokenUser  = "8f7c2a10-5f1e-4f43-9d0c-000000000006"
	silentUser  = "8f7c2a10-5f1e-4f43-9d0c-000000000007"
	brokerUser  = "8f7c2a10-5f1e-4f43-9d0c-000000000008"
	busyUser    = "8f7c2a10-5f1e-4f43-9d0c-00000000000a"
)

// DemoClient returns the client that may read Ada's data.
func DemoClient() *Developer { return &Developer{DevID: DevID, APIKey: APIKey, User: Ada} }

// developers holds the SHA-256 sums of API keys by dev-id.
type developers map[string][sha256.Size]byte

var _ authn.Authenticator = developers(nil)

func knownDevelopers() developers {
	return developers{DevID: sha256.Sum256([]byte(APIKey))}
}

// Authenticate returns the developer with these credentials.
func (d developers) Authenticate(r *http.Request) (authn.Identity, error) {
	id := r.Header.Get(devIDHeader)
	if !d.know(id, r.Header.Get(keyHeader)) {
		return authn.Identity{}, recourse.Unauthenticated()
	}
	return authn.Identity{Name: id}, nil
}

// know reports whether a key belongs to a developer.
func (d developers) know(id, key string) bool {
	want, known := d[id]
	got := sha256.Sum256([]byte(key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && known
}

// userEntry is the directory's entry of a user.
type userEntry struct {
	developer string
	region    string
	damaged   bool // the entry cannot be read
}

// directory holds the users by id.
type directory map[string]userEntry

var _ mcptool.Users = directory(nil)

func knownUsers() directory {
	return directory{
		Ada:         {developer: DevID, region: regionEU},
		downUser:    {developer: DevID, region: regionDown},
		lostUser:    {developer: DevID, region: "ap-south"}, // a region that is not configured
		legacyUser:  {developer: DevID, region: regionLegacy},
		foreignUser: {developer: "someone-else", region: regionEU},
		brokenUser:  {developer: DevID, damaged: true},
		silentUser:  {developer: DevID, region: regionSilent},
		brokerUser:  {developer: DevID, region: regionBroker},
		busyUser:    {developer: DevID, region: regionBusy},
	}
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// sameUser returns a user's id as the directory has it: UUIDs are the same in upper case (RFC 9562, section 4).
func sameUser(id string) string { return strings.ToLower(id) }

// Check returns nil if developer may read the data of user. It does not reveal whether a user whom the
// developer may not read exists.
func (d directory) Check(_ context.Context, developer, user string) error {
	user = sameUser(user)
	account, known := d[user]
	switch {
	case !uuid.MatchString(user):
		return recourse.NotFound("user", "").CausedBy(errors.New("the user id is not a UUID"))
	case account.damaged:
		return errors.New("the directory of users: checksum mismatch")
	case !known, account.developer != developer:
		return recourse.NotFound("user", user)
	}
	return nil
}
