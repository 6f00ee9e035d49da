package connection

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Some providers do not register their clients: the id of a client is the URL of a document, in which they read who it is
// (draft-ietf-oauth-client-id-metadata-document). Each provider has one of its own, which names what it is asked for.

const clientPrefix = "client/"

// ClientPath returns the path of a provider's document, relative to the gateway's own URL.
func ClientPath(provider string) string {
	return PathPrefix + clientPrefix + url.PathEscape(provider) + ".json"
}

// clientDocument has the client metadata of RFC 7591, section 2.
type clientDocument struct {
	ID        string   `json:"client_id"`
	Name      string   `json:"client_name"`
	URI       string   `json:"client_uri"`
	Redirects []string `json:"redirect_uris"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Auth      string   `json:"token_endpoint_auth_method"`
	Scope     string   `json:"scope,omitempty"`
}

// client serves the document of a provider, to anybody.
func (p *Pages) client(w http.ResponseWriter, r *http.Request, file string) {
	base := p.URL(r)
	name := strings.TrimSuffix(file, ".json")
	provider, at := p.Providers[name], base+ClientPath(name)
	if provider == nil || provider.ClientID != at {
		p.show(w, usedUp())
		return
	}
	u, _ := url.Parse(base) // the configuration has been checked
	document := clientDocument{
		ID: at, Name: "Recourse at " + u.Hostname(), URI: base, Redirects: []string{base + callbackPath},
		Grants: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"}, Auth: "none",
		Scope: strings.Join(provider.Scopes, " "),
	}
	if provider.Flow == DeviceCode {
		document.Grants[0] = "urn:ietf:params:oauth:grant-type:device_code"
	}
	text, _ := json.Marshal(document)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=3600")
	_, _ = w.Write(text) // who has gone needs no document
}
