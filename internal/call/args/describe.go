package args

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

const (
	maxShown  = 128 // characters of a value, or of a name, that are shown
	maxWant   = 200 // characters of a description
	maxListed = 10  // things in a list
)

// formats are the formats that are checked, in plain words. The others are used more loosely than they are
// defined: a time without an offset, a duration such as 10s, an IRI.
var formats = map[string]string{
	"date":         "an ISO 8601 date (format date)",
	"date-time":    "an RFC 3339 date and time (format date-time)",
	"email":        "an email address (format email)",
	"hostname":     "a host name (format hostname)",
	"ipv4":         "an IPv4 address (format ipv4)",
	"ipv6":         "an IPv6 address (format ipv6)",
	"json-pointer": "a JSON Pointer (format json-pointer)",
	"uri":          "an absolute URI (format uri)",
	"uuid":         "a UUID (format uuid)",
}

var typeNames = map[string]string{
	"null": "null", "boolean": "a boolean", "number": "a number", "integer": "an integer",
	"string": "a string", "array": "an array", "object": "an object",
}

// wholeParam stands for all arguments together.
const wholeParam = "arguments"

// violation makes the texts of f; secrets are pointers to values that must not be shown.
func (f leaf) violation(secrets []string) recourse.Violation {
	v := recourse.Violation{Pointer: f.pointer, Param: f.at.param(), Rule: f.rule}
	if !f.hidden(secrets) {
		v.Got = stdjson.RawMessage(f.value.got())
	}
	name := shown(v.Param)
	if v.Param == "" {
		v.Param, name = wholeParam, "the arguments"
	}
	switch {
	case f.rule == ruleRequired && f.want != "":
		v.Message = f.want + " is required"
	case f.rule == ruleRequired:
		var listed bool
		v.Want, listed = f.missing()
		v.Message = name + " is required"
		if listed {
			v.Message += " (" + v.Want + ")"
		}
	case f.rule == "dependentRequired":
		v.Want, _ = f.missing()
		v.Message = name + " is required when " + shown(f.names[0]) + " is given"
	case f.rule == "additionalProperties" || f.rule == "unevaluatedProperties":
		v.Message = name + " is not a known parameter" + f.suggestion()
		if known := f.known(); len(known) > 0 {
			v.Want = cut("one of "+list(known), maxWant)
		} else {
			v.Want = "no other parameter"
		}
	case f.rule == "false":
		v.Message = name + " is not allowed"
	case len(f.names) == 1:
		v.Message = name + " is not allowed here"
	case len(f.names) > 1:
		v.Want = cut(onlyOneOf+list(f.names), maxWant)
		v.Message = list(f.names) + " exclude each other"
	case f.rule == "propertyNames":
		v.Want = "a name that " + describe(f.node.propertyNames)
		v.Message = name + " is not an allowed name"
	default:
		v.Want = cut(f.wanted(), maxWant)
		v.Message = name + " must " + verb(f.rule) + v.Want
	}
	v.Message = cut(v.Message, 2*maxWant)
	return v
}

// missing describes what is expected of a missing parameter, if the schema does so in few words, and whether that is
// a list of values.
func (f leaf) missing() (want string, listed bool) {
	for _, n := range f.node.reach() {
		property := n.properties[f.at.name]
		switch {
		case property == nil:
		case property.enum != nil:
			return cut(property.want("enum"), maxWant), true
		case property.types != nil:
			return cut(property.want(ruleType), maxWant), false
		}
	}
	return "", false
}

// hidden reports whether the value of f is, holds or is part of a secret.
func (f leaf) hidden(secrets []string) bool {
	if f.value == nil || f.node.isSecret() {
		return true
	}
	for _, s := range secrets {
		if strings.HasPrefix(f.pointer+"/", s+"/") || strings.HasPrefix(s, f.pointer+"/") {
			return true
		}
	}
	for p := f.at; p.parent != nil; p = p.parent {
		if secret.Name(p.name) {
			return true
		}
	}
	return false
}

// isSecret reports whether n, or a schema that n applies to the same value, says
// that the value is a secret.
func (n *schemaNode) isSecret() bool {
	for _, schema := range n.reach() {
		if schema.secret {
			return true
		}
	}
	return false
}

// reach returns n and the schemas that it applies, or may apply, to the same value, as deep as a reader would
// look.
func (n *schemaNode) reach() []*schemaNode {
	const most = 100
	nodes := []*schemaNode{n}
	for i := 0; i < len(nodes) && len(nodes) < most; i++ {
		next := slices.Concat(nodes[i].all, nodes[i].any, nodes[i].one, []*schemaNode{nodes[i].cond, nodes[i].then, nodes[i].els})
		for _, d := range nodes[i].dependentSchemas {
			next = append(next, d.schema)
		}
		for _, schema := range next {
			if schema != nil && !slices.Contains(nodes, schema) {
				nodes = append(nodes, schema)
			}
		}
	}
	return nodes
}

// got returns a value as it may be shown: at most maxShown characters of JSON. What is longer ends with a mark that says so, and
// objects and arrays that contain a secret are omitted.
func (v *value) got() json.Value {
	switch v.kind { //nolint:exhaustive // literals and numbers are alike
	case '"':
		return cutString(v.text())
	case '{', '[':
		if v.holdsSecret() {
			return nil
		}
	}
	if whole := v.compact(maxShown); whole != nil {
		return whole
	}
	switch v.kind {
	case '[':
		return v.beginning()
	case '{':
		if len(v.members) == 1 {
			return quote("an object with 1 member…")
		}
		return quote(fmt.Sprintf("an object with %d members…", len(v.members)))
	default:
		return cutString(string(v.raw))
	}
}

// compact returns the value as JSON, or nil if it has more characters than that.
func (v *value) compact(most int) json.Value {
	if len(v.raw) > 4*maxShown {
		return nil
	}
	compact, err := json.AppendCompact(nil, v.raw)
	if err != nil || utf8.RuneCount(compact) > most {
		return nil
	}
	return compact
}

// beginning returns the first items of an array, and a text that says how many more there are.
func (v *value) beginning() json.Value {
	list, shown := []byte("["), 0
	const mark = len(`,"… and 1000000 more"]`)
	for left := maxShown - mark; shown < len(v.items); shown++ {
		item := v.items[shown].compact(left - 1)
		if item == nil {
			break
		}
		list = append(append(list, item...), ',')
		left -= utf8.RuneCount(item) + 1
	}
	more := fmt.Sprintf("… and %d more", len(v.items)+v.more-shown)
	if shown == 0 {
		more = fmt.Sprintf("a list of %d items…", len(v.items)+v.more)
	}
	return append(append(list, quote(more)...), ']')
}

func (v *value) holdsSecret() bool {
	return slices.ContainsFunc(v.members, func(m property) bool { return secret.Name(m.name) || m.value.holdsSecret() }) ||
		slices.ContainsFunc(v.items, func(item value) bool { return item.holdsSecret() })
}

// cutString returns text as a JSON string of at most maxShown characters.
func cutString(text string) json.Value {
	raw := quote(cut(text, maxShown))
	for length := maxShown - 2; utf8.RuneCount(raw) > maxShown; length = length * 3 / 4 {
		raw = quote(cut(text, length))
	}
	return raw
}

func quote(text string) []byte { return json.AppendQuote(nil, text) }

// wanted describes what the rule of f requires.
func (f leaf) wanted() string {
	switch {
	case f.want != "":
		return f.want
	case f.rule == ruleType && f.node.enum != nil:
		return f.node.want("enum") // says more
	}
	return f.node.want(f.rule)
}

func (n *schemaNode) want(rule string) string {
	switch rule {
	case ruleType:
		names := make([]string, len(n.types))
		for i, t := range n.types {
			names[i] = typeNames[t]
		}
		return join(names, "or")
	case "enum", "const":
		return n.enum.String()
	case "format":
		return formats[n.format.Name]
	case "pattern":
		return cut(n.pattern.source, maxWant)
	case "minLength":
		return count("at least", *n.minLength, "character")
	case "maxLength":
		return count("at most", *n.maxLength, "character")
	case "minItems":
		return count("at least", *n.minItems, "item")
	case "maxItems":
		return count("at most", *n.maxItems, "item")
	case "minProperties":
		return count("at least", *n.minMembers, "member")
	case "maxProperties":
		return count("at most", *n.maxMembers, "member")
	case "uniqueItems":
		return "no item twice"
	case "items", "prefixItems", "unevaluatedItems":
		return "fewer items"
	case "contains":
		return count("at least", n.minContains, "item") + " that " + describe(n.contains)
	case "maxContains":
		return count("at most", *n.maxContains, "item") + " that " + describe(n.contains)
	case "minimum":
		return "at least " + n.minimum.String()
	case "maximum":
		return "at most " + n.maximum.String()
	case "exclusiveMinimum":
		return "greater than " + n.exclusiveMin.String()
	case "exclusiveMaximum":
		return "less than " + n.exclusiveMax.String()
	case "multipleOf":
		return "a multiple of " + fromRat(n.multipleOf).String()
	default:
		return "as the schema says"
	}
}

// verb joins a parameter's name and its requirement to a clause.
func verb(rule string) string {
	switch rule {
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems",
		"items", "prefixItems", "unevaluatedItems", "contains", "maxContains":
		return "have "
	case "pattern":
		return "match the pattern "
	case "oneOf":
		return "match "
	default:
		return "be "
	}
}

// describe describes the values that match a simple schema.
func describe(n *schemaNode) string {
	switch {
	case n.types != nil:
		return "is " + n.want(ruleType)
	case n.enum != nil:
		return "is " + n.enum.String()
	case n.pattern != nil:
		return "matches the pattern " + n.want("pattern")
	case n.maxLength != nil:
		return "has " + n.want("maxLength")
	case n.minLength != nil:
		return "has " + n.want("minLength")
	default:
		return "the schema allows"
	}
}

// describeNot describes the values that do not match n.
func describeNot(n *schemaNode) string {
	switch {
	case n.enum != nil:
		return "anything but " + n.enum.String()
	case n.types != nil:
		return "anything but " + n.want(ruleType)
	case n.pattern != nil:
		return "a text that does not match the pattern " + n.want("pattern")
	default:
		return "outside of what the schema excludes"
	}
}

// String lists the values.
func (e *enum) String() string {
	var values []string
	for i := range e.values {
		v := e.values[i].got()
		if v == nil {
			v = json.Value("…")
		}
		values = append(values, string(v))
	}
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + commas(values)
}

func count(bound string, n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%s %d %s", bound, n, noun)
}

// suggestion names the parameter that the unknown one of f was probably meant to be, or
// those that exist.
func (f leaf) suggestion() string {
	const mostNames, mostKnown = 8, 250
	known := f.known()
	if len(known) > mostKnown {
		return ""
	}
	if near, ok := nearest.Of(f.at.name, known); ok {
		return " (did you mean " + shown(near) + "?)"
	}
	if len(known) == 0 || len(known) > mostNames {
		return ""
	}
	return " (known and not given: " + list(known) + ")"
}

// strays names the arguments that n allows without knowing them. Where another is missing, they often are that one by a wrong
// name, and a server's own answer would name them.
func (n *schemaNode) strays(v *value) string {
	if v.kind != '{' || n.properties == nil || n.patternProperties != nil || n.additional != nil || len(n.reach()) > 1 {
		return ""
	}
	texts, last := "", ""
	for _, m := range v.members {
		if n.properties[m.name] != nil || len(texts) > maxWant {
			continue
		}
		texts += ", and " + shown(m.name) + " is not a known parameter"
		f := leaf{at: (&place{}).member(m.name), node: n, of: v}
		if suggestion := f.suggestion(); suggestion != last { // a list of what is known stands once
			texts, last = texts+suggestion, suggestion
		}
	}
	return texts
}

// known returns the parameters that could be given together with the present ones.
func (f leaf) known() []string {
	schemas := []*schemaNode{f.node}
	if f.rule == "unevaluatedProperties" {
		schemas = f.node.reach()
	}
	names := map[string]bool{}
	for _, n := range schemas {
		for name := range n.properties {
			if f.of.member(name) == nil {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// list joins names for a sentence: a, b and c.
func list(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = shown(name)
	}
	return join(texts, "and")
}

// join joins texts: a, b and c.
func join(texts []string, word string) string {
	if len(texts) < 2 || len(texts) > maxListed {
		return commas(texts)
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}

// commas joins the first texts and says how many more there are.
func commas(texts []string) string {
	if len(texts) <= maxListed {
		return strings.Join(texts, ", ")
	}
	return strings.Join(texts[:maxListed], ", ") + " and " + strconv.Itoa(len(texts)-maxListed) + " more"
}

// shown returns a name in a form that fits in a sentence: short, and quoted if it could be mistaken for
// something else.
func shown(name string) string {
	name = cut(name, maxShown)
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.$@:/~…", r)
	})
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// cut returns at most length characters of s; the last is an ellipsis if some are missing.
func cut(s string, length int) string {
	if len(s) <= length {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == length {
			if utf8.RuneCountInString(s[i:min(len(s), i+utf8.UTFMax+1)]) > 1 {
				return s[:i] + "…"
			}
			return s
		}
	}
	return s
}
