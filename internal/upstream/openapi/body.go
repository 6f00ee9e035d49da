package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The forms of a body.
const (
	formJSON = "json"
	formForm = "form"
	formText = "text"
)

// A payload describes what is sent with a request.
type payload struct {
	media    string
	form     string
	arg      string            // the argument that is the body; "": the body is an object of the params in inBody
	encoding map[string]*param // for the members of a form
	required bool
}

// errUpload is the reason why an operation cannot be a tool.
var errUpload = errors.New("it takes an upload")

// readBody returns the body of an operation and its schema; nil if it has none.
func (d *document) readBody(o *operation) (*payload, json.Value, error) {
	if o.Body == nil {
		return nil, nil, nil
	}
	raw, err := d.follow(o.Body, "requestBodies")
	if err != nil {
		return nil, nil, err
	}
	var request struct {
		Required bool                  `json:"required"`
		Content  map[string]json.Value `json:"content"`
	}
	if err := unmarshal(raw, &request); err != nil {
		return nil, nil, err
	}
	if len(request.Content) == 0 {
		return nil, nil, nil
	}
	b := &payload{required: request.Required}
	for _, media := range slices.Sorted(maps.Keys(request.Content)) {
		form := ""
		switch name, _, _ := strings.Cut(strings.ToLower(media), ";"); {
		case isJSONType(name):
			form = formJSON
		case strings.TrimSpace(name) == "application/x-www-form-urlencoded":
			form = formForm
		case strings.TrimSpace(name) == "text/plain":
			form = formText
		}
		if form != "" && (b.form == "" || rank(media, form) < rank(b.media, b.form)) {
			b.media, b.form = media, form
		}
	}
	if b.form == "" {
		return nil, nil, fmt.Errorf("%w (%s), and a tool's arguments are JSON: files cannot be sent", errUpload,
			clip(strings.Join(slices.Sorted(maps.Keys(request.Content)), ", "), maxTitle))
	}
	content := request.Content[b.media]
	if strings.Contains(b.media, "*") {
		b.media = "application/json"
	}
	if b.form == formForm {
		if b.encoding, err = encodings(content); err != nil {
			return nil, nil, err
		}
	}
	return b, json.Lookup(content, "/schema"), nil
}

// rank orders the forms of a body by preference.
func rank(media, form string) int {
	switch {
	case media == "application/json":
		return 0
	case form == formJSON:
		return 1
	case form == formForm:
		return 2
	default:
		return 3
	}
}

// encodings returns how the members of a form are written, if the description says so.
func encodings(content json.Value) (map[string]*param, error) {
	var said struct {
		Encoding map[string]struct {
			Style         string `json:"style"`
			Explode       *bool  `json:"explode"`
			AllowReserved bool   `json:"allowReserved"`
		} `json:"encoding"`
	}
	if err := unmarshal(content, &said); err != nil {
		return nil, err
	}
	all := map[string]*param{}
	for name, e := range said.Encoding {
		raw := rawParam{Name: name, In: inQuery, Style: cmp.Or(e.Style, styleForm), Explode: e.Explode, AllowReserved: e.AllowReserved}
		p, _, err := raw.bind()
		if err != nil {
			return nil, fmt.Errorf("encoding of %s: %w", clip(name, maxTitle), err)
		}
		p.asJSON = e.Style == "" && e.Explode == nil
		all[name] = p
	}
	return all, nil
}

// flat are the keywords of an object schema whose members can be arguments beside the parameters.
var flat = words("type properties required title description example examples default nullable deprecated xml externalDocs " +
	"additionalProperties")

// members returns the members of a body that is a plain object with properties, so that they can be
// arguments of their own.
func (d *document) members(schema any, b *payload) (properties map[string]any, required []any, ok bool) {
	object := d.resolve(schema)
	if object == nil || b.form == formText {
		return nil, nil, false
	}
	for word := range object {
		if !flat[word] && !strings.HasPrefix(word, "x-") {
			return nil, nil, false
		}
	}
	if more, said := object["additionalProperties"]; said && more != false {
		return nil, nil, false
	}
	if kind, said := object[keyType]; said && kind != "object" || object["nullable"] == true {
		return nil, nil, false
	}
	properties, ok = object["properties"].(map[string]any)
	required, _ = object["required"].([]any)
	return properties, required, ok && len(properties) > 0 && (b.required || len(required) == 0)
}
