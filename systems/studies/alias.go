package studies

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
)

// prefixes are the prefixes of aliases, by the type of the thing.
var prefixes = map[string]string{
	"workspace": "w-", "study": "s-", "ask": "a-", "person": "tp-", "iteration": "i-", "participant": "t-",
	"endpoint": "ep-", "chatbot": "cc-",
}

// maxAliases limits how many aliases are remembered. Beyond that, UUIDs are left as they are.
const maxAliases = 100_000

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// typedID is an id of the service, with its type.
type typedID struct{ typ, id string }

// aliases are short names for UUIDs, which models copy without mistakes: s-1. The zero value is empty. It is
// safe for concurrent use.
type aliases struct {
	mu    sync.Mutex
	ids   map[string]string // by alias
	names map[typedID]string
	count map[string]int // by type
}

// of returns the alias of an id, and creates it if needed.
func (a *aliases) of(typ, id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := typedID{typ, id}
	if name, known := a.names[key]; known {
		return name
	}
	prefix, known := prefixes[typ]
	if !known || !uuid.MatchString(id) || len(a.ids) >= maxAliases {
		return id
	}
	if a.ids == nil {
		a.ids, a.names, a.count = map[string]string{}, map[typedID]string{}, map[string]int{}
	}
	a.count[typ]++
	name := fmt.Sprintf("%s%d", prefix, a.count[typ])
	a.ids[name], a.names[key] = id, name
	return name
}

// resolve returns the UUID that the argument param means, an alias of a thing of the given type, or a UUID.
// It makes no requests: a refusal costs no call.
func (a *aliases) resolve(param, typ, value string) (string, error) {
	if id := strings.ToLower(value); uuid.MatchString(id) {
		return id, nil
	}
	want := fmt.Sprintf("an alias that begins with %s, or a UUID", prefixes[typ])
	prefix, _, _ := strings.Cut(value, "-")
	switch prefix += "-"; {
	case prefix == prefixes[typ]:
	case slices.Contains(prefixesOf(), prefix):
		return "", recourse.InvalidValue(param, want, nil).
			WithMessage("%s has the wrong prefix: it takes %s, and %s is of something else.", param, want, prefix)
	default:
		return "", recourse.InvalidValue(param, want, nil).WithMessage("%s is not an id: it takes %s.", param, want)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id, known := a.ids[value]
	if !known {
		return "", recourse.InvalidValue(param, want, nil).WithMessage("%s is an unknown alias.", param)
	}
	return id, nil
}

func prefixesOf() []string {
	list := make([]string, 0, len(prefixes))
	for _, p := range prefixes {
		list = append(list, p)
	}
	return list
}

// shorten replaces the ids in an answer of the service by aliases: the member id of an object with a type,
// and members such as study_id and person_ids.
func (a *aliases) shorten(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			a.shorten(item)
		}
	case map[string]any:
		typ, _ := v["type"].(string)
		for name, member := range v {
			switch id, isText := member.(string); {
			case isText && name == "id":
				v[name] = a.of(typ, id)
			case isText && strings.HasSuffix(name, "_id"):
				v[name] = a.of(strings.TrimSuffix(name, "_id"), id)
			case strings.HasSuffix(name, "_ids"):
				a.shortenAll(strings.TrimSuffix(name, "_ids"), member)
			default:
				a.shorten(member)
			}
		}
	}
}

func (a *aliases) shortenAll(typ string, value any) {
	list, _ := value.([]any)
	for i, item := range list {
		if id, ok := item.(string); ok {
			list[i] = a.of(typ, id)
		}
	}
}
