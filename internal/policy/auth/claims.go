package auth

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// claims are the content of a token (RFC 7519, section 4).
type claims struct {
	Issuer    string     `json:"iss"`
	Subject   string     `json:"sub"`
	Audience  json.Value `json:"aud"`
	Expires   *float64   `json:"exp"`
	NotBefore *float64   `json:"nbf"`
	IssuedAt  *float64   `json:"iat"`
	Scope     json.Value `json:"scope"` // RFC 8693, section 4.2
	Scp       json.Value `json:"scp"`   // the same at other issuers

	payload json.Value
}

// parseClaims reads the payload of a token. If it has two members of the same name it is refused, since two
// readers could each use a different one.
func parseClaims(payload []byte) (*claims, error) {
	c := &claims{payload: payload}
	if err := json.Unmarshal(payload, c); err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	return c, nil
}

// check checks the times and the audience of a token whose signature is right.
func (c *claims) check(rule *TokenRule, now time.Time) error {
	clock := now.UTC().Format(time.RFC3339)
	if c.Expires == nil {
		return forged(errors.New("the token never expires: it has no exp"))
	}
	expires, ok := instant(c.Expires)
	if !ok {
		return forged(errors.New("exp is not a time"))
	}
	if !now.Before(expires.Add(rule.Leeway)) {
		return invalid(recourse.New(recourse.KindTokenExpired, "").WithMessage("The token expired at %s; the gateway's clock says %s.",
			expires.Format(time.RFC3339), clock))
	}
	for _, at := range []*float64{c.NotBefore, c.IssuedAt} {
		from, ok := instant(at)
		switch ahead := from.Sub(now); {
		case at == nil:
		case !ok:
			return forged(errors.New("nbf or iat is not a time"))
		case ahead > rule.Leeway:
			return invalid(recourse.Unauthenticated().WithMessage("The token is not valid before %s, and the gateway's clock says %s: "+
				"the clocks of the gateway and the token's issuer differ by at least %s.",
				from.Format(time.RFC3339), clock, ahead.Round(time.Second)))
		}
	}
	audiences, ok := texts(c.Audience)
	if !ok || !slices.ContainsFunc(audiences, func(name string) bool { return slices.Contains(rule.Audiences, name) }) {
		e := recourse.Unauthenticated().WithMessage("The token is not for the audience %s.", strings.Join(rule.Audiences, " or "))
		return invalid(e.CausedBy(fmt.Errorf("the audience is %.200s", c.Audience)))
	}
	return nil
}

// identity returns the caller that the token names.
func (c *claims) identity(rule *TokenRule) (authn.Identity, error) {
	name, _ := c.text(rule.NameClaim)
	org, ok := c.text(rule.OrgClaim)
	if !isName(name) || !ok && c.claim(rule.OrgClaim) != nil || org != "" && !isName(org) {
		return authn.Identity{}, forged(fmt.Errorf("the claims %s and %s name no caller", rule.NameClaim, rule.OrgClaim))
	}
	roles, _ := texts(c.claim(rule.RolesClaim))
	users, ok := texts(c.claim(rule.UsersClaim))
	if one, isOne := c.text(rule.UsersClaim); isOne {
		users = []string{one}
	} else if !ok {
		users = nil // of a list with a mistake, nothing counts
	}
	expires, _ := instant(c.Expires)
	return authn.Identity{
		Access: rule.Access, Method: MethodJWT, Name: name, Org: org, Roles: roles, Users: users,
		Scopes: slices.Concat(words(c.Scope), words(c.Scp)), Expires: expires, Headers: []string{authorization},
	}, nil
}

// claim returns the claim of a name, or at a JSON Pointer.
func (c *claims) claim(name string) json.Value {
	if name == "" {
		return nil
	}
	at := json.Pointer(name)
	if !strings.HasPrefix(name, "/") {
		at = json.Pointer("").AppendToken(name)
	}
	return json.Lookup(c.payload, at)
}

// text returns a claim that is a text, or a number such as an organisation's id.
func (c *claims) text(name string) (text string, ok bool) {
	switch raw := c.claim(name); raw.Kind() {
	case '"':
		return text, json.Unmarshal(raw, &text) == nil
	case '0':
		return string(raw), true
	default:
		return "", false
	}
}

// texts returns a claim that is a text or a list of them.
func texts(raw json.Value) (list []string, ok bool) {
	switch raw.Kind() {
	case '"':
		var one string
		ok = json.Unmarshal(raw, &one) == nil
		return []string{one}, ok
	case '[':
		return list, json.Unmarshal(raw, &list) == nil
	default:
		return nil, false
	}
}

// words returns the words of a claim that is a text with spaces, or a list.
func words(raw json.Value) []string {
	list, _ := texts(raw)
	return strings.Fields(strings.Join(list, " "))
}

// maxName limits the names of callers, in bytes.
const maxName = 256

// isName reports whether a text can be used as a caller's name in logs and headers.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// instant returns a NumericDate, which is no more than a few thousand years away.
func instant(seconds *float64) (time.Time, bool) {
	const most = 1 << 38
	if seconds == nil || math.IsNaN(*seconds) || math.Abs(*seconds) > most {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(*seconds)
	return time.Unix(int64(whole), int64(fraction*float64(time.Second))).UTC(), true
}
