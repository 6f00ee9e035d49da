package config

import (
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// ownHeaders belong to the connection (RFC 9110, section 7.6.1) or to the protocol: the
// gateway sets them itself.
var ownHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
	"Host", "Content-Length", "Content-Type", "Accept", "Last-Event-Id",
}

// headers checks the headers that are set and those that are forwarded, and makes their names canonical.
func (v *validator) headers(s *Server, node *strictyaml.Node) {
	set := v.setHeaders(s.Headers, node.Get("headers"))
	if s.Headers != nil {
		s.Headers = set
	}
	for i, key := range s.Forward {
		at := node.Get("forward").Item(i).Pos()
		v.headerName(at, key)
		name := http.CanonicalHeaderKey(key)
		if _, both := set[name]; both {
			v.doc.Reportf(at, "remove it here or in `headers`", "a header cannot be both set and forwarded")
		}
		if slices.Contains(s.Forward[:i], name) {
			v.doc.Reportf(at, "remove one of them", "this header is forwarded twice")
		}
		s.Forward[i] = name
	}
}

// setHeaders checks headers that are sent with every request, and returns them by their canonical names.
func (v *validator) setHeaders(headers map[string]string, node *strictyaml.Node) map[string]string {
	set := map[string]string{}
	for key, value := range node.All() {
		at, name := node.Key(key), http.CanonicalHeaderKey(key)
		v.headerName(at, key)
		if _, twice := set[name]; twice {
			v.doc.Reportf(at, "remove one of them", "this header is set twice")
		}
		v.headerValue(value.Pos(), headers[key])
		set[name] = headers[key]
	}
	return set
}

func (v *validator) headerName(at strictyaml.Pos, key string) {
	name := http.CanonicalHeaderKey(key)
	switch {
	case !isToken(key):
		v.doc.Reportf(at, "", "this is not a valid header name")
	case slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Mcp-"):
		v.doc.Reportf(at, "remove it", "the gateway sets this header itself")
	}
}

// headerValue checks a value against RFC 9110, section 5.5, and that it is not the remains of an empty
// variable.
func (v *validator) headerValue(at strictyaml.Pos, value string) {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	switch {
	case strings.ContainsFunc(value, control):
		v.doc.Reportf(at, "look for a line break in it", "a header's value must be one line without control characters")
	case value == "" || value != strings.Trim(value, " \t"):
		v.doc.Reportf(at, "if it comes from a variable, check that the variable is not empty",
			"a header's value must not be empty, or begin or end with a space")
	}
}

// isToken reports whether text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
