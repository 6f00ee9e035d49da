package contract

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/prose"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// resources says which things a failure is about that does not say so.
type resources struct {
	byArgument map[string]string // the type, by the plain name of an argument
	written    map[string]string // the same, by the name in the file
	types      []string
	denied     [2]*regexp.Regexp // sentences that say that there is no such thing, with its type and its id
	byTool     map[string]string // the type of what a tool makes
}

func (k *compiler) resources(f *contractform.ResourcesFile) resources {
	r := resources{byArgument: map[string]string{}, written: map[string]string{}, byTool: map[string]string{}}
	for _, a := range f.Arguments {
		if other := r.byArgument[plainName(a.Key)]; other != "" && other != a.Value {
			k.Reportf(f.Node.Get("arguments").Key(a.Key), "use one spelling", "%s is an argument that names a %s already", a.Key, other)
		}
		r.written[a.Key] = a.Value
		r.byArgument[plainName(a.Key)] = a.Value
		r.types = append(r.types, a.Value)
	}
	for _, t := range f.Tools {
		r.byTool[t.Key] = t.Value
	}
	r.denied = denials(r.types)
	return r
}

// denials returns the expressions for a sentence that says that there is no thing of one of the types: the thing before the
// verb, and after it. An id is in quotes or has a digit.
func denials(types []string) [2]*regexp.Regexp {
	var words []string
	for _, t := range types {
		if word := regexp.QuoteMeta(t); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	const id = `(?: +(?:with +)?(?:the +)?(?:id +)?(?:["'“‘]([^"'“”‘’]{1,128})["'”’]|([\w.:/-]*\d[\w.:/-]*)))?`
	thing := `(` + strings.Join(words, "|") + `)` + id
	return [2]*regexp.Regexp{
		regexp.MustCompile(`(?i)\b` + thing +
			` +(?:(?:was|is|could|can) +)?(?:not +(?:be +)?found|(?:does|do) +not +exist|doesn't +exist)\b`),
		regexp.MustCompile(`(?i)\b(?:no|no +such|unknown|(?:could|can) *not +find(?: +the| +an?)?|unable +to +find(?: +the| +an?)?) +` +
			thing + `\b`),
	}
}

// plainName returns the words of a name in lower case, written as one: workspace_id and workspaceId are the same argument.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// A mention is a thing that a call names.
type mention struct {
	resource recourse.Resource
	argument string
}

// resourceOf returns what a failure is about that does not say so itself: what does not exist, or what there are too many of.
func (c *Contract) resourceOf(e *recourse.Error, call *Call) recourse.Resource {
	switch {
	case e.Resource.Type != "":
	case e.Kind == recourse.KindLimitReached:
		return recourse.Resource{Type: c.resources.byTool[call.Tool]}
	case e.Kind == recourse.KindNotFound && len(c.resources.types) > 0:
		return c.resources.missing(e, call)
	}
	return e.Resource
}

// missing returns the thing that does not exist: the one that the failure names, or else the only one that the call names.
func (r *resources) missing(e *recourse.Error, call *Call) recourse.Resource {
	given := r.mentions(call)
	said := e.Message
	if e.Provider != "" { // a name is no word about anything
		said = strings.ReplaceAll(said, e.Provider, "")
	}
	denied := r.deniedIn(said)
	if denied.Type != "" && !slices.ContainsFunc(given, func(m mention) bool { return denied.fits(&m.resource) }) {
		return recourse.Resource{Type: denied.Type, ID: cmp.Or(e.Resource.ID, denied.ID)}
	}
	for _, names := range []func(mention) bool{
		func(m mention) bool { return m.resource.Type == denied.Type && contains(said, m.resource.ID) },
		func(m mention) bool { return m.resource.Type == denied.Type && isOnly(given, m) },
		func(m mention) bool { return len(e.Violations) > 0 && lastName(e.Violations[0].Param) == m.argument },
		func(m mention) bool { return contains(said, m.resource.ID) },
		func(m mention) bool { return prose.Mentions(said, m.argument) },
		func(m mention) bool { return contains(strings.ToLower(said), m.resource.Type) },
		func(m mention) bool {
			return !slices.ContainsFunc(given, func(other mention) bool { return other.resource.Type != m.resource.Type })
		},
	} {
		if i := slices.IndexFunc(given, names); i >= 0 {
			id := given[i].shown(call)
			if !contains(said, id) && !isOnly(given, given[i]) { // any of them may be the one
				id = ""
			}
			return recourse.Resource{Type: given[i].resource.Type, ID: cmp.Or(e.Resource.ID, id)}
		}
	}
	i := slices.IndexFunc(r.types, func(t string) bool { return contains(strings.ToLower(said), t) })
	if i < 0 {
		return e.Resource
	}
	return recourse.Resource{Type: r.types[i], ID: e.Resource.ID}
}

// isOnly reports whether a call names nothing else of that type.
func isOnly(given []mention, m mention) bool {
	return !slices.ContainsFunc(given, func(other mention) bool {
		return other.resource.Type == m.resource.Type && other.resource.ID != m.resource.ID
	})
}

// A denial is a thing of which a sentence says that there is none; its ID is empty if the sentence does not name it.
type denial recourse.Resource

// fits reports whether the thing is the one that a call names.
func (d *denial) fits(named *recourse.Resource) bool {
	return d.Type == named.Type && (d.ID == "" || d.ID == named.ID)
}

// deniedIn returns the thing of which a sentence says that there is none: the boundary in "There is no boundary for field F-1".
func (r *resources) deniedIn(sentence string) denial {
	for _, form := range r.denied {
		if found := form.FindStringSubmatch(sentence); found != nil {
			i := slices.IndexFunc(r.types, func(t string) bool { return strings.EqualFold(t, found[1]) })
			return denial{Type: r.types[i], ID: cmp.Or(found[2], found[3])}
		}
	}
	return denial{}
}

// lastName returns the last part of a dotted path.
func lastName(param string) string { return param[strings.LastIndexByte(param, '.')+1:] }

// contains reports whether a word stands in a text by itself; none stands nowhere.
func contains(text, word string) bool {
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		if (start == 0 || !isWordByte(text[start-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		at = end
	}
	return false
}

func isWordByte(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80
}

// shown returns the id, if it may be shown.
func (m *mention) shown(call *Call) string {
	if value := json.AppendQuote(nil, m.resource.ID); call.Relay.Shows != nil && !call.Relay.Shows(value) {
		return ""
	}
	return m.resource.ID
}

// maxMentionDepth limits how deep the arguments of a call are searched.
const maxMentionDepth = 4

// mentions returns the things that a call names, in order.
func (r *resources) mentions(call *Call) []mention {
	var found []mention
	var search func(raw json.Value, depth int)
	search = func(raw json.Value, depth int) {
		if raw.Kind() != '{' || depth > maxMentionDepth {
			return
		}
		for _, m := range json.MembersOf(raw) {
			typ := r.byArgument[plainName(m.Name)]
			if typ == "" {
				search(m.Value, depth+1)
				continue
			}
			for _, id := range idsIn(m.Value) {
				found = append(found, mention{recourse.Resource{Type: typ, ID: id}, m.Name})
			}
		}
	}
	search(json.Value(call.Arguments), 1)
	return found
}

// idsIn returns the ids in the value of an argument: it is one, or a list of some.
func idsIn(raw json.Value) []string {
	if raw.Kind() != '[' {
		raw = slices.Concat(json.Value("["), raw, json.Value("]"))
	}
	var items []json.Value
	if json.UnmarshalLenient(raw, &items) != nil {
		return nil
	}
	var ids []string
	for _, item := range items {
		if id := json.Plain(item); id != "" && (item.Kind() == '"' || item.Kind() == '0') {
			ids = append(ids, id)
		}
	}
	return ids
}
