package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Survey summarises a description, for a draft of a configuration.
type Survey struct {
	Title       string
	Base        string // URL of the API; "" if the description does not say
	Operations  []Surveyed
	Failures    []DeclaredStatus
	Credentials []Credential
}

// A Surveyed operation can be offered, or not.
type Surveyed struct {
	Method, Path, Tool, Summary string

	Tags  []string
	Reads bool
	Err   error // why it cannot be a tool
}

// A DeclaredStatus is a status that operations declare.
type DeclaredStatus struct {
	Status      int
	Description string   // the most frequent one
	Codes       []string // codes in the provider's answers
}

// A Credential is what a security scheme requires.
type Credential struct{ Type, In, Name string }

// Look summarises a description. source is where it comes from, or nil.
func Look(text []byte, source *url.URL) (*Survey, error) {
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	b := newBuilder(doc, Options{Source: source})
	s := &Survey{Title: doc.title, Credentials: doc.schemes(), Base: b.at}
	declared := map[int]map[string]int{}
	codes := map[int]map[string]bool{}
	for _, o := range doc.operations {
		t, err := b.tool(o, &Route{})
		found := Surveyed{Method: o.Method, Path: o.Path, Tool: o.tool, Summary: oneLine(o.Summary, maxTitle), Tags: o.Tags, Err: err}
		if err == nil {
			found.Reads = t.ReadOnly
		}
		s.Operations = append(s.Operations, found)
		doc.failures(o, declared, codes)
	}
	for _, status := range slices.Sorted(maps.Keys(declared)) {
		said := declared[status]
		most := slices.MaxFunc(slices.Sorted(maps.Keys(said)), func(a, b string) int { return cmp.Compare(said[a], said[b]) })
		s.Failures = append(s.Failures, DeclaredStatus{status, most, slices.Sorted(maps.Keys(codes[status]))})
	}
	return s, nil
}

// schemes returns the required credentials.
func (d *document) schemes() (list []Credential) {
	schemes := d.components["securitySchemes"]
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		var scheme struct {
			Type   string `json:"type"`
			In     string `json:"in"`
			Name   string `json:"name"`
			Scheme string `json:"scheme"`
		}
		raw, err := d.follow(schemes[name], "securitySchemes")
		if err != nil || unmarshal(raw, &scheme) != nil {
			continue
		}
		if scheme.Type == "http" {
			scheme.In, scheme.Name = scheme.Scheme, "Authorization"
		}
		list = append(list, Credential{scheme.Type, scheme.In, scheme.Name})
	}
	return list
}

// failures records the statuses from 400 on that an operation declares, with their descriptions, and
// the codes that their answers can contain.
func (d *document) failures(o *operation, declared map[int]map[string]int, codes map[int]map[string]bool) {
	var responses map[string]json.Value
	if unmarshal(o.Responses, &responses) != nil {
		return
	}
	for text, raw := range responses {
		status, err := strconv.Atoi(text)
		if err != nil || status < http.StatusBadRequest || status > 599 {
			continue
		}
		var response struct {
			Description string                `json:"description"`
			Content     map[string]json.Value `json:"content"`
		}
		raw, err := d.follow(raw, "responses")
		if err != nil || unmarshal(raw, &response) != nil {
			continue
		}
		if declared[status] == nil {
			declared[status], codes[status] = map[string]int{}, map[string]bool{}
		}
		declared[status][oneLine(response.Description, maxNote)]++
		for media, content := range response.Content {
			if isJSONType(media) {
				for _, code := range d.codesOf(content) {
					codes[status][code] = true
				}
			}
		}
	}
}

// codesOf returns the values of the member `code` in the schema of an answer, if they are listed.
func (d *document) codesOf(content json.Value) (codes []string) {
	schema, err := json.UnmarshalAny(json.Lookup(content, "/schema"))
	if err != nil {
		return nil
	}
	object := d.resolve(schema)
	for _, name := range []string{"error", ""} {
		properties, _ := object["properties"].(map[string]any)
		if name != "" {
			properties, _ = d.resolve(properties[name])["properties"].(map[string]any)
		}
		values, _ := d.resolve(properties["code"])["enum"].([]any)
		for _, value := range values {
			if text, ok := value.(string); ok && len(codes) < maxEnum {
				codes = append(codes, text)
			}
		}
	}
	return codes
}
