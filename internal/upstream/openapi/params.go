package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The places of parameters.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
	inBody   = "body"
)

// The styles of parameters.
const (
	styleSimple         = "simple"
	styleForm           = "form"
	styleSpaceDelimited = "spaceDelimited"
	stylePipeDelimited  = "pipeDelimited"
	styleDeepObject     = "deepObject"
)

// A param is a value in a request that comes from an argument.
type param struct {
	arg      string // name of the argument
	name     string // as the provider calls it
	in       string
	style    string
	explode  bool
	reserved bool // characters that are reserved in URLs are not escaped
	asJSON   bool // it is written as JSON
	required bool
}

// idempotencyKey is the header by which a provider recognises a repeated request.
const idempotencyKey = "Idempotency-Key"

// ownHeaders are headers that a description must not use as parameters, or that the connection sets.
var ownHeaders = words("accept authorization connection content-encoding content-length content-type cookie expect host " +
	"keep-alive proxy-authorization te trailer transfer-encoding upgrade")

// rawParam is a parameter in the description.
type rawParam struct {
	Name          string                `json:"name"`
	In            string                `json:"in"`
	Description   string                `json:"description"`
	Required      bool                  `json:"required"`
	Style         string                `json:"style"`
	Explode       *bool                 `json:"explode"`
	AllowReserved bool                  `json:"allowReserved"`
	Schema        json.Value            `json:"schema"`
	Content       map[string]json.Value `json:"content"`
}

// params returns the parameters of an operation; those of its path that it does not override come
// first.
func (d *document) params(o *operation) ([]rawParam, error) {
	var list []rawParam
	for i, raw := range slices.Concat(o.shared, o.Parameters) {
		raw, err := d.follow(raw, "parameters")
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		var p rawParam
		if raw.Kind() != '{' {
			return nil, fmt.Errorf("parameter %d must be a mapping", i+1)
		}
		if err := unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		if p.Name == "" || !slices.Contains([]string{inPath, inQuery, inHeader, inCookie}, p.In) {
			return nil, fmt.Errorf("parameter %d needs a `name` and a place: path, query, header or cookie", i+1)
		}
		same := func(other rawParam) bool { return other.Name == p.Name && other.In == p.In }
		if at := slices.IndexFunc(list, same); at >= 0 && i >= len(o.shared) {
			list[at] = p
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

// bind returns how a parameter is written, and its schema.
func (p *rawParam) bind() (*param, json.Value, error) {
	to := &param{name: p.Name, in: p.In, required: p.Required || p.In == inPath, reserved: p.AllowReserved}
	to.style = cmp.Or(p.Style, map[string]string{inPath: styleSimple, inHeader: styleSimple}[p.In], styleForm)
	to.explode = to.style == styleForm || to.style == styleDeepObject
	if p.Explode != nil {
		to.explode = *p.Explode
	}
	schema := p.Schema
	if len(p.Content) > 0 {
		if len(p.Content) > 1 {
			return nil, nil, errors.New("it has more than one kind of `content`")
		}
		for media, content := range p.Content {
			if !isJSONType(media) {
				return nil, nil, fmt.Errorf("its content %q is not JSON", clip(media, maxTitle))
			}
			to.asJSON, schema = true, json.Lookup(content, "/schema")
		}
	}
	allowed := []string{styleSimple}
	switch p.In {
	case inQuery:
		allowed = []string{styleForm, styleSpaceDelimited, stylePipeDelimited, styleDeepObject}
	case inCookie:
		allowed = []string{styleForm}
	}
	if !slices.Contains(allowed, to.style) {
		return nil, nil, fmt.Errorf("the style %q is not supported in a %s", clip(to.style, maxTitle), p.In)
	}
	if p.In == inHeader || p.In == inCookie {
		if !isToken(p.Name) {
			return nil, nil, fmt.Errorf("this is not the name of a %s", p.In)
		}
	}
	return to, schema, nil
}

// hides reports whether a parameter is hidden from the model: the entry or the connection sets it, or
// it is a credential.
func (b *builder) hides(p *rawParam) bool {
	if p.In == inHeader && (ownHeaders[strings.ToLower(p.Name)] || strings.HasPrefix(strings.ToLower(p.Name), "mcp-")) {
		return true
	}
	return b.set[key(p.In, p.Name)]
}

// key identifies a parameter of a request.
func key(in, name string) string {
	if in == inHeader {
		name = http.CanonicalHeaderKey(name)
	}
	return in + ":" + name
}

func isJSONType(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return media == "application/json" || strings.HasSuffix(media, "+json") || media == "*/*" || media == "application/*"
}

// isToken reports whether text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
