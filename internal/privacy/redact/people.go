package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	maxPeople      = 64  // values about people that are known of a call
	maxPeopleText  = 256 // size of each, in bytes
	maxPeopleDepth = 8
)

// About returns a Masker that also masks what the arguments of a call say about people, wherever it occurs: names and addresses
// have no form by which they could be recognised. It changes nothing if personal data is not masked.
func (m *Masker) About(arguments []byte) *Masker {
	if !m.personal || json.Value(arguments).Kind() != '{' {
		return m
	}
	var p personalValues
	p.collect(json.Value(arguments), "", 0)
	if len(p.values) == 0 {
		return m
	}
	slices.SortFunc(p.values, func(a, b string) int { return len(b) - len(a) }) // a whole name before a part of it
	about := *m
	about.people = slices.Compact(p.values)
	return &about
}

// personalValues are the values of arguments with data about people.
type personalValues struct{ values []string }

// collect adds the values in raw, which has the plain name of.
func (p *personalValues) collect(raw json.Value, of string, depth int) {
	if depth > maxPeopleDepth || len(p.values) == maxPeople {
		return
	}
	switch raw.Kind() { //nolint:exhaustive // the others say nothing
	case '{':
		for _, member := range json.MembersOf(raw) {
			name := asOneWord(member.Name)
			switch {
			case isPostal(of), isOfPerson(of) && (name == "name" || name == "company"), isPersonal(name):
				name = "fullname"
			}
			p.collect(member.Value, name, depth+1)
		}
	case '[':
		var items []json.Value
		if json.UnmarshalLenient(raw, &items) == nil {
			for _, item := range items {
				p.collect(item, of, depth+1)
			}
		}
	case '"', '0':
		if text := strings.TrimSpace(json.Plain(raw)); (isPersonal(of) || isPostal(of)) && isTelling(text) {
			p.values = append(p.values, text)
		}
	}
}

// isPostal reports whether a plain name is that of a postal address.
func isPostal(name string) bool {
	return strings.HasSuffix(name, "address") && name != "ipaddress" || name == "shipto" || name == "billto"
}

// isOfPerson reports whether a plain name is that of an object about a person.
func isOfPerson(name string) bool {
	switch name {
	case "customer", "recipient", "contact", "buyer", "person", "cardholder", "billing", "shipping", "consignee", "guest":
		return true
	default:
		return false
	}
}

// isTelling reports whether a value is long enough to tell of somebody wherever it occurs.
func isTelling(text string) bool {
	const fewLetters = 3
	return len(text) <= maxPeopleText && utf8.RuneCountInString(text) >= fewLetters
}

// peopleIn finds what the call's arguments say about people.
func (m *Masker) peopleIn(s string) (found []span) {
	for _, value := range m.people {
		for start := range places(s, value) {
			end := start + len(value)
			before, _ := utf8.DecodeLastRuneInString(s[:start])
			after, _ := utf8.DecodeRuneInString(s[end:])
			if !isLetterOrDigit(before) && !isLetterOrDigit(after) {
				found = append(found, span{start, end})
			}
		}
	}
	return found
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// mentionsPeople is a fast test that lets too much pass.
func (m *Masker) mentionsPeople(s string) bool {
	return slices.ContainsFunc(m.people, func(value string) bool { return strings.Contains(s, value) })
}
