package argument

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// maxBrief bounds what [Brief] returns, and maxNames the names of [Names].
	maxBrief = 4 << 10
	maxNames = 64
)

// Brief returns a call's arguments in a form that may be kept: values that are one of the secrets, and texts that are longer than
// [MaxShown], are replaced by a mark. Where that is still much, it returns [Names].
func Brief(arguments []byte, secrets []string) []byte {
	var out []byte
	done := 0 // bytes of the arguments that have been dealt with
	dec := json.NewLenientDecoder(bytes.NewReader(arguments))
	for len(out) <= maxBrief {
		kind := dec.PeekKind()
		if kind != '"' && kind != '0' {
			if _, err := dec.ReadToken(); err != nil {
				break
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		var mark string
		switch {
		case len(value) > MaxShown+len(`""`):
			mark = fmt.Sprintf(`"[%d bytes]"`, len(value))
		case slices.Contains(secrets, textOf(value)):
			mark = `"[credential]"`
		default:
			continue
		}
		end := int(dec.InputOffset())
		out = append(append(out, arguments[done:end-len(value)]...), mark...)
		done = end
	}
	if out = append(out, arguments[done:]...); len(out) > maxBrief {
		return Names(arguments)
	}
	return out
}

// textOf returns a string or number as text.
func textOf(value json.Value) string {
	var text string
	if json.UnmarshalLenient(value, &text) != nil {
		return string(value)
	}
	return text
}

// Names returns the names of a call's arguments, each with the type of its value in place of the value.
func Names(arguments []byte) []byte {
	if json.Value(arguments).Kind() != '{' {
		return typeOf(arguments)
	}
	all := json.MembersOf(arguments)
	var named json.Members
	for i, m := range all {
		if i == maxNames {
			named.Text("...", fmt.Sprintf("[%d more]", len(all)-maxNames))
			break
		}
		name := m.Name
		if len(name) > MaxShown {
			name = fmt.Sprintf("[%d bytes]", len(name))
		}
		named.Add(name, typeOf(m.Value))
	}
	return named.AppendTo(nil)
}

// typeOf returns the JSON type of a value as a text.
func typeOf(value json.Value) json.Value {
	switch value.Kind() {
	case '{':
		return json.Value(`"[object]"`)
	case '[':
		return json.Value(`"[array]"`)
	case '"':
		return json.Value(`"[string]"`)
	case '0':
		return json.Value(`"[number]"`)
	case 't', 'f':
		return json.Value(`"[boolean]"`)
	default:
		return json.Value(`"[null]"`)
	}
}
