package recourse

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Args are the arguments of a call, in order. The JSON form is an object.
type Args []Arg

// Arg is one argument.
type Arg struct {
	Name  string
	Value json.RawMessage
}

// With returns a copy with one more argument at the end. A value that has no
// JSON form is replaced by the name of its type.
func (a Args) With(name string, value any) Args {
	return append(slices.Clip(a), Arg{Name: name, Value: rawJSON(value)})
}

// String writes the arguments as in a call: reference='A-17', full=true. A text without quotes and escapes stands in single
// quotes: some programs strip double quotes from what they show a model, or escape them.
func (a Args) String() string {
	parts := make([]string, len(a))
	for i, arg := range a {
		parts[i] = arg.Name + "=" + singleQuoted(string(orNull(arg.Value)))
	}
	return strings.Join(parts, ", ")
}

// singleQuoted writes the texts in a JSON value in single quotes, where these need no escapes.
func singleQuoted(raw string) string {
	return texts.ReplaceAllStringFunc(raw, func(text string) string {
		if inner := text[1 : len(text)-1]; !strings.ContainsAny(inner, `\'`) {
			return "'" + inner + "'"
		}
		return text
	})
}

// texts matches the texts in a JSON value.
var texts = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// String writes the call: order_get(reference='A-17'). An argument that the caller has to fill in is written as
// <your order.reference>.
func (v Verify) String() string {
	parts := make([]string, 0, len(v.Args)+len(v.From))
	if len(v.Args) > 0 {
		parts = append(parts, v.Args.String())
	}
	for _, arg := range v.From {
		parts = append(parts, arg.Name+"="+placeholder(arg.Value))
	}
	return v.Tool + "(" + strings.Join(parts, ", ") + ")"
}

// placeholder writes the place of a value in the failed call's arguments: <your order.reference>, in brackets for a list.
func placeholder(from json.RawMessage) string {
	var pointer string
	var list []string
	if json.Unmarshal(from, &list) == nil && len(list) == 1 {
		return "[" + placeholder(rawJSON(list[0])) + "]"
	}
	if json.Unmarshal(from, &pointer) != nil {
		return "<your value>"
	}
	path := strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/"))
	return "<your " + path + ">"
}

// MarshalJSON writes an object with the arguments in order.
func (a Args) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, arg := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, rawJSON(arg.Name)...), ':'), orNull(arg.Value)...)
	}
	return append(b, '}'), nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

var errArgs = errors.New("recourse: arguments are not a JSON object")

// UnmarshalJSON reads an object and keeps the order of its members. As is usual,
// null changes nothing.
func (a *Args) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errArgs
	}
	*a = nil
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return errArgs
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		*a = append(*a, Arg{Name: name, Value: value})
	}
	_, err = dec.Token()
	return err
}
